//! The conversion of a row of numbers to the outputs of a network.

use super::super::outline::{Made, Member};
use super::graph::{Attribute, Graph};
use crate::model::{FREQUENCIES, MIXED};
use crate::step::Activation;

/// Adds the nodes of the network whose constants begin with `prefix`; returns the name of its outputs, [batch,
/// outputs].
pub(super) fn outputs(graph: &mut Graph, prefix: &str, member: &Member<'_>, row: &str) -> String {
    let mut x = input_layer(graph, prefix, member, row);
    let dense = member.network.dense().iter();
    for ((number, layer), dense) in (1..).zip(&member.parameters.layers).zip(dense) {
        let shape = [layer.inputs, layer.outputs];
        let weights = graph.weights(&format!("{prefix}layer{number}.weights"), &shape, &layer.weights);
        let bias = graph.weights(&format!("{prefix}layer{number}.bias"), &shape[1..], &layer.bias);
        let z = graph.add("Gemm", &[&x, &weights, &bias]);
        x = activation(graph, dense.activation, z);
    }
    x
}

/// y = f(z)
fn activation(graph: &mut Graph, activation: Activation, z: String) -> String {
    let alpha = |value| vec![Attribute::Float("alpha", value)];
    match activation {
        Activation::Identity => z,
        Activation::Relu => graph.add("Relu", &[&z]),
        Activation::LeakyRelu => graph.add_with("LeakyRelu", &[&z], alpha(0.01)),
        Activation::Elu => graph.add_with("Elu", &[&z], alpha(1.0)),
        Activation::Selu => {
            let factors = vec![Attribute::Float("alpha", 1.673_263_2), Attribute::Float("gamma", 1.050_701)];
            graph.add_with("Selu", &[&z], factors)
        }
        Activation::Tanh => graph.add("Tanh", &[&z]),
        Activation::Sigmoid => graph.add("Sigmoid", &[&z]),
        Activation::Silu => {
            let gate = graph.add("Sigmoid", &[&z]);
            graph.add("Mul", &[&z, &gate])
        }
        Activation::Mish => {
            let softplus = graph.add("Softplus", &[&z]);
            let gate = graph.add("Tanh", &[&softplus]);
            graph.add("Mul", &[&z, &gate])
        }
        // z (1 + erf(z / sqrt 2)) / 2.
        Activation::Gelu => {
            let (root, one, half) =
                (graph.float(std::f32::consts::FRAC_1_SQRT_2), graph.float(1.0), graph.float(0.5));
            let scaled = graph.add("Mul", &[&z, &root]);
            let erf = graph.add("Erf", &[&scaled]);
            let sum = graph.add("Add", &[&erf, &one]);
            let gate = graph.add("Mul", &[&sum, &half]);
            graph.add("Mul", &[&z, &gate])
        }
        // z sigmoid(2 u), which is z (1 + tanh(u)) / 2, with 2 u = 2 sqrt(2 / pi) z (1 + 0.044715 z^2).
        Activation::GeluTanh => {
            let (root, cube, one) = (graph.float(1.595_769_2), graph.float(0.044_715), graph.float(1.0));
            let square = graph.add("Mul", &[&z, &z]);
            let scaled = graph.add("Mul", &[&square, &cube]);
            let sum = graph.add("Add", &[&scaled, &one]);
            let product = graph.add("Mul", &[&z, &sum]);
            let twice_u = graph.add("Mul", &[&product, &root]);
            let gate = graph.add("Sigmoid", &[&twice_u]);
            graph.add("Mul", &[&z, &gate])
        }
    }
}

