//! The examples and the readme work as described.

use tinytrain::{DeviceRequest, TrainSettings, Trainer};

#[path = "../../examples/arrays.rs"]
#[expect(dead_code, reason = "its main function")]
mod arrays;
#[path = "../../examples/mnist.rs"]
#[expect(dead_code, reason = "its main function")]
mod mnist;
#[path = "../../examples/stop_rule.rs"]
#[expect(dead_code, reason = "its main function")]
mod stop_rule;
#[path = "../../examples/table.rs"]
#[expect(dead_code, reason = "its main function")]
mod table;

#[test]
fn mnist_is_learnt_from_its_files() {
    let settings = TrainSettings { hidden: Some([32].into()), epochs: Some(1), ..Default::default() };
    let trainer = Trainer::new(settings).device(DeviceRequest::Cpu);
    let accuracy = mnist::train(&trainer).unwrap();
    assert!(accuracy > 0.91, "{accuracy}");
}

#[test]
fn a_table_is_learnt_and_tested_on_rows_that_were_held_out() {
    let accuracy = table::train().unwrap();
    assert!(accuracy > 0.94, "{accuracy}");
}

#[test]
fn values_are_learnt_from_arrays() {
    let r2 = arrays::train().unwrap();
    assert!(r2 > 0.99, "{r2}");
}

#[test]
fn a_rule_stops_a_run() {
    let (epochs, accuracy) = stop_rule::train().unwrap();
    assert!((6..500).contains(&epochs) && accuracy > 0.9, "{epochs} {accuracy}");
}

/// Returns lines of Rust between this line and the end of its block.
fn code(text: &str, after: &str) -> Vec<String> {
    let block = text.split_once(after).expect("such a line").1.split("```").nth(1).expect("a block of code");
    block.lines().skip(1).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn the_pages_have_the_lines_that_the_documentation_runs() {
    let documentation: String = include_str!("../../src/trainer/mod.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .filter(|line| !line.starts_with(" # "))
        .map(|line| format!("{}\n", line.trim()))
        .collect();
    for (page, heading, documented) in [
        (include_str!("../../README.md"), "\n## As a library\n", "Training on arrays in ten lines."),
        (include_str!("../../docs/TRAINING.md"), "\n## Events\n", "which yields events"),
    ] {
        assert_eq!(code(page, heading), code(&documentation, documented));
    }
}
