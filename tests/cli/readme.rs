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

/// The words of a command, none of which has blanks. Whatever trains does so for one epoch, and a run that goes on for another one: as
/// printed they take minutes in a build for tests.
fn words(line: &str) -> Vec<String> {
    let command = line.split(" #").next().unwrap();
    let mut words: Vec<String> = command.split_whitespace().skip(1).map(str::to_owned).collect();
    let epochs = if command.contains("--resume") { "2" } else { "1" };
    match words.iter().position(|word| word == "--epochs") {
        Some(place) => words[place + 1] = epochs.to_owned(),
        None if ["train", "sweep"].contains(&words[0].as_str()) => {
            words.extend(["--epochs".to_owned(), epochs.to_owned()]);
        }
        None => {}
    }
    words
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
        let words = words(line);
        place.succeed(&words.iter().map(String::as_str).collect::<Vec<&str>>());
    }
    for file in
        ["digits.c", "report.html", "importance.svg", "predictions.csv", "iris.npz", "run2/model.safetensors"]
    {
        assert!(place.path(file).is_file(), "{file}");
    }
    assert_eq!(std::fs::read_to_string(place.path("run1/history.csv")).unwrap().lines().count(), 3);
    let digits = std::fs::read_to_string(place.path("digits.csv")).unwrap();
    let classes: Vec<&str> = digits.lines().skip(1).map(|line| &line[..1]).collect();
    assert_eq!(classes.len(), 10_000);

    let snippet = block(&readme, "### Models", "python");
    let model = place.model("model.safetensors");
    let mut inputs = 784;
    for number in 1.. {
        let shape = &model.header[format!("w{number}")]["shape"];
        assert_eq!(snippet.contains(&format!("m[\"w{number}\"]")), shape.is_array(), "w{number}: {snippet}");
        if !shape.is_array() {
            break;
        }
        assert_eq!(shape[0], inputs);
        inputs = shape[1].as_u64().unwrap();
    }
    assert_eq!(inputs, 10);
    // Where Python has what the snippet needs, it predicts what the program has predicted.
    let python = |code: &str| Command::new("python3").args(["-c", code]).current_dir(place.path("")).output();
    if !python("import numpy, safetensors").is_ok_and(|output| output.status.success()) {
        return;
    }
    let code = format!(
        "import gzip, numpy\n\
         packed = gzip.open('data/mnist/t10k-images-idx3-ubyte.gz').read()\n\
         images = numpy.frombuffer(packed, dtype=numpy.uint8, offset=16).reshape(-1, 784)\n\
         {snippet}\nprint(*predicted, sep='')"
    );
    let output = python(&code).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let predicted = String::from_utf8(output.stdout).unwrap();
    let differing = predicted.trim().chars().zip(&classes).filter(|(a, b)| a.to_string() != **b).count();
    // Sums of floats in another order.
    assert!(predicted.trim().len() == 10_000 && differing <= 2, "{differing}");
}
