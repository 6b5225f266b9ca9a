use ndarray::{Array2, Axis, s};
use tinytrain::kernels::{MOST_UPDATED, SumSquares, Tuning, Update, blocks, pad_rows, unpad_rows};
use tinytrain::model::ParameterLayout;
use tinytrain::step::UpdateRule;

use crate::lab::{Lab, everywhere, random};
use crate::optimized::{STEP, assert_row, optimized, rules, state};

/// Parameters, gradients and states of a layer, one matrix each, the bias below the weights.
struct Layer {
    p: Array2<f32>,
    g: Array2<f32>,
    states: Vec<Array2<f32>>,
}

fn flat(matrix: &Array2<f32>) -> Vec<f32> {
    pad_rows(&matrix.iter().copied().collect::<Vec<_>>(), matrix.ncols())
}

/// Updates all layers of a network of these sizes and compares every number.
fn check(lab: &Lab, tuning: &Tuning, rule: &UpdateRule, sizes: &[usize]) {
    let kind = rule.optimizer.kind;
    let layout = ParameterLayout::of_sizes(sizes).with_partials(3).with_states(kind.states());
    let layers: Vec<Layer> = sizes
        .windows(2)
        .zip(1..)
        .map(|(pair, stream)| {
            let (rows, columns) = (pair[0] + 1, pair[1]);
            let [p, g] = [stream, 1000 + stream].map(|stream| random(rows, columns, stream));
            Layer { p, g, states: state(kind, rows, columns) }
        })
        .collect();
    let mut before: Vec<f32> = layers.iter().flat_map(|layer| flat(&layer.p)).collect();
    let partials = vec![7.0f32; 4 * 3];
    before.extend(&partials);
    for number in 0..kind.states() {
        before.extend(layers.iter().flat_map(|layer| flat(&layer.states[number])));
    }
    let gradients: Vec<f32> = layers.iter().flat_map(|layer| flat(&layer.g)).collect();
    let output = lab.output(before.len());
    lab.context.queue.write_buffer(&output.buffer, 0, bytemuck::cast_slice(&before));
    let on_gradients = lab.upload(&gradients);
    let record = rule.record(STEP);
    let length = layout.weights();
    let clip = rule.clip_norm.map(|_| tuning.row_groups(length));
    let squares = lab.output(clip.unwrap_or(0));
    let mut buffers = vec![&on_gradients];
    if clip.is_some() {
        lab.run(&SumSquares { length }, tuning, &[&on_gradients, &squares.buffer], record);
        buffers.push(&squares.buffer);
    }
    buffers.push(&output.buffer);
    let kernels = Update::all(rule, &layout, clip);
    assert_eq!(kernels.len(), (sizes.len() - 1).div_ceil(MOST_UPDATED));
    for kernel in &kernels {
        lab.run(kernel, tuning, &buffers, record);
    }

    let after = lab.floats(&output);
    assert_eq!(after[4 * length..][..partials.len()], partials, "wrote between parameters and state");
    let norm = gradients.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
    let scale = rule.clip_norm.map_or(1.0, |clip| (f64::from(clip) / (norm + 1e-6)).min(1.0));
    for (number, (layer, place)) in layers.iter().zip(layout.layers()).enumerate() {
        let (rows, columns) = layer.p.dim();
        let matrix = |start: usize| {
            let padded = &after[4 * start..][..4 * rows * blocks(columns)];
            let padding = padded.iter().enumerate().filter(|(i, _)| i % (4 * blocks(columns)) >= columns);
            assert!(padding.into_iter().all(|(_, value)| *value == 0.0), "the padding is not 0");
            Array2::from_shape_vec((rows, columns), unpad_rows(padded, columns)).unwrap()
        };
        let regions = (0..kind.states()).map(|number| layout.state_distance() + number * length);
        let got: Vec<Array2<f32>> =
            [0].into_iter().chain(regions).map(|start| matrix(start + place.offset)).collect();
        for row in 0..rows {
            let bias = usize::from(row == rows - 1);
            let want: Vec<_> = (0..columns)
                .map(|column| {
                    let at = [row, column];
                    let g = f64::from(layer.g[at]) * scale;
                    // The relative rounding error of the sum of squares is halved by its root.
                    let bound =
                        if rule.clip_norm.is_some() { 30.0 * f64::from(f32::EPSILON) * g.abs() } else { 0.0 };
                    let state = [0, 1].map(|n| layer.states.get(n).map_or(0.0, |state| f64::from(state[at])));
                    optimized(rule, [number, bias], (f64::from(layer.p[at]), g, bound), state)
                })
                .collect();
            let got: Vec<_> = got.iter().map(|matrix| matrix.slice(s![row, ..]).to_owned()).collect();
            assert_row(&format!("{kind}, layer {number}, row {row}, clip {clip:?}"), &got, &want);
        }
        assert_eq!(got[0].len_of(Axis(0)), rows);
    }
}

#[test]
fn every_optimizer_updates_parameters_and_state() {
    everywhere(|lab, tuning| {
        for rule in rules() {
            check(lab, tuning, &rule, &[3, 17, 5, 65]);
        }
    });
}

#[test]
fn gradients_are_clipped_to_their_norm() {
    everywhere(|lab, tuning| {
        // The norm is about 36: clipped, and below the limit.
        for (rule, clip) in rules().into_iter().zip([0.5, 100.0].into_iter().cycle()) {
            check(lab, tuning, &UpdateRule { clip_norm: Some(clip), ..rule }, &[3, 17, 5, 65]);
        }
        // Every workgroup of the sum has some of the gradients.
        check(lab, tuning, &UpdateRule { clip_norm: Some(0.5), ..UpdateRule::sgd(0.1) }, &[257, 255]);
    });
}

/// More layers than one dispatch supports.
#[test]
fn many_layers() {
    everywhere(|lab, tuning| {
        for rule in rules().into_iter().take(2) {
            check(lab, tuning, &rule, &[3; MOST_UPDATED + 8]);
        }
    });
}
