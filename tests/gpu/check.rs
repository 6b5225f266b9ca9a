//! `tinytrain check` as a library call: every kernel has its place, and all pass here as users run them. What every tuning
//! computes is tested kernel by kernel.

use tinytrain::check::{Outcome, kernels, kernels_async};
use tinytrain::gpu::block;
use tinytrain::kernels::Tuning;

use crate::lab::labs;

#[test]
fn every_kernel_has_a_place_and_passes() {
    for lab in labs() {
        // The shapes of real GPUs use workgroup memory most, so these are what runs checked.
        let tuning =
            if lab.context.device_options.checked { Tuning::GPU } else { Tuning::for_device(&lab.context) };
        let _turn = lab.turn();
        let (compute, mut outcomes) = (lab.compute(&tuning), Vec::<Outcome>::new());
        kernels(&compute, &mut |outcome| outcomes.push(outcome));
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
        // Cases that begin again, instead of waiting for what they read, come to the same.
        if std::ptr::eq(lab, &labs()[0]) {
            let mut again: Vec<Outcome> = Vec::new();
            block(kernels_async(&compute, &mut |outcome| again.push(outcome))).unwrap();
            assert!(again.len() > 100 && again == outcomes);
        }
    }
}
