//! Of the updates of parameters.

use super::{EPS, gradients_of};
use crate::model::{Network, Parameters};
use crate::reference::{ReferenceNetwork, ReferenceRun, ReferenceTargets, ops};
use crate::step::{OptimizerKind, RateFactors, UpdateRule};

/// What step `step`, from 0, of a rule makes of a parameter and its two numbers of state, and how far each may be off where the
/// gradient is off by `of_g`: twice as far as that moves it, and some roundings at the size of what is added up. Plain gradient
/// descent is linear and rounds less. The rate is multiplied by `factor`; it may be a bias.
pub fn optimize(
    rule: &UpdateRule,
    step: u64,
    (factor, is_bias): (f32, bool),
    (p, g, of_g): (f64, f64, f64),
    state: [f64; 2],
) -> [[f64; 2]; 3] {
    let kind = rule.optimizer.kind;
    let decays = !is_bias || ops::decays_biases(kind);
    let decay = if decays { rule.optimizer.weight_decay } else { 0.0 };
    let settings = [rule.rates.at(step) * factor, decay].map(f64::from);
    let after = |g: f64| {
        let (p, state) = ops::optimize(&rule.optimizer, (p, g), state, settings, step + 1);
        [p, state[0], state[1]]
    };
    let (times, units) = match kind {
        OptimizerKind::Sgd => (1.0, if decay == 0.0 { 2.0 } else { 4.0 }),
        _ => (2.0, 16.0),
    };
    let [want, above, below] = [g, g + of_g, g - of_g].map(after);
    let linear = g.abs() + p.abs() + state[0].abs();
    let sizes = [p.abs() + (want[0] - p).abs(), linear + want[1].abs(), g * g + p * p + state[1]];
    [0, 1, 2].map(|place| {
        let moved = (above[place] - want[place]).abs().max((below[place] - want[place]).abs());
        [want[place], times * moved + units * EPS * sizes[place]]
    })
}

/// Every number of a network behind step `step`, from 0, with its two numbers of state, in the order of
/// [`ReferenceNetwork::numbers`], and how far each may be off in an engine. `states` are those of the optimizer before.
pub fn step(
    network: &Network,
    rule: &UpdateRule,
    (parameters, states): (&Parameters, &[Parameters]),
    (x, targets): (&ndarray::Array2<f64>, ReferenceTargets<'_>),
    step: u64,
) -> Vec<[[f64; 2]; 3]> {
    let run = ReferenceRun::new(ReferenceNetwork::new(network, parameters), rule.clone());
    let smoothed = targets.smoothed(f64::from(rule.label_smoothing));
    let pass = run.network.pass(x.view(), Some(&rule.record(step)));
    let mut of_g: Vec<f64> = gradients_of(&run.network, &pass, &smoothed).numbers().collect();
    let plain = run.network.gradients_of(&pass, &smoothed).norm().max(f64::MIN_POSITIVE);
    let clipped = run.gradients(x.view(), targets, step);
    let g: Vec<f64> = clipped.numbers().collect();
    if rule.clip_norm.is_some() {
        // All are scaled by the same number, which is off as the norm is.
        let norm_of_g = of_g.iter().map(|g| g * g).sum::<f64>().sqrt();
        let (scale, relative) = (clipped.norm() / plain, norm_of_g / plain + 1e-6);
        of_g.iter_mut().zip(&g).for_each(|(bound, g)| *bound = *bound * scale + relative * g.abs());
    }
    let states: Vec<Vec<f32>> = states.iter().map(|state| state.numbers().collect()).collect();
    let state = |place: usize, i: usize| states.get(place).map_or(0.0, |state| f64::from(state[i]));
    // An engine may add the products of a batch to the parameter itself: a rounding each, at its size.
    let roundings = targets.rows() as f64 / 2.0 * EPS;
    let numbers = run.network.numbers().zip(places(network, &rule.factors)).enumerate();
    let updated = numbers.map(|(i, (before, place))| {
        let state = [state(0, i), state(1, i)];
        let mut all = optimize(rule, step, place, (before, g[i], of_g[i]), state);
        for ([_, bound], size) in all.iter_mut().zip([before, state[0], state[1]]) {
            *bound += roundings * size.abs().max(before.abs());
        }
        all
    });
    updated.collect()
}

/// For each number of a network: the factor of its rate, and whether it is of a bias, as those of inputs are.
fn places(network: &Network, factors: &RateFactors) -> Vec<(f32, bool)> {
    let of = |[weights, biases]: [f32; 2], lengths: [usize; 2]| {
        [vec![(weights, false); lengths[0]], vec![(biases, true); lengths[1]]].concat()
    };
    let layers = network.layers().enumerate();
    let dense =
        layers.flat_map(|(layer, (inputs, outputs))| of(factors.of(layer), [inputs * outputs, outputs]));
    let input = network.input_layer().into_iter();
    let input = input.flat_map(|layer| of(factors.of_input(), [4 * layer.weights(), layer.scales()]));
    dense.chain(input).collect()
}
