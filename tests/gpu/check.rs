//! `tinytrain check` as a library call: every kernel has its place, and all pass here under every tuning.

use tinytrain::check::{Outcome, kernels};

use crate::lab::everywhere;

#[test]
fn every_kernel_has_a_place_and_passes() {
    everywhere(|lab, tuning| {
        let mut outcomes: Vec<Outcome> = Vec::new();
        kernels(&lab.compute(tuning), &mut |outcome| outcomes.push(outcome));
        for outcome in &outcomes {
            assert!(
                outcome.passed(),
                "{} ({}), {tuning:?}: {outcome:?}",
                lab.context.name,
                lab.context.backend
            );
        }
        for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders")).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let named = |outcome: &Outcome| outcome.subject.split([' ', ',']).any(|word| word == name);
            assert!(path.is_dir() || outcomes.iter().any(named), "{name} is not checked");
        }
    });
}
