//! The commands of README.md, from top to bottom, on the data of the repository, and its model in numpy.

use std::path::Path;
use std::process::Command;

use crate::program::Workplace;

/// The first block of this language behind a heading or a sentence.
fn block<'a>(text: &'a str, behind: &str, language: &str) -> &'a str {
    let text = &text[text.find(behind).unwrap_or_else(|| panic!("no {behind:?}"))..];
    let begin = text.find(&format!("```{language}\n")).unwrap() + 4 + language.len();
    &text[begin..begin + text[begin..].find("```").unwrap()]
}

#[test]
fn the_commands_of_the_readme_run_from_top_to_bottom_and_numpy_reads_the_model() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let place = Workplace::new();
    std::os::unix::fs::symlink(root.join("data"), place.path("data")).unwrap();
    let commands: Vec<&str> =
        block(&readme, "## Commands", "sh").lines().filter(|line| !line.is_empty()).collect();
    assert!(commands.len() >= 20 && commands.iter().all(|line| line.starts_with("tinytrain ")));
    for line in commands {
        // As printed, but that `tinytrain` is the program under test. No word holds a blank.
        let words: Vec<&str> = line.split(" #").next().unwrap().split_whitespace().skip(1).collect();
        place.succeed(&words);
    }
    for file in
        ["digits.c", "report.html", "importance.svg", "predictions.csv", "iris.npz", "run2/model.safetensors"]
    {
        assert!(place.path(file).is_file(), "{file}");
    }
    assert_eq!(std::fs::read_to_string(place.path("run1/history.csv")).unwrap().lines().count(), 401);
    let digits = std::fs::read_to_string(place.path("digits.csv")).unwrap();
    let classes: Vec<&str> = digits.lines().skip(1).map(|line| &line[..1]).collect();
    assert_eq!(classes.len(), 10_000);

    // The snippet, which needs numpy: without it `scripts/test` fails, and `cargo test` says that nothing is tested.
    let python = |code: &str| Command::new("python3").args(["-c", code]).current_dir(place.path("")).output();
    if !python("import numpy").is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("TINYTRAIN_TEST_ALL").is_none(), "python3 needs numpy: pip install numpy");
        println!("the numpy code of README.md is not tested: python3 needs numpy");
        return;
    }
    let snippet = block(&readme, "### Models", "python");
    let output = python(&format!("{snippet}\nprint(*predicted, sep='')")).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let predicted = String::from_utf8(output.stdout).unwrap();
    let differing = predicted.trim().chars().zip(&classes).filter(|(a, b)| a.to_string() != **b).count();
    // Sums of floats in another order.
    assert!(predicted.trim().len() == 10_000 && differing <= 2, "{differing}");
    let arrays = "import numpy\nprint(*numpy.load('iris.npz')['species.categories'])";
    let named = String::from_utf8(python(arrays).unwrap().stdout).unwrap();
    assert_eq!(named.trim(), "setosa versicolor virginica");
}
