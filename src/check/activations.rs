//! The kernels with an activation: each activation once, every second one with dropout.

use ndarray::{Array2, s};

use super::training::{parameters, run_kernel, with_ones};
use super::{Cases, Figures, random, wide};
use crate::error::Result;
use crate::kernels::{
    Activate, ActivateBackward, Compute, Forward, InputGradient, LayerInputs, Nonlinearity, StepRecord,
    Tensor, Vector, blocks, pad_rows, unpad_rows,
};
use crate::reference::{bounds, ops};
use crate::step::{Activation, Dropout};

/// Rows.
const ROWS: usize = 33;
/// Columns of what has an activation.
const COLUMNS: usize = 65;
/// What products add up.
const INNER: usize = 17;
/// The layer that has dropout, and the share that is left out.
const LAYER: usize = 1;
const SHARE: f32 = 0.3;

pub(super) fn run(cases: &mut Cases<'_>) {
    for (number, activation) in Activation::ALL.iter().copied().enumerate() {
        let it = Case { activation, dropout: Dropout::new(SHARE, LAYER).filter(|_| number % 2 == 1) };
        let name =
            if it.dropout.is_some() { format!("{activation} + dropout") } else { activation.to_string() };
        let plain = format!("{ROWS} x {COLUMNS}");
        cases.case(&format!("activate, activate_backward {name}"), &plain, |compute| it.elementwise(compute));
        let product = format!("{ROWS} x {INNER} x {COLUMNS}");
        cases.case(&format!("forward {name}"), &product, |compute| it.forward(compute));
        cases.case(&format!("input_gradient {name}"), &product, |compute| it.input_gradient(compute));
    }
}

#[derive(Clone, Copy)]
struct Case {
    activation: Activation,
    dropout: Option<Dropout>,
}

impl Case {
    fn nonlinearity(&self) -> Nonlinearity {
        Nonlinearity { activation: self.activation, dropout: self.dropout }
    }

    fn record(&self) -> StepRecord {
        StepRecord { step: 7, seed: [3, 0x9876_5432], ..StepRecord::all(ROWS) }
    }

    fn mask(&self) -> Array2<f64> {
        let dim = (ROWS, COLUMNS);
        match self.dropout {
            Some(_) => ops::dropout_mask(f64::from(SHARE), LAYER, dim, &self.record()),
            None => Array2::ones(dim),
        }
    }

    fn value(&self, z: &Array2<f64>) -> Array2<f64> {
        z.mapv(|z| ops::activation(self.activation, z)) * self.mask()
    }

    /// f(Z) M against the reference, where Z may be off by `of_z`.
    fn near_value(&self, got: &Array2<f32>, z: &Array2<f64>, of_z: &Array2<f64>) -> Figures {
        let want = self.value(z);
        let magnitude = want.mapv(|value| 1.0 + value.abs());
        Figures::near(got, &want, &magnitude, &bounds::activation(self.activation, z, of_z, &self.mask()))
    }

    /// dY M f'(Z) against the reference, where dY may be off by `of_dy`.
    fn near_gradient(&self, got: &Array2<f32>, [dy, z, of_dy]: [&Array2<f64>; 3]) -> Figures {
        let mask = self.mask();
        let want = dy * &z.mapv(|z| ops::activation_slope(self.activation, z)) * &mask;
        let bound = bounds::activation_gradient(self.activation, [dy, z, of_dy, &mask]);
        Figures::near(got, &want, &dy.mapv(|value| 1.0 + value.abs()), &bound)
    }

    /// What the backward pass reads: Y as f32 holds it, and Z.
    fn outputs(&self, z: &Array2<f32>) -> [Array2<f32>; 2] {
        [self.value(&wide(z)).mapv(|y| y as f32), z.clone()]
    }

