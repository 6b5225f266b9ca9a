//! C99: one source file without dependencies, whose function predicts a row. There is no allocation and no recursion,
//! and functions that a model does not need are omitted.

mod network;
mod pieces;
mod row;
mod source;

use std::fmt::Write;

pub(super) use self::source::identifier;
use self::source::{array, comment, literal};
use super::outline::{Coding, Outline, Output};
use crate::step::Activation;

/// Makes the file, whose public names begin with `name`.
pub(super) fn file(outline: &Outline<'_>, name: &str) -> String {
    let mut constants = String::new();
    let row = row::statements(outline, &mut constants);
    let networks: Vec<network::Function> = (1..)
        .zip(&outline.networks)
        .map(|(number, member)| network::function(number, member, &mut constants))
        .collect();
    let predict = predict(outline, name, &row, &mut constants);
    let buffers = networks.iter().map(|network| network.numbers).max().unwrap_or(0);
    let stack = 4 * (outline.row() + outline.outputs() + buffers);
    let mut text = constants;
    text.extend(networks.into_iter().map(|network| network.text));
    text += &predict;
    header(outline, name, stack) + &pieces::called_by(&text) + &text
}

/// The comment at the top of the file, and its public constants.
fn header(outline: &Outline<'_>, name: &str, stack: usize) -> String {
    let upper = name.to_uppercase();
    let (columns, outputs) = (outline.columns.len(), outline.outputs());
    let (to, what) = match &outline.output {
        Output::Probabilities { .. } => ("probabilities", "the probability of each class"),
        Output::Labels { .. } => ("probabilities", "the probability of each label"),
        Output::Values { .. } => ("values", "the predicted values"),
    };
    let mut text = format!(
        "/* A model, written by tinytrain {version}. C99, needs <math.h> alone (link with -lm; not with -ffast-math, which knows no NAN).\n\n   \
         void {name}_predict(const float *columns, float *{to});\n\n   \
         `columns`: {upper}_COLUMNS numbers of a row, NAN where a value is missing; of a column of categories the index of the category.\n   \
         `{to}`: {upper}_OUTPUTS numbers that are written, {what}, as {name}_{names} names them.\n   \
         About {stack} bytes of stack; no memory is kept between calls, and any number of threads may call it.\n\n",
        version = env!("CARGO_PKG_VERSION"),
        names = names(outline),
    );
    for (index, column) in outline.columns.iter().enumerate() {
        let _ = write!(text, "   columns[{index}]: {}", comment(&column.name));
        for (number, category) in column.coding.categories().unwrap_or_default().iter().enumerate() {
            let _ = write!(text, "{}{number} {}", if number == 0 { " = " } else { ", " }, comment(category));
        }
        text += "\n";
    }
    let list: Vec<String> = output_names(outline).iter().map(|name| literal(name)).collect();
    let _ = write!(
        text,
        "*/\n#include <math.h>\n\n#define {upper}_COLUMNS {columns}\n#define {upper}_OUTPUTS {outputs}\n\n\
         void {name}_predict(const float *columns, float *{to});\n\n\
         extern const char *const {name}_{names}[{outputs}];\n\
         const char *const {name}_{names}[{outputs}] = {{\n    {}\n}};\n\n",
        list.join(",\n    "),
        names = names(outline),
    );
    text
}

