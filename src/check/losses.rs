//! Kernels with a loss: each loss once with weights of the rows and label smoothing, and cross-entropy
//! without.

use ndarray::{Array2, Axis};

use super::targets::Expected;
use super::{Cases, EPS, Figures, random, wide};
use crate::error::Result;
use crate::kernels::{Compute, LossGradient, LossTargets, Matrix, StepRecord, Tensor, Vector};
use crate::reference::{bounds, ops};
use crate::step::Loss;

/// Rows and outputs.
const SHAPES: [(usize, usize); 2] = [(64, 10), (300, 65)];

pub(super) fn run(cases: &mut Cases<'_>) {
    for (rows, outputs) in SHAPES {
        let text = format!("{rows} x {outputs}");
        let plain = LossTargets::CLASSES;
        cases.case("loss_gradient cross-entropy", &text, |it| loss_gradient(it, rows, outputs, plain));
        for loss in Loss::ALL.iter().copied() {
            let targets = LossTargets { loss, smoothing: 0.1, weighted: true };
            let name = format!("loss_gradient {loss} + weights");
            cases.case(&name, &text, |compute| loss_gradient(compute, rows, outputs, targets));
        }
    }
}

fn loss_gradient(compute: &Compute, rows: usize, outputs: usize, form: LossTargets) -> Result<Figures> {
    let (z, wanted) = (random(rows, outputs, 12) * 3.0, Expected::new(form, rows, outputs));
    let on_z = compute.matrix(&z)?;
    // Targets are in reverse order in the data set, after another row.
    let another = vec![0; form.words(outputs)];
    let stored: Vec<u32> =
        another.into_iter().chain((0..rows).rev().flat_map(|row| wanted.words(row))).collect();
    let order: Vec<u32> = (1..=rows as u32).rev().collect();
    let (on_targets, on_order) = (compute.vector(&stored)?, compute.vector(&order)?);
    let delta = Matrix::output(compute, rows, outputs)?;
    let metrics = Vector::<f32>::output(compute, 1, 2 * compute.tuning.row_groups(rows))?;
    let kernel = LossGradient { rows, outputs, targets: form, samples: Some(rows + 1) };
    let buffers = [on_z.buffer(), on_targets.buffer(), on_order.buffer(), delta.buffer(), metrics.buffer()];
    compute.run(&kernel, &buffers, StepRecord::all(rows))?;
    let (z, targets) = (wide(&z), wanted.targets());
    let want = ops::loss_gradient(form.loss, z.view(), &targets);
    // Errors are relative to the weight of a row.
    let counts = wanted.shares().insert_axis(Axis(1));
    let local = match form.loss {
        Loss::CrossEntropy => bounds::softmax(z.view()) + 8.0 * EPS,
        _ => (z.mapv(f64::abs) + targets.matrix(outputs).mapv(f64::abs) + 1.0) * (8.0 * EPS / outputs as f64),
    };
    let magnitude = Array2::ones(z.dim()) * &counts;
    let figures = Figures::near(&delta.read(compute)?, &want, &magnitude, &(local * &counts));
    Ok(figures.and(wanted.near_metrics(&metrics.read(compute)?, &z, 0.0)))
}
