//! Kernels of an input layer: forward, and gradients that are stored or applied.

use ndarray::{Array2, Axis};

use super::training::rule;
use super::{Cases, Figures, random, wide};
use crate::error::{Error, Result};
use crate::kernels::{
    Compute, Embed, EmbedGradient, Kernel, LayerUpdate, Matrix, ScaleGradient, StepRecord, Tensor, Vector,
    blocks,
};
use crate::model::{InputColumn, InputLayer, InputLayout, Network, ParameterLayout, Parameters};
use crate::reference::{ReferenceInput, bounds};
use crate::step::{OptimizerKind, UpdateRule};

const ROWS: usize = 33;

/// An input layer with its parameters, and rows for it, some with unknown categories.
struct Problem {
    layer: InputLayer,
    layout: ParameterLayout,
    place: InputLayout,
    parameters: Parameters,
    reference: ReferenceInput,
    rows: Array2<f32>,
}

impl Problem {
    fn new() -> Result<Self> {
        let columns = vec![
            InputColumn::Periodic,
            InputColumn::Embedding { categories: 9, size: 6 },
            InputColumn::Number,
            InputColumn::OneHot { categories: 3 },
            InputColumn::Periodic,
        ];
        let values = random(ROWS, columns.len(), 60);
        let rows = Array2::from_shape_fn(values.dim(), |(row, column)| match columns[column] {
            InputColumn::OneHot { categories } | InputColumn::Embedding { categories, .. } => {
                (row % (categories + 2)) as f32 - 1.0
            }
            _ => values[[row, column]],
        });
        let layer = InputLayer::new(columns, true)?;
        let network = Network::classifier(&[layer.inputs(), 2])?.with_input_layer(layer.clone())?;
        let layout = ParameterLayout::new(&network);
        let mut parameters = Parameters::he_normal(&network, 4);
        let scale = random(1, layer.inputs(), 61);
        let (Some(place), Some(input)) = (layout.input(), parameters.input.as_mut()) else {
            return Err(Error::Config("a network without an input layer".to_owned()));
        };
        input.scale.iter_mut().zip(&scale).for_each(|(to, by)| *to += 0.3 * by);
        let reference = ReferenceInput::new(&layer, input);
        Ok(Self { layer, layout, place, parameters, reference, rows })
    }

    /// Returns the parameters followed by zeros for `states` numbers of state.
    fn packed(&self, states: usize) -> Vec<f32> {
        let mut packed = self.layout.pack(&self.parameters);
        packed.resize((1 + states) * packed.len(), 0.0);
        packed
    }
}

pub(super) fn run(cases: &mut Cases<'_>) {
    let text = format!("{ROWS} x 5 -> 18");
    cases.case("embed + scale", &text, embed);
    cases.case("embed_gradient", &text, |compute| gradient(compute, None));
    cases.case("scale_gradient", &text, |compute| scale_gradient(compute, None));
    let rule = rule(OptimizerKind::Adam);
    cases.case("embed_gradient + adam", &text, |compute| gradient(compute, Some(&rule)));
    cases.case("scale_gradient + adam", &text, |compute| scale_gradient(compute, Some(&rule)));
}

fn embed(compute: &Compute) -> Result<Figures> {
    let problem = Problem::new()?;
    let inputs = problem.layer.inputs();
    let x = Matrix::output(compute, 2 * ROWS, inputs)?;
    let (on_rows, on_parameters) = (compute.matrix(&problem.rows)?, compute.vector(&problem.packed(0))?);
    // Kernels do not write the padding after the inputs of a row of E.
    compute.context.queue.write_buffer(x.buffer(), 0, &vec![0; 2 * ROWS * 16 * blocks(inputs)]);
    for kernel in Embed::all(ROWS, &problem.layer, problem.place) {
        let buffers = [on_rows.buffer(), on_parameters.buffer(), x.buffer()];
        compute.run(&kernel, &buffers, StepRecord::all(ROWS))?;
    }
    let rows = wide(&problem.rows);
    let e = problem.reference.embedded(rows.view());
    let [of_e, of_x] = bounds::inputs(&problem.reference, &rows);
    let stacked = |a: &Array2<f64>, b: &Array2<f64>| ndarray::concatenate![Axis(0), *a, *b];
    let want = stacked(&problem.reference.scaled(&e), &e);
    let magnitude = want.mapv(|value| value.abs().max(1.0));
    Ok(Figures::near(&x.read(compute)?, &want, &magnitude, &stacked(&of_x, &of_e)))
}

