//! The library's errors in the words of the command line: it speaks of settings, users give options.

use tinytrain::Error;

/// What is said of an error: settings by the names of their options, and which option may help.
pub fn told(error: &anyhow::Error) -> String {
    let text = error.to_string();
    let Some(cause) = error.chain().find_map(|cause| cause.downcast_ref::<Error>()) else { return text };
    // A context goes on from what the library says.
    text.strip_prefix(&cause.to_string()).map_or_else(|| text.clone(), |rest| advised(cause) + rest)
}

/// The same of an error of the library alone.
fn advised(error: &Error) -> String {
    match error {
        Error::Setting { setting, expected, found } => {
            format!("--{setting}: expected {expected}, found {found}")
        }
        Error::NonFiniteLoss { .. } | Error::NonFiniteModel { .. } => {
            format!("{error}; try a smaller --lr, or check the data for very large values")
        }
        Error::Undecided { setting, .. } => format!("{error}; {}", decision(setting)),
        Error::Device(_) => {
            format!(
                "{error}; --device cpu always works, `train --fallback cpu` turns to it by itself, `tinytrain devices` lists what \
                 else does"
            )
        }
        Error::Gpu(_) => {
            format!("{error}; `train --fallback cpu` goes on from the last checkpoint, on the CPU engine")
        }
        Error::Data { expected, .. } if expected.contains("the column is one of categories") => format!(
            "{error}; --categorical says what is one, --missing-marker which text stands for a missing value, --exclude leaves \
             a column out"
        ),
        Error::Data { expected, .. } if expected.contains("every row needs one") => {
            format!("{error}; --drop-missing-target leaves them out")
        }
        Error::Data { expected, .. } if expected.contains("stands for a missing value?") => {
            format!("{error}; --missing-marker says which text does")
        }
        Error::Data { expected, place, .. }
            if place.column.is_some()
                && ["labels of two or more classes", "values to predict that differ"]
                    .contains(&expected.as_str()) =>
        {
            format!("{error}; --target names another column")
        }
        Error::Data { expected, .. } if expected.starts_with("labels of classes (values are predicted") => {
            format!("{error}; --task regression predicts them")
        }
        Error::Data { expected, .. } if expected.contains("with the decimal ") => {
            format!("{error}; --decimal says that fractions of this file are written otherwise")
        }
        _ => error.to_string(),
    }
}

/// How a question is answered that a table leaves open.
fn decision(setting: &'static str) -> &'static str {
    match setting {
        "target" => "name it with --target",
        "header" => "say --header yes or --header no",
        "task" => "--task classification takes them for classes, --task regression for values",
        "decimal" => "--decimal names the mark of fractions; separators of thousands must be removed",
        _ => "--only names the inputs, --exclude what is none",
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use tinytrain::train::Config;

    use super::*;

    fn said(error: Error) -> String {
        told(&error.into())
    }

    #[test]
    fn settings_have_the_names_of_their_options() {
        let bad = |config: Config| said(config.validate().unwrap_err());
        let valid = Config::default;
        assert_eq!(bad(Config { epochs: 0, ..valid() }), "--epochs: expected 1 or more, found 0");
        assert_eq!(bad(Config { batch_size: 0, ..valid() }), "--batch-size: expected 1 or more, found 0");
        assert_eq!(
            bad(Config { learning_rate: -1.0, ..valid() }),
            "--lr: expected a finite number above 0, found -1"
        );
        assert_eq!(
            bad(Config { hidden: vec![3, 0], ..valid() }),
            "--hidden: expected layer sizes of 1 or more, found 0"
        );
    }

    #[test]
    fn advice_follows_what_is_said() {
        let error = || Error::NonFiniteModel { epoch: 3, learning_rate: 7.5 };
        let plain = said(error());
        assert!(plain.contains("learning rate 7.5; try a smaller --lr, or"), "{plain}");
        let context = format!("{}; the model stays at m", error());
        let saved = told(&Err::<(), _>(error()).context(context).unwrap_err());
        assert_eq!(saved, format!("{plain}; the model stays at m"));
        assert_eq!(told(&Err::<(), _>(error()).context("other words").unwrap_err()), "other words");
        assert!(said(Error::Device("none".to_owned())).starts_with("none; --device cpu always works"));
        for (setting, option) in [("target", "--target"), ("header", "--header yes"), ("only", "--only")] {
            let question =
                said(Error::Undecided { path: "t".into(), setting, question: "which?".to_owned() });
            assert!(question.starts_with("t: which?; ") && question.contains(option), "{question}");
        }
        assert_eq!(said(Error::Config("as it is".to_owned())), "as it is");
        assert_eq!(told(&anyhow::anyhow!("as it is")), "as it is");
    }
}