    fn elementwise(&self, compute: &Compute) -> Result<Figures> {
        let (rows, columns, nonlinearity) = (ROWS, COLUMNS, self.nonlinearity());
        let (z, dy) = (random(rows, columns, 3) * 3.0, random(rows, columns, 4));
        let (on_z, on_dy) = (compute.matrix(&z)?, compute.matrix(&dy)?);
        let kernel = Activate { rows, columns, nonlinearity };
        let y = run_kernel(compute, &kernel, &[on_z.buffer()], self.record(), [rows, columns])?;
        let [kept_y, kept_z] = self.outputs(&z);
        let kept = compute.matrix(if nonlinearity.keeps_z() { &kept_z } else { &kept_y })?;
        let kernel = ActivateBackward { rows, columns, nonlinearity };
        let buffers = [kept.buffer(), on_dy.buffer()];
        let dz = run_kernel(compute, &kernel, &buffers, self.record(), [rows, columns])?;
        let (z, dy, exact) = (wide(&z), wide(&dy), Array2::zeros((rows, columns)));
        Ok(self.near_value(&y, &z, &exact).and(self.near_gradient(&dz, [&dy, &z, &exact])))
    }

    fn forward(&self, compute: &Compute) -> Result<Figures> {
        let (rows, inputs, outputs, nonlinearity) = (ROWS, INNER, COLUMNS, self.nonlinearity());
        let (x, p) = (random(rows, inputs, 6), parameters(inputs, outputs));
        let (on_x, on_p) = (compute.matrix(&x)?, compute.matrix(&p)?);
        let kernel = Forward { rows, inputs, outputs, offset: 0, nonlinearity, source: LayerInputs::Matrix };
        let words = rows * 4 * blocks(outputs);
        let copies = if nonlinearity.keeps_z() { 2 } else { 1 };
        let y = Vector::<f32>::output(compute, 1, copies * words)?;
        compute.run(&kernel, &[on_x.buffer(), on_p.buffer(), y.buffer()], self.record())?;
        let values = y.read(compute)?;
        let matrix = |copy: usize| {
            let values = unpad_rows(&values[copy * words..(copy + 1) * words], outputs);
            Array2::from_shape_vec((rows, outputs), values).unwrap_or_default()
        };
        let (x, p) = (wide(&with_ones(&x)), wide(&p));
        let (z, of_z) = (ops::matmul(x.view(), p.view()), bounds::matmul(x.view(), p.view()));
        let figures = self.near_value(&matrix(0), &z, &of_z);
        Ok(match nonlinearity.keeps_z() {
            true => figures.and(Figures::near(&matrix(1), &z, &z.mapv(|z| 1.0 + z.abs()), &of_z)),
            false => figures,
        })
    }

    fn input_gradient(&self, compute: &Compute) -> Result<Figures> {
        let (rows, inputs, outputs, nonlinearity) = (ROWS, COLUMNS, INNER, self.nonlinearity());
        let (dy, p, z) =
            (random(rows, outputs, 7), parameters(inputs, outputs), random(rows, inputs, 8) * 3.0);
        let (on_dy, on_p) = (compute.matrix(&dy)?, compute.matrix(&p)?);
        let flat = |matrix: Array2<f32>| pad_rows(&matrix.into_iter().collect::<Vec<_>>(), inputs);
        let on_h = compute.vector(&self.outputs(&z).map(flat).concat())?;
        let kernel = InputGradient { rows, inputs, outputs, offset: 0, below: Some(nonlinearity) };
        let buffers = [on_dy.buffer(), on_p.buffer(), on_h.buffer()];
        let dx = run_kernel(compute, &kernel, &buffers, self.record(), [rows, inputs])?;
        let (dy, w, z) = (wide(&dy), wide(&p.slice(s![..inputs, ..]).t().to_owned()), wide(&z));
        let (product, bound) = (ops::matmul(dy.view(), w.view()), bounds::matmul(dy.view(), w.view()));
        Ok(self.near_gradient(&dx, [&product, &z, &bound]))
    }
}
