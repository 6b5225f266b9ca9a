//! reduce, dot.

use ndarray::{Array1, Array2, Axis as Direction};

use super::{Cases, Figures, random, vector, wide};
use crate::error::Result;
use crate::kernels::{Axis, Compute, Reduction, block_sums, dot, reduce, reduce_axis};
use crate::reference::{bounds, ops};

/// Sums with the magnitudes of what was added.
fn sums(got: &[f32], want: &Array1<f64>, magnitude: &Array1<f64>, elements: usize) -> Figures {
    let bound = magnitude.mapv(|magnitude| bounds::sum(magnitude, elements));
    Figures::near(got, want, magnitude, &bound)
}

fn one(value: f64) -> Array1<f64> {
    Array1::from_elem(1, value)
}

pub(super) fn run(cases: &mut Cases<'_>) {
    cases.case("reduce sum", "1000003", |compute| {
        let x = vector(1_000_003, 1);
        let got = reduce(compute, Reduction::Sum, &compute.vector(&x.to_vec())?)?;
        let x = wide(&x);
        Ok(sums(&[got], &one(x.sum()), &one(x.mapv(f64::abs).sum()), x.len()))
    });
    cases.case("reduce maximum", "1000003", |compute| {
        let x = vector(1_000_003, 2);
        let got = reduce(compute, Reduction::Maximum, &compute.vector(&x.to_vec())?)?;
        Ok(Figures::exact([got], [ops::maximum(wide(&x).view())]))
    });
    cases.case("reduce u32", "100003", |compute| {
        let x: Vec<u32> = (0..100_003u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let got = reduce(compute, Reduction::Sum, &compute.vector(&x)?)?;
        Ok(Figures::exact([got], [x.iter().fold(0u32, |a, b| a.wrapping_add(*b))]))
    });
    for axis in [Axis::Rows, Axis::Columns] {
        let name = format!("{axis:?}").to_lowercase();
        cases.case(&format!("reduce mean of {name}"), "257 x 5003", |compute| means(compute, axis));
    }
    cases.case("reduce blocks of 1700", "100003", |compute| {
        let x = vector(100_003, 4);
        let got = block_sums(compute, 1700, &compute.vector(&x.to_vec())?)?.read(compute)?;
        let x = wide(&x);
        let magnitude = ops::block_sums(x.mapv(f64::abs).view(), 1700);
        Ok(sums(&got, &ops::block_sums(x.view(), 1700), &magnitude, 1700))
    });
    cases.case("dot", "1000003", |compute| {
        let (a, b) = (vector(1_000_003, 5), vector(1_000_003, 6));
        let got = dot(compute, &compute.vector(&a.to_vec())?, &compute.vector(&b.to_vec())?)?;
        let (a, b) = (wide(&a), wide(&b));
        let magnitude = ops::dot(a.mapv(f64::abs).view(), b.mapv(f64::abs).view());
        Ok(sums(&[got], &one(ops::dot(a.view(), b.view())), &one(magnitude), a.len()))
    });
}

fn direction(axis: Axis) -> Direction {
    match axis {
        Axis::Rows => Direction(0),
        Axis::Columns => Direction(1),
    }
}

fn means(compute: &Compute, axis: Axis) -> Result<Figures> {
    let x = random(257, 5003, 8);
    let got = reduce_axis(compute, Reduction::Mean, axis, &compute.matrix(&x)?)?.read(compute)?;
    let x = wide(&x);
    let lines = |x: &Array2<f64>| x.axis_iter(direction(axis)).map(|x| x.sum()).collect::<Array1<f64>>();
    let length = (x.len() / got.len().max(1)).max(1);
    // The division rounds again.
    let mean = |x: &Array2<f64>| lines(x) / length as f64;
    Ok(sums(&got, &mean(&x), &mean(&x.mapv(f64::abs)), 2 * length))
}
