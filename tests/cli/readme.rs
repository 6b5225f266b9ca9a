//! The commands of README.md and docs/GETTING-STARTED.md in order, on the repository's data, and the first model in numpy.

use std::path::Path;
use std::process::Command;

use crate::program::Workplace;

/// Returns all blocks of this language in order.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    text.split(&begin).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// Replaces each number of a line by 0 and runs of blanks by one.
fn squeezed(line: &str) -> String {
    let mut text = String::new();
    for letter in line.trim().chars() {
        let letter = if letter.is_ascii_digit() { '0' } else { letter };
        if !(letter == '0' || letter == ' ') || !text.ends_with(letter) {
            text.push(letter);
        }
    }
    text
}

/// Checks that the picture shows the current output; `scripts/readme-picture` draws it.
fn check_picture(root: &Path, output: &str) {
    let picture = std::fs::read_to_string(root.join("docs/images/train.svg")).unwrap();
    let lines = picture.lines().filter_map(|line| line.split_once('>')?.1.strip_suffix("</text>"));
    let lines: Vec<String> = lines.map(squeezed).collect();
    let printed = output.lines().filter(|line| !line.contains("model.safetensors"));
    for line in printed.map(squeezed) {
        assert!(lines.contains(&line), "scripts/readme-picture: {line:?} is not in the picture: {lines:#?}");
    }
}

#[test]
fn the_commands_of_the_readme_run_from_top_to_bottom_and_numpy_reads_the_model() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let (readme, tour, model) = (page("README.md"), page("docs/GETTING-STARTED.md"), page("docs/MODEL.md"));
    let place = Workplace::new();
    std::os::unix::fs::symlink(root.join("data"), place.path("data")).unwrap();
    // The second block of the tour needs a GPU.
    let blocks_of_both = blocks(&readme, "sh").into_iter().chain(blocks(&tour, "sh").into_iter().take(1));
    let commands: Vec<&str> = blocks_of_both.flat_map(str::lines).filter(|line| !line.is_empty()).collect();
    assert!(
        commands.len() >= 23 && commands.iter().all(|line| line.starts_with("tinytrain ")),
        "{commands:?}"
    );
    for line in commands {
        // The line as printed, with the program under test as `tinytrain`. No word contains a blank.
        let words: Vec<&str> = line.split(" #").next().unwrap().split_whitespace().skip(1).collect();
        let outcome = place.succeed(&words);
        if words.starts_with(&["train", "--epochs"]) {
            check_picture(root, &outcome.stdout);
        }
    }
    for file in
        ["digits.c", "penguins.onnx", "report.html", "importance.svg", "wines.csv", "run2/model.safetensors"]
    {
        assert!(place.path(file).is_file(), "{file}");
    }
    // The run has exceeded the preset's patience.
    assert!(std::fs::read_to_string(place.path("run1/history.csv")).unwrap().lines().count() > 101);
    let digits = std::fs::read_to_string(place.path("digits.csv")).unwrap();
    let classes: Vec<&str> = digits.lines().skip(1).map(|line| &line[..1]).collect();
    assert_eq!(classes.len(), 10_000);
    let predictions = std::fs::read_to_string(place.path("predictions.csv")).unwrap();
    assert!(
        predictions.starts_with("class,p(Adelie),p(Chinstrap),p(Gentoo)\nAdelie,0.9"),
        "{predictions:.80}"
    );

    // The snippet needs numpy: without it `scripts/test` fails, and `cargo test` prints that it is not
    // tested.
    let interpreter = std::env::var_os("PYTHON").unwrap_or("python3".into());
    let python =
        |code: &str| Command::new(&interpreter).args(["-c", code]).current_dir(place.path("")).output();
    if !python("import numpy").is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("TINYTRAIN_TEST_ALL").is_none(), "python3 needs numpy: pip install numpy");
        println!("the numpy code of docs/MODEL.md is not tested: python3 needs numpy");
        return;
    }
    let snippet = blocks(&model, "python")[0];
    let output = python(&format!("{snippet}\nprint(*predicted, sep='')")).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let predicted = String::from_utf8(output.stdout).unwrap();
    let differing = predicted.trim().chars().zip(&classes).filter(|(a, b)| a.to_string() != **b).count();
    // Float sums in another order.
    assert!(predicted.trim().len() == 10_000 && differing <= 2, "{differing}");
}
