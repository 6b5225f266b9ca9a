//! zip, activate, multiply_add.

use ndarray::{Array1, Array2};

use super::{Cases, Figures, ODD, random, wide};
use crate::kernels::{Comparison, MultiplyAdd, StepRecord, Tensor, Vector, Zip, activate, compare, zip};
use crate::reference::ops;
use crate::step::Activation;

type PairFormula = fn(f64, f64) -> f64;
type WordFormula = fn(u32, u32) -> u32;

/// Operation, formula, and the number of eps of the result that WGSL allows (accuracy of built-in expressions).
const ZIPS: [(Zip, PairFormula, f64); 5] = [
    (Zip::Add, |a, b| a + b, 2.5),
    (Zip::Subtract, |a, b| a - b, 2.5),
    (Zip::Multiply, |a, b| a * b, 2.5),
    (Zip::Divide, |a, b| a / b, 2.5),
    (Zip::Maximum, f64::max, 0.0),
];

const INTEGER_ZIPS: [(Zip, WordFormula); 5] = [
    (Zip::Add, u32::wrapping_add),
    (Zip::Subtract, u32::wrapping_sub),
    (Zip::Multiply, u32::wrapping_mul),
    (Zip::Divide, |a, b| a.checked_div(b).unwrap_or(a)),
    (Zip::Maximum, Ord::max),
];

const COMPARISONS: [(Comparison, WordFormula); 2] =
    [(Comparison::Equal, |a, b| u32::from(a == b)), (Comparison::Different, |a, b| u32::from(a != b))];

/// Returns two vectors of words, a third of which are equal.
fn integers(length: usize) -> (Vec<u32>, Vec<u32>) {
    let a: Vec<u32> = (0..length as u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    let b = (1..).zip(&a).map(|(i, word)| if i % 3 == 1 { *word } else { i }).collect();
    (a, b)
}

pub(super) fn run(cases: &mut Cases<'_>) {
    let odd = (0..6).map(|at| (ODD[at], ODD[(at + 3) % 6])).chain(ODD.map(|columns| (1, columns)));
    let shapes = cases.shapes([(65, 257)], odd.chain([(33, 3)]));
    let pairs = ZIPS.iter().flat_map(|zip| shapes.iter().map(move |shape| (*zip, *shape)));
    for ((operation, formula, units), (rows, columns)) in pairs {
        cases.case(&format!("zip {operation:?}"), &format!("{rows} x {columns}"), |compute| {
            let (a, b) = (random(rows, columns, 1), random(rows, columns, 2).mapv(|value| value.abs() + 0.5));
            let got = zip(compute, operation, &compute.matrix(&a)?, &compute.matrix(&b)?)?.read(compute)?;
            let want = ndarray::Zip::from(&wide(&a)).and(&wide(&b)).map_collect(|a, b| formula(*a, *b));
            Ok(Figures::relative(&got, &want, &want.mapv(f64::abs), units))
        });
    }
    for length in cases.shapes([100_003], ODD) {
        for (operation, formula) in INTEGER_ZIPS {
            cases.case(&format!("zip {operation:?}, u32"), &length.to_string(), |compute| {
                let (a, b) = integers(length);
                let got = zip(compute, operation, &compute.vector(&a)?, &compute.vector(&b)?)?;
                Ok(Figures::exact(got.read(compute)?, a.iter().zip(&b).map(|(a, b)| formula(*a, *b))))
            });
        }
        for (comparison, formula) in COMPARISONS {
            cases.case(&format!("zip {comparison:?}, u32"), &length.to_string(), |compute| {
                let (a, b) = integers(length);
                let got = compare(compute, comparison, &compute.vector(&a)?, &compute.vector(&b)?)?;
                let want = a.iter().zip(&b).map(|(a, b)| formula(*a, *b));
                Ok(Figures::exact(got.read(compute)?, want))
            });
        }
    }
    cases.case("relu", "65 x 257", |compute| {
        let z = random(65, 257, 3);
        let got = activate(compute, Activation::Relu, &compute.matrix(&z)?)?.read(compute)?;
        Ok(Figures::exact(got, ops::relu(wide(&z).view())))
    });
    // WGSL does not guarantee this, but training relies on it to detect divergence.
    cases.case("relu of NaN", "1 x 5", |compute| {
        let z = Array2::from_shape_fn((1, 5), |(_, j)| if j == 3 { f32::NAN } else { -1.0 });
        let got = activate(compute, Activation::Relu, &compute.matrix(&z)?)?.read(compute)?;
        Ok(Figures::exact(got.iter().map(|value| u32::from(value.is_nan())), [0u32, 0, 0, 1, 0]))
    });
    for (threads, rounds) in cases.shapes([(257, 12)], [(1, 0), (3, 1), (65, 7)]) {
        cases.case("multiply_add", &format!("{threads} x {rounds}"), |compute| {
            // x <- x / 2 + 1 from a whole number below 2^8: exact in f32 for twelve rounds.
            let y = Vector::<f32>::output(compute, 1, 4 * threads)?;
            let kernel = MultiplyAdd { threads, rounds, a: 0.5, b: 1.0 };
            compute.run(&kernel, &[y.buffer()], StepRecord::default())?;
            let chain = |start: usize| (0..rounds).fold(start as f64, |x, _| 0.5 * x + 1.0);
            let want: Array1<f64> =
                (0..4 * threads).map(|word| (0..8).map(|at| chain(word / 4 + at)).sum()).collect();
            Ok(Figures::relative(&y.read(compute)?, &want, &want, 8.0))
        });
    }
}