/// Adds the inputs of the first dense layer: the row itself if there is no input layer.
fn input_layer(graph: &mut Graph, prefix: &str, member: &Member<'_>, row: &str) -> String {
    let made = member.made();
    if made.is_empty() {
        return row.to_owned();
    }
    let (mut same, mut places, mut ones, mut codes, mut one_places) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut periodic = Waves::default();
    let mut pieces = Vec::new();
    for (placed, made) in &made {
        let (column, place) = (placed.number, placed.input);
        match made {
            Made::Number => {
                same.push(column);
                places.push(place);
            }
            Made::Periodic { frequencies, phases, mixing, bias } => {
                same.push(column);
                places.push(place);
                periodic.columns.push(column);
                periodic.places.extend(place + 1..=place + MIXED);
                periodic.frequencies.extend(*frequencies);
                periodic.phases.extend(*phases);
                // [mixtures, frequencies] as [frequencies, mixtures].
                let turned =
                    (0..FREQUENCIES).flat_map(|k| (0..MIXED).map(move |o| mixing[o * FREQUENCIES + k]));
                periodic.mixing.extend(turned);
                periodic.bias.extend(*bias);
            }
            Made::OneHot { categories } => {
                ones.extend(std::iter::repeat_n(column, *categories));
                codes.extend((0..*categories).map(|code| code as f32));
                one_places.extend(place..place + categories);
            }
            Made::Embedding { categories, size, rows } => {
                // An additional row of zeros for index -1, which counts from the end.
                let rows = [&rows[..], &vec![0.0; *size]].concat();
                let name = format!("{prefix}embedding{}", column + 1);
                let table = graph.weights(&name, &[categories + 1, *size], &rows);
                let number = graph.integers(&[column as i64]);
                let axis = |axis| vec![Attribute::Int("axis", axis)];
                let number = graph.add_with("Gather", &[row, &number], axis(1));
                let number = graph.cast(&number, super::proto::INT64);
                let found = graph.add_with("Gather", &[&table, &number], axis(0));
                let embedded = graph.add_with("Flatten", &[&found], axis(1));
                pieces.push((embedded, (place..place + size).collect()));
            }
        }
    }
    if !same.is_empty() {
        pieces.push((graph.select(row, &same, made.len()), places));
    }
    if !periodic.columns.is_empty() {
        let mixed = periodic.mixed(graph, prefix, row, made.len());
        pieces.push((mixed, periodic.places));
    }
    if !ones.is_empty() {
        let selected = graph.select(row, &ones, made.len());
        let codes = graph.floats(&[codes.len()], &codes);
        let is_it = graph.add("Equal", &[&selected, &codes]);
        pieces.push((graph.cast(&is_it, super::proto::FLOAT), one_places));
    }
    let x = graph.assemble(pieces);
    if member.scale().is_empty() {
        return x;
    }
    let scale = graph.weights(&format!("{prefix}input.scale"), &[member.scale().len()], member.scale());
    graph.add("Mul", &[&x, &scale])
}

/// The periodic columns of an input layer, one after the other.
#[derive(Default)]
struct Waves {
    columns: Vec<usize>,
    places: Vec<usize>,
    /// [columns, frequencies]
    frequencies: Vec<f32>,
    phases: Vec<f32>,
    /// [columns, frequencies, mixtures]
    mixing: Vec<f32>,
    /// [columns, mixtures]
    bias: Vec<f32>,
}

impl Waves {
    /// Adds the mixtures [batch, columns * mixtures] of the periodic columns of a row.
    fn mixed(&self, graph: &mut Graph, prefix: &str, row: &str, of: usize) -> String {
        let count = self.columns.len();
        let name = |part: &str| format!("{prefix}input.{part}");
        let shape = [count, FREQUENCIES];
        let frequencies = graph.weights(&name("frequencies"), &shape, &self.frequencies);
        let phases = graph.weights(&name("phases"), &shape, &self.phases);
        let mixing = graph.weights(&name("mixing"), &[count, FREQUENCIES, MIXED], &self.mixing);
        let bias = graph.weights(&name("bias"), &[count * MIXED], &self.bias);
        let (last, turn) = (graph.integers(&[2]), graph.float(std::f32::consts::TAU));
        let values = graph.select(row, &self.columns, of);
        let values = graph.add("Unsqueeze", &[&values, &last]);
        let turns = graph.add("Mul", &[&values, &frequencies]);
        let turns = graph.add("Add", &[&turns, &phases]);
        // Whole turns are subtracted exactly.
        let whole = graph.add("Round", &[&turns]);
        let rest = graph.add("Sub", &[&turns, &whole]);
        let angles = graph.add("Mul", &[&rest, &turn]);
        let waves = graph.add("Cos", &[&angles]);
        // One product of matrices [batch, frequencies] and [frequencies, mixtures] per column.
        let swap = || vec![Attribute::Ints("perm", vec![1, 0, 2])];
        let waves = graph.add_with("Transpose", &[&waves], swap());
        let mixed = graph.add("MatMul", &[&waves, &mixing]);
        let mixed = graph.add_with("Transpose", &[&mixed], swap());
        let flat = graph.add_with("Flatten", &[&mixed], vec![Attribute::Int("axis", 1)]);
        graph.add("Add", &[&flat, &bias])
    }
}