/// Runs kernels whose last binding is for gradients or updated parameters, and compares the numbers from
/// `start` on.
fn compared<K: Kernel>(
    compute: &Compute,
    problem: &Problem,
    rule: Option<&UpdateRule>,
    (kernels, before): (Vec<K>, &[&wgpu::Buffer]),
    (start, is_bias): (usize, bool),
    (g, of_g): (&[f64], &[f64]),
) -> Result<Figures> {
    let states = rule.map_or(0, |rule| rule.optimizer.kind.states());
    let packed = problem.packed(states);
    let result: Vector<f32> = compute.vector(&packed)?;
    let record = rule.map_or(StepRecord::default(), |rule| rule.record(0));
    for kernel in kernels {
        let record = StepRecord { rows: ROWS as u32, ..record };
        compute.run(&kernel, &[before, &[result.buffer()]].concat(), record)?;
    }
    let got = result.read(compute)?;
    let mut figures = Figures::default();
    for (i, (g, of_g)) in g.iter().zip(of_g).enumerate() {
        let parameter = f64::from(packed[start + i]);
        let wanted = rule.map_or([[*g, *of_g]; 3], |rule| {
            let place = (f64::from(rule.factors.for_input_layer()[usize::from(is_bias)]), is_bias);
            bounds::optimize(rule, 0, place, (parameter, *g, *of_g), [0.0; 2])
        });
        for (place, [want, bound]) in wanted.into_iter().take(1 + states).enumerate() {
            let got = got[place * packed.len() / (1 + states) + start + i];
            figures.push(got, want, want.abs() + parameter.abs() + g.abs(), bound);
        }
    }
    Ok(figures)
}

fn updates(problem: &Problem, rule: Option<&UpdateRule>) -> Option<LayerUpdate> {
    let with_states = |rule: &UpdateRule| problem.layout.clone().with_states(rule.optimizer.kind.states());
    rule.map(|rule| LayerUpdate::for_input_layer(rule, &with_states(rule)))
}

fn gradient(compute: &Compute, rule: Option<&UpdateRule>) -> Result<Figures> {
    let problem = Problem::new()?;
    let dx = random(ROWS, problem.layer.inputs(), 62);
    let (on_rows, on_dx) = (compute.matrix(&problem.rows)?, compute.matrix(&dx)?);
    let on_parameters: Vector<f32> = compute.vector(&problem.packed(0))?;
    let kernels = EmbedGradient::all(ROWS, &problem.layer, problem.place, updates(&problem, rule));
    let mut buffers = vec![on_rows.buffer(), on_dx.buffer()];
    if rule.is_none() {
        buffers.push(on_parameters.buffer());
    }
    let (rows, dx) = (wide(&problem.rows), wide(&dx));
    let e = problem.reference.embedded(rows.view());
    let g = problem.reference.gradients(rows.view(), &e, &dx);
    let of_g = bounds::input_gradients(&problem.reference, &rows, &dx);
    let start = (4 * problem.place.offset, false);
    compared(compute, &problem, rule, (kernels, &buffers), start, (&g.weights, &of_g.weights))
}

fn scale_gradient(compute: &Compute, rule: Option<&UpdateRule>) -> Result<Figures> {
    let problem = Problem::new()?;
    let inputs = problem.layer.inputs();
    let (x, dx) = (random(2 * ROWS, inputs, 63), random(ROWS, inputs, 64));
    let (on_x, on_dx) = (compute.matrix(&x)?, compute.matrix(&dx)?);
    let offset = problem.place.scale();
    let kernel = ScaleGradient { rows: ROWS, inputs, offset, update: updates(&problem, rule) };
    let products = wide(&x.slice(ndarray::s![ROWS.., ..]).to_owned()) * wide(&dx);
    let g = products.sum_axis(Axis(0)).to_vec();
    let units = (ROWS as f64 + 2.0) * f64::from(f32::EPSILON);
    let of_g = (products.mapv(f64::abs).sum_axis(Axis(0)) * units).to_vec();
    let buffers = [on_x.buffer(), on_dx.buffer()];
    compared(compute, &problem, rule, (vec![kernel], &buffers), (4 * offset, true), (&g, &of_g))
}
