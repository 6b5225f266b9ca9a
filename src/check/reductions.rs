//! reduce, dot.

use ndarray::{Array1, Array2, Axis as Direction};

use super::{Cases, Figures, ODD, random, vector, wide};
use crate::error::Result;
use crate::kernels::{Axis, Compute, Reduction, block_sums, dot, reduce, reduce_axis};
use crate::reference::{bounds, ops};

/// Compares sums, with the magnitudes of their terms.
fn sums(got: &[f32], want: &Array1<f64>, magnitude: &Array1<f64>, elements: usize) -> Figures {
    let bound = magnitude.mapv(|magnitude| bounds::sum(magnitude, elements));
    Figures::near(got, want, magnitude, &bound)
}

fn one(value: f64) -> Array1<f64> {
    Array1::from_elem(1, value)
}

pub(super) fn run(cases: &mut Cases<'_>) {
    let lengths = cases.shapes([1_000_003], ODD.into_iter().chain([4095, 4096, 4097]));
    for &length in &lengths {
        let shape = length.to_string();
        cases.case("reduce sum", &shape, |compute| {
            let x = vector(length, 1);
            let got = reduce(compute, Reduction::Sum, &compute.vector(&x.to_vec())?)?;
            let x = wide(&x);
            Ok(sums(&[got], &one(x.sum()), &one(x.mapv(f64::abs).sum()), x.len()))
        });
        cases.case("reduce maximum", &shape, |compute| {
            let x = vector(length, 2);
            let got = reduce(compute, Reduction::Maximum, &compute.vector(&x.to_vec())?)?;
            Ok(Figures::exact([got], [ops::maximum(wide(&x).view())]))
        });
        cases.case("dot", &shape, |compute| {
            let (a, b) = (vector(length, 5), vector(length, 6));
            let got = dot(compute, &compute.vector(&a.to_vec())?, &compute.vector(&b.to_vec())?)?;
            let (a, b) = (wide(&a), wide(&b));
            let magnitude = ops::dot(a.mapv(f64::abs).view(), b.mapv(f64::abs).view());
            Ok(sums(&[got], &one(ops::dot(a.view(), b.view())), &one(magnitude), a.len()))
        });
    }
    cases.case("reduce u32", "100003", |compute| {
        let x: Vec<u32> = (0..100_003u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let got = reduce(compute, Reduction::Sum, &compute.vector(&x)?)?;
        Ok(Figures::exact([got], [x.iter().fold(0u32, |a, b| a.wrapping_add(*b))]))
    });
    let odd = (0..36).map(|at| (ODD[at / 6], ODD[at % 6]));
    for (rows, columns) in cases.shapes([(257, 5003)], odd.chain([(3, 9001), (9001, 3)])) {
        for axis in [Axis::Rows, Axis::Columns] {
            let (name, shape) = (format!("{axis:?}").to_lowercase(), format!("{rows} x {columns}"));
            // Created within its case, as cases may be replayed.
            let x = || random(rows, columns, 8);
            cases.case(&format!("reduce mean of {name}"), &shape, |compute| means(compute, axis, &x()));
            cases.case(&format!("reduce maximum of {name}"), &shape, |compute| {
                let x = x();
                let got = reduce_axis(compute, Reduction::Maximum, axis, &compute.matrix(&x)?)?;
                let want = wide(&x);
                Ok(Figures::exact(got.read(compute)?, want.axis_iter(direction(axis)).map(ops::maximum)))
            });
        }
    }
    let odd = [(10, 8), (8, 8), (1, 1), (257, 3), (1000, 1), (6001, 6000), (3, 9)];
    for (length, block) in cases.shapes([(100_003, 1700)], odd) {
        cases.case(&format!("reduce blocks of {block}"), &length.to_string(), |compute| {
            let x = vector(length, 4);
            let got = block_sums(compute, block, &compute.vector(&x.to_vec())?)?.read(compute)?;
            let x = wide(&x);
            let magnitude = ops::block_sums(x.mapv(f64::abs).view(), block);
            Ok(sums(&got, &ops::block_sums(x.view(), block), &magnitude, block))
        });
    }
}

fn direction(axis: Axis) -> Direction {
    match axis {
        Axis::Rows => Direction(0),
        Axis::Columns => Direction(1),
    }
}

fn means(compute: &Compute, axis: Axis, x: &Array2<f32>) -> Result<Figures> {
    let got = reduce_axis(compute, Reduction::Mean, axis, &compute.matrix(x)?)?.read(compute)?;
    let x = wide(x);
    let lines = |x: &Array2<f64>| x.axis_iter(direction(axis)).map(|x| x.sum()).collect::<Array1<f64>>();
    let length = (x.len() / got.len().max(1)).max(1);
    // The division rounds again.
    let mean = |x: &Array2<f64>| lines(x) / length as f64;
    Ok(sums(&got, &mean(&x), &mean(&x.mapv(f64::abs)), 2 * length))
}
