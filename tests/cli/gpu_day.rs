//! `scripts/gpu-day` uses only options that the program has.

use std::process::Command;

use crate::program::Workplace;

#[test]
fn every_command_of_a_day_is_understood() {
    let program = env!("CARGO_BIN_EXE_tinytrain");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/gpu-day");
    let listed = Command::new(script).arg("--list").env("TINYTRAIN", program).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let ours: Vec<Vec<&str>> = listed
        .lines()
        .filter_map(|line| line.split_once(&format!(": {program} ")))
        .map(|(_, options)| options.split_whitespace().collect())
        .collect();
    // Four workloads under three schedules and the default; three profiles, two checks.
    assert!(ours.len() >= 4 * 3 + 4 + 3 + 2, "{listed}");
    let place = Workplace::new();
    for mut options in ours {
        // Preceding options are parsed, and rejected if they do not exist.
        options.push("--help");
        place.succeed(&options);
    }
}
