use ndarray::Array2;
use tinytrain::kernels::{Embed, MOST_COLUMNS, StepRecord, Tuning};
use tinytrain::model::{
    InputColumn, InputLayer, InputLayout, InputParameters, Network, ParameterLayout, Parameters,
};
use tinytrain::reference::{ReferenceInput, bounds};

use crate::lab::{Lab, assert_close, everywhere, random, wide};

/// An input layer with its parameters on a device, after a dense layer's parameters, and rows for it.
pub struct Problem {
    pub layer: InputLayer,
    pub layout: ParameterLayout,
    pub parameters: Parameters,
    /// [rows, columns]
    pub rows: Array2<f32>,
}

impl Problem {
    /// Creates a problem of this number of columns, of each kind in turn, and rows, including unknown
    /// categories.
    pub fn new(columns: usize, rows: usize, scaled: bool) -> Self {
        let kinds = [
            InputColumn::Periodic,
            InputColumn::Embedding { categories: 5, size: 6 },
            InputColumn::Number,
            InputColumn::OneHot { categories: 3 },
            InputColumn::Embedding { categories: 70, size: 1 },
        ];
        let columns: Vec<InputColumn> = kinds.into_iter().cycle().take(columns).collect();
        let layer = InputLayer::new(columns.clone(), scaled).unwrap();
        let network =
            Network::classifier(&[layer.inputs(), 3]).unwrap().with_input_layer(layer.clone()).unwrap();
        let layout = ParameterLayout::new(&network);
        let mut parameters = Parameters::he_normal(&network, 4);
        let scale = random(1, layer.inputs(), 5);
        parameters.input.as_mut().unwrap().scale.iter_mut().zip(&scale).for_each(|(to, by)| *to += 0.5 * by);
        let numbers = random(rows, columns.len(), 6);
        let value = |(row, column): (usize, usize)| match columns[column] {
            InputColumn::OneHot { categories } | InputColumn::Embedding { categories, .. } => {
                ((7 * row + column) % (categories + 2)) as f32 - 1.0
            }
            _ => 3.0 * numbers[[row, column]],
        };
        let rows = Array2::from_shape_fn((rows, columns.len()), value);
        Self { layer, layout, parameters, rows }
    }

    pub fn input(&self) -> (InputLayout, &InputParameters) {
        (self.layout.input().unwrap(), self.parameters.input.as_ref().unwrap())
    }

    pub fn reference(&self) -> ReferenceInput {
        ReferenceInput::new(&self.layer, self.input().1)
    }
}

fn check(lab: &Lab, tuning: &Tuning, columns: usize, rows: usize, scaled: bool) {
    let problem = Problem::new(columns, rows, scaled);
    let (layout, _) = problem.input();
    let (inputs, capacity) = (problem.layer.inputs(), rows + 2);
    let on_rows = lab.matrix(&problem.rows);
    let on_parameters = lab.upload(&problem.layout.pack(&problem.parameters));
    let x = lab.output_matrix(if scaled { capacity + rows } else { rows }, inputs);
    let kernels = Embed::all(capacity, &problem.layer, layout);
    assert_eq!(kernels.len(), columns.div_ceil(MOST_COLUMNS));
    if scaled {
        // The values between X and E, left by the last batch, and padding of E are undefined.
        lab.context.queue.write_buffer(&x.buffer, 0, &vec![0; 16 * (capacity + rows) * inputs.div_ceil(4)]);
    }
    for kernel in &kernels {
        let record = StepRecord { rows: rows as u32, ..StepRecord::default() };
        lab.run(kernel, tuning, &[&on_rows, &on_parameters, &x.buffer], record);
    }
    let reference = problem.reference();
    let values = wide(&problem.rows);
    let embedded = reference.embedded(values.view());
    let [of_embedded, of_x] = bounds::inputs(&reference, &values);
    let what = format!("embed {rows} x {columns} {scaled}");
    let got = lab.read(&x, if scaled { capacity + rows } else { rows }, inputs);
    let part = |from: usize| got.slice(ndarray::s![from..from + rows, ..]).to_owned();
    assert_close(&what, lab, &part(0), &reference.scaled(&embedded), &of_x);
    if scaled {
        assert_close(&format!("{what}, E"), lab, &part(capacity), &embedded, &of_embedded);
    }
}

#[test]
fn columns_become_inputs() {
    everywhere(|lab, tuning| {
        for (columns, rows) in [(1, 1), (2, 3), (5, 17), (7, 65), (MOST_COLUMNS + 12, 9)] {
            for scaled in [false, true] {
                check(lab, tuning, columns, rows, scaled);
            }
        }
    });
}
