use tinytrain::kernels::{FeatureFormat, Gather, Samples, StepRecord};
use tinytrain::reference::ops;

use crate::lab::{assert_close, everywhere, indices, labels, shuffled};

/// Samples of the data set, inputs, start of the batch in the order, and its rows.
const SHAPES: [(usize, usize, usize, usize); 5] =
    [(1, 1, 0, 1), (9, 3, 4, 5), (70, 17, 5, 63), (100, 784, 36, 64), (300, 65, 43, 257)];

#[test]
fn bytes_are_scaled_and_floats_are_not() {
    everywhere(|lab, tuning| {
        for (samples, inputs, first, rows) in SHAPES {
            let order = shuffled(samples);
            for (stored, words) in [(FeatureFormat::Bytes, 1), (FeatureFormat::Floats, 3)] {
                let stored_targets = labels(samples * words, 1000);
                let (features, values) = lab.features(stored, samples, inputs);
                let x = lab.output_matrix(rows, inputs);
                let targets = lab.output(rows * words);
                let batch = StepRecord { first: first as u32, rows: rows as u32, ..StepRecord::default() };
                lab.run(
                    &Gather { rows: rows + 2, inputs, words, samples: Samples { stored, count: samples } },
                    tuning,
                    &[
                        &features,
                        &lab.upload(&stored_targets),
                        &lab.upload(&order),
                        &x.buffer,
                        &targets.buffer,
                    ],
                    batch,
                );
                let taken = indices(&order[first..first + rows]);
                let want = ops::gather(values.view(), &taken, 1.0);
                // unpack4x8unorm and one rounding.
                let bound = want.mapv(|value| value.abs() * 2.0 * f64::from(f32::EPSILON));
                assert_close("gather", lab, &lab.read(&x, rows, inputs), &want, &bound);
                let want: Vec<u32> =
                    taken.iter().flat_map(|row| stored_targets[row * words..][..words].to_vec()).collect();
                assert_eq!(lab.words(&targets), want);
            }
        }
    });
}
