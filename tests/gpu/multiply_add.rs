use tinytrain::kernels::{MultiplyAdd, StepRecord};

use crate::lab::everywhere;

/// x <- x / 2 + 1 goes to 2: |x - 2| halves each round, exactly in f32 for small whole numbers.
#[test]
fn every_round_is_computed() {
    everywhere(|lab, tuning| {
        for (threads, rounds) in [(1, 0), (3, 1), (65, 7), (257, 12)] {
            let y = lab.output(4 * threads);
            let kernel = MultiplyAdd { threads, rounds, a: 0.5, b: 1.0 };
            lab.run(&kernel, tuning, &[&y.buffer], StepRecord::default());
            for (word, value) in lab.floats(&y).into_iter().enumerate() {
                let chain = |start: usize| (0..rounds).fold(start as f64, |x, _| 0.5 * x + 1.0);
                let want: f64 = (0..8).map(|start| chain(word / 4 + start)).sum();
                assert!(
                    (f64::from(value) - want).abs() <= want * 8.0 * f64::from(f32::EPSILON),
                    "{value}, want {want}"
                );
            }
        }
    });
}
