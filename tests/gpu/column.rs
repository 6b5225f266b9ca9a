//! Against the reference in `src/check/two_dispatch.rs`, which `check.rs` runs everywhere; here the ends of an epoch.

use tinytrain::kernels::{Column, FeatureFormat, StepRecord, StepShape, Tuning};

use crate::lab::{Lab, everywhere, random};

const SIZES: [&[usize]; 4] = [&[9, 7], &[3, 65, 33], &[784, 30, 10], &[257, 17, 130, 63, 3]];

/// Parameters and sums before and after; sums are NaN before.
fn run(lab: &Lab, tuning: &Tuning, shape: &StepShape, sizes: &[usize], batch: StepRecord) -> [Vec<u32>; 2] {
    let parameters = random(1, 4 * shape.parameters(), 1).into_iter().map(f32::to_bits);
    let partials = vec![f32::NAN.to_bits(); 4 * shape.partials()];
    let before: Vec<u32> = parameters.chain(partials).collect();
    let samples = 2 * shape.rows();
    let order: Vec<u32> = (0..samples as u32).rev().collect();
    let activations: Vec<f32> = random(1, 8 * shape.activations(), 2).into_iter().collect();
    let result = lab.output(before.len());
    lab.context.queue.write_buffer(&result.buffer, 0, bytemuck::cast_slice(&before));
    lab.run(
        &Column::new(shape, FeatureFormat::Floats, 0.1, tuning),
        tuning,
        &[
            &lab.matrix(&random(samples, sizes[0], 3)),
            &lab.upload(&order),
            &lab.upload(&activations),
            &result.buffer,
        ],
        batch,
    );
    [before, lab.words(&result)]
}

#[test]
fn a_batch_of_no_rows_changes_no_weight() {
    everywhere(|lab, tuning| {
        for sizes in SIZES {
            let shape = StepShape::new(sizes, 33, tuning).unwrap();
            let batch = StepRecord { next_rows: 33, ..StepRecord::default() };
            let [before, after] = run(lab, tuning, &shape, sizes, batch);
            let parameters = 4 * shape.parameters();
            assert_eq!(before[..parameters], after[..parameters], "{sizes:?}");
            let sums = after[parameters..].iter().map(|bits| f32::from_bits(*bits));
            assert!(sums.into_iter().all(f32::is_finite), "{sizes:?}");
        }
    });
}

#[test]
fn the_last_batch_makes_no_sums_and_a_step_repeats() {
    everywhere(|lab, tuning| {
        for sizes in SIZES {
            let shape = StepShape::new(sizes, 33, tuning).unwrap();
            let batch = StepRecord { rows: 17, ..StepRecord::default() };
            let [before, after] = run(lab, tuning, &shape, sizes, batch);
            let parameters = 4 * shape.parameters();
            assert_ne!(before[..parameters], after[..parameters], "{sizes:?}");
            assert_eq!(before[parameters..], after[parameters..], "{sizes:?}");
            assert_eq!(after, run(lab, tuning, &shape, sizes, batch)[1], "{sizes:?}");
        }
    });
}
