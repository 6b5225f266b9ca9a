//! The cases of `tinytrain check`, with odd shapes, on every adapter and under every tuning: for most kernels
//! this is the only test against the f64 reference.

use tinytrain::check::{Extent, Outcome, kernels, kernels_async};
use tinytrain::gpu::block;
use tinytrain::kernels::Tuning;

use crate::lab::{Lab, everywhere, labs};

fn outcomes(lab: &Lab, tuning: &Tuning, extent: Extent) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    kernels(&lab.compute(tuning), extent, &mut |outcome| outcomes.push(outcome));
    let failed: Vec<&Outcome> = outcomes.iter().filter(|outcome| !outcome.passed()).collect();
    assert!(failed.is_empty(), "{} ({}), {tuning:?}: {failed:#?}", lab.context.name, lab.context.backend);
    outcomes
}

#[test]
fn every_kernel_passes_in_odd_shapes() {
    everywhere(|lab, tuning| {
        let outcomes = outcomes(lab, tuning, Extent::Thorough);
        assert!(outcomes.len() > 1000, "{}", outcomes.len());
        for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders")).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let named = |outcome: &Outcome| outcome.subject.split([' ', ',']).any(|word| word == name);
            assert!(path.is_dir() || outcomes.iter().any(named), "{name} is not checked");
        }
    });
}

/// Small teams have many levels, and workgroups whose size is not a power of two have idle threads.
#[test]
fn every_kernel_passes_with_odd_workgroups() {
    let lab = &labs()[0];
    let _turn = lab.turn();
    for (team, workgroup, plane) in [(8, 5, [3, 3]), (64, 1, [1, 7])] {
        outcomes(lab, &Tuning { team, workgroup, plane, ..Tuning::GPU }, Extent::Thorough);
    }
}

/// Cases that begin again, instead of waiting for reads, have the same outcomes.
#[test]
fn replayed_cases_have_equal_outcomes() {
    let lab = &labs()[0];
    let _turn = lab.turn();
    let tuning = Tuning::for_device(&lab.context);
    let mut again: Vec<Outcome> = Vec::new();
    block(kernels_async(&lab.compute(&tuning), &mut |outcome| again.push(outcome))).unwrap();
    assert!(again.len() > 100 && again == outcomes(lab, &tuning, Extent::Quick));
}