fn names(outline: &Outline<'_>) -> &'static str {
    match outline.output {
        Output::Probabilities { .. } => "classes",
        Output::Labels { .. } => "labels",
        Output::Values { .. } => "values",
    }
}

fn output_names<'a>(outline: &'a Outline<'_>) -> &'a [String] {
    match &outline.output {
        Output::Probabilities { classes } => classes,
        Output::Labels { names } | Output::Values { names, .. } => names,
    }
}

/// The public function.
fn predict(outline: &Outline<'_>, name: &str, row: &str, constants: &mut String) -> String {
    let (to, add) = match outline.output {
        Output::Probabilities { .. } => ("probabilities", "add_softmax"),
        Output::Labels { .. } => ("probabilities", "add"),
        Output::Values { .. } => ("values", "add"),
    };
    let outputs = outline.outputs();
    let mut text = format!(
        "void {name}_predict(const float *columns, float *{to})\n{{\n    float row[{}], outputs[{outputs}];\n    int i;\n\
         {row}    for (i = 0; i < {outputs}; i++) {{\n        {to}[i] = 0.0f;\n    }}\n",
        outline.row()
    );
    for (number, member) in (1..).zip(&outline.networks) {
        let share = member.share as f32;
        let _ = write!(
            text,
            "    network{number}(row, outputs);\n    {add}(outputs, {outputs}, {share:?}f, {to});\n"
        );
    }
    if let Output::Labels { .. } = outline.output {
        let logistic = pieces::activation_name(Activation::Sigmoid);
        let _ = writeln!(text, "    {logistic}({to}, {outputs});");
    }
    if let Output::Values { scale: Some(scale), .. } = &outline.output {
        constants.push_str("/* Values are outputs * width + center. */\n");
        array("double", "", "target_center", &scale.center, constants);
        array("double", "", "target_width", &scale.width, constants);
        constants.push('\n');
        let _ = writeln!(text, "    restore(values, target_center, target_width, {outputs});");
    }
    if let Output::Values { are_quantiles: true, .. } = &outline.output {
        let _ = writeln!(text, "    sort(values, {outputs});");
    }
    text + "}\n"
}

/// The number of columns from `first` on with the same plain coding, and whether they are bytes; `None` for other
/// codings.
fn run(outline: &Outline<'_>, first: usize) -> Option<(usize, bool)> {
    let kind = |index: usize| match outline.columns.get(index).map(|column| &column.coding) {
        Some(Coding::Byte) => Some(true),
        Some(Coding::Plain) => Some(false),
        _ => None,
    };
    let is_byte = kind(first)?;
    let count = (first..outline.columns.len()).take_while(|index| kind(*index) == Some(is_byte)).count();
    Some((count, is_byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::samples;

    #[test]
    fn a_file_has_the_functions_that_it_needs() {
        let text = file(&Outline::from_model(&samples::images()), "digits");
        assert!(text.contains("bytes(columns + 0, 6, row + 0);\n"), "{text}");
        assert!(text.contains("#define DIGITS_COLUMNS 6\n#define DIGITS_OUTPUTS 2\n"));
        for other in ["scaled(", "category(", "activate_", "restore", "log("] {
            assert!(!text.contains(other), "{other}");
        }
        let text = file(&Outline::from_model(&samples::labels()), "m");
        assert!(
            text.contains("    activate_sigmoid(probabilities, 2);\n") && text.contains("m_labels[2]"),
            "{text}"
        );
        let text = file(&Outline::from_model(&samples::quantiles()), "m");
        assert!(
            text.contains("    restore(values, target_center, target_width, 3);\n    sort(values, 3);\n"),
            "{text}"
        );
        let text = file(&Outline::from_model(&samples::plain()), "m");
        for line in [
            "    row[0] = scaled(columns[0], 2.0, 0.5, 2.5);\n",
            "    row[2] = isnan(columns[1]) ? 1.0f : 0.0f;\n",
            "    row[3] = normal_score(columns[2], quantiles2, 4, 2.5);\n",
            "    row[4] = sign(category(columns[3], 2, -1));\n",
            "    one_hot(category(columns[5], 2, 2), 3, row + 8);\n",
            "   columns[4]: 4 = 0 a, 1 b, 2 c \"* / é\n",
            "static const double d[5] = {0.007784695709041462, 0.3224671290700398, ",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn networks_of_an_ensemble_are_functions() {
        let text = file(&Outline::from_model(&samples::ensemble()), "m");
        for line in [
            "    network2(row, outputs);\n    add(outputs, 2, 0.75f, values);\n",
            "    embedding((int)row[6], network2_e7, 5, x + 14);\n",
            "    restore(values, target_center, target_width, 2);\n",
            "    float x[19], a[4], b[4];\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
