//! Gradients: the reference compared with central differences, then every engine with the reference.

#[path = "support/bounds.rs"]
mod bounds;
mod support;

use bounds::{assert_within, inputs};
use ndarray::Array2;
use support::{engines, noise, sparse_bytes};
use tinytrain::engine::EngineOptions;
use tinytrain::engine::block;
use tinytrain::model::{Network, Parameters};
use tinytrain::reference::{ReferenceNetwork, bounds::gradients as gradient_bounds};

/// Returns the smallest distance of a hidden pre-activation from the kink of its ReLU.
fn distance_from_kinks(reference: &ReferenceNetwork, x: &Array2<f64>) -> f64 {
    let mut smallest = f64::INFINITY;
    let mut input = x.clone();
    for (w, b) in reference.weights.iter().zip(&reference.biases).take(reference.weights.len() - 1) {
        let z = tinytrain::reference::ops::forward(input.view(), w.view(), b.view());
        smallest = z.fold(smallest, |a, z| a.min(z.abs()));
        input = tinytrain::reference::ops::relu(z.view());
    }
    smallest
}

/// Returns parameters with nonzero biases.
fn parameters(network: &Network, seed: u64) -> Parameters {
    let mut parameters = Parameters::he_normal(network, seed);
    for (layer, place) in parameters.layers.iter_mut().zip(0u32..) {
        for (b, i) in layer.bias.iter_mut().zip(0u32..) {
            *b = 0.1 * ((i + 3 * place) % 7) as f32 - 0.25;
        }
    }
    parameters
}

#[test]
fn the_reference_agrees_with_central_differences() {
    let network = Network::classifier(&[7, 6, 5, 4]).unwrap();
    let reference = ReferenceNetwork::new(&network, &parameters(&network, 5));
    let (x, targets) = inputs(&noise(9, 7, 4, 6));
    let step = 1e-5;
    // No step crosses a kink: a step of 1e-5 moves no pre-activation by more than 1e-3.
    assert!(distance_from_kinks(&reference, &x) > 1e-3);
    let gradients = reference.gradients(x.view(), &targets);
    let mut checked = 0;
    for layer in 0..3 {
        let (rows, columns) = reference.weights[layer].dim();
        for i in 0..=rows {
            for j in 0..columns {
                let loss = |change: f64| {
                    let mut moved = reference.clone();
                    if i < rows {
                        moved.weights[layer][[i, j]] += change;
                    } else {
                        moved.biases[layer][j] += change;
                    }
                    moved.loss(x.view(), &targets)
                };
                let slope = (loss(step) - loss(-step)) / (2.0 * step);
                let gradient =
                    if i < rows { gradients.weights[layer][[i, j]] } else { gradients.biases[layer][j] };
                // Truncation step^2 f''' / 6 and cancellation 1e-16 / step, with some margin.
                assert!(
                    (slope - gradient).abs() < 1e-8,
                    "layer {layer} ({i}, {j}): {gradient}, slope {slope}"
                );
                checked += 1;
            }
        }
    }
    assert_eq!(checked, network.parameter_count());
}

#[test]
fn every_engine_agrees_with_the_reference() {
    // StepRecord of 1, one class, one hidden unit, odd sizes, MNIST's shape.
    let shapes: [(&[usize], usize); 7] = [
        (&[7, 6, 5, 4], 9),
        (&[17, 63, 65, 3], 33),
        (&[3, 1, 2], 5),
        (&[5, 4, 1], 3),
        (&[13, 4], 8),
        (&[257, 33, 17, 10], 1),
        (&[784, 300, 100, 10], 64),
    ];
    for (name, make) in engines() {
        for (sizes, rows) in shapes {
            let network = Network::classifier(sizes).unwrap();
            let parameters = parameters(&network, 2);
            for data in [noise, sparse_bytes].map(|make| make(rows, network.inputs(), network.outputs(), 3)) {
                let (x, targets) = inputs(&data);
                let reference = ReferenceNetwork::new(&network, &parameters);
                // Otherwise a rounding might flip a ReLU, and both results would be right.
                assert!(distance_from_kinks(&reference, &x) > 1e-7);
                let options = EngineOptions::sgd(rows + 3, 0.1);
                let gradients = block(make(&parameters, &network, &options).gradients(&data.view())).unwrap();
                assert_within(
                    &format!("gradients of {network} on {name}"),
                    &gradients,
                    &reference.gradients(x.view(), &targets),
                    &gradient_bounds(&reference, &x, &targets),
                );
            }
        }
    }
}
