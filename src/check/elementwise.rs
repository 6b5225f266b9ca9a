//! zip, activate, multiply_add.

use ndarray::{Array1, Array2, Zip as BatchTrainer};

use super::{Cases, Figures, random, wide};
use crate::kernels::{Comparison, MultiplyAdd, StepRecord, Tensor, Vector, Zip, activate, compare, zip};
use crate::reference::ops;
use crate::step::Activation;

type PairFormula = fn(f64, f64) -> f64;

/// Operation, formula, and the number of eps of the result that WGSL allows (accuracy of built-in expressions).
const ZIPS: [(Zip, PairFormula, f64); 5] = [
    (Zip::Add, |a, b| a + b, 2.5),
    (Zip::Subtract, |a, b| a - b, 2.5),
    (Zip::Multiply, |a, b| a * b, 2.5),
    (Zip::Divide, |a, b| a / b, 2.5),
    (Zip::Maximum, f64::max, 0.0),
];

pub(super) fn run(cases: &mut Cases<'_>) {
    for (operation, formula, units) in ZIPS {
        cases.case(&format!("zip {operation:?}"), "65 x 257", |compute| {
            let (a, b) = (random(65, 257, 1), random(65, 257, 2).mapv(|value| value.abs() + 0.5));
            let got = zip(compute, operation, &compute.matrix(&a)?, &compute.matrix(&b)?)?.read(compute)?;
            let want = BatchTrainer::from(&wide(&a)).and(&wide(&b)).map_collect(|a, b| formula(*a, *b));
            Ok(Figures::relative(&got, &want, &want.mapv(f64::abs), units))
        });
    }
    cases.case("zip u32", "100003", |compute| {
        let a: Vec<u32> = (0..100_003u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let b: Vec<u32> = a.iter().rev().copied().collect();
        let (on_a, on_b) = (compute.vector(&a)?, compute.vector(&b)?);
        let sums = zip(compute, Zip::Add, &on_a, &on_b)?.read(compute)?;
        let equal = compare(compute, Comparison::Equal, &on_a, &on_b)?.read(compute)?;
        let pairs = || a.iter().zip(&b);
        let sums = Figures::exact(sums, pairs().map(|(a, b)| a.wrapping_add(*b)));
        Ok(sums.and(Figures::exact(equal, pairs().map(|(a, b)| u32::from(a == b)))))
    });
    cases.case("relu", "65 x 257", |compute| {
        let z = random(65, 257, 3);
        let got = activate(compute, Activation::Relu, &compute.matrix(&z)?)?.read(compute)?;
        Ok(Figures::exact(got, ops::relu(wide(&z).view())))
    });
    // WGSL does not promise this, but training relies on it to notice a network that went wrong.
    cases.case("relu of NaN", "1 x 5", |compute| {
        let z = Array2::from_shape_fn((1, 5), |(_, j)| if j == 3 { f32::NAN } else { -1.0 });
        let got = activate(compute, Activation::Relu, &compute.matrix(&z)?)?.read(compute)?;
        Ok(Figures::exact(got.iter().map(|value| u32::from(value.is_nan())), [0u32, 0, 0, 1, 0]))
    });
    cases.case("multiply_add", "257 x 12", |compute| {
        // x <- x / 2 + 1 from a whole number below 2^8: exact in f32 for twelve rounds.
        let y = Vector::<f32>::output(compute, 1, 4 * 257)?;
        let kernel = MultiplyAdd { threads: 257, rounds: 12, a: 0.5, b: 1.0 };
        compute.run(&kernel, &[y.buffer()], StepRecord::default())?;
        let chain = |start: usize| (0..12).fold(start as f64, |x, _| 0.5 * x + 1.0);
        let want: Array1<f64> =
            (0..4 * 257).map(|word| (0..8).map(|at| chain(word / 4 + at)).sum()).collect();
        Ok(Figures::relative(&y.read(compute)?, &want, &want, 8.0))
    });
}
