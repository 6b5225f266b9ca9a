//! Bounds of the updates of parameters.

use super::{EPS, gradients_of};
use crate::model::{Network, Parameters};
use crate::reference::{ReferenceNetwork, ReferenceRun, ReferenceTargets, run};
use crate::step::{OptimizerKind, UpdateRule};

/// The results of step `step`, from 0, of a rule for a parameter and its two numbers of state, each with its bound for
/// an error `of_g` of the gradient: twice the change that this error causes, and some roundings at the size of the
/// summands. Plain gradient descent is linear and rounds less. `place`: a factor of the rate, and whether the parameter
/// is a bias.
pub fn optimize(
    rule: &UpdateRule,
    step: u64,
    place: (f64, bool),
    (p, g, of_g): (f64, f64, f64),
    state: [f64; 2],
) -> [[f64; 2]; 3] {
    let after = |g: f64| {
        let (p, state) = run::optimized(rule, step, place, (p, g), state);
        [p, state[0], state[1]]
    };
    let (times, units) = match rule.optimizer.kind {
        OptimizerKind::Sgd => (1.0, if rule.optimizer.weight_decay == 0.0 { 2.0 } else { 4.0 }),
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

/// Every number of a network after step `step`, from 0, with its two numbers of state, in the order of
/// [`ReferenceNetwork::numbers`], each with the bound of its error in an engine. `states` are the optimizer's states
/// before the step.
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
        // All gradients are scaled by the same number, whose error follows from the error of the norm.
        let norm_of_g = of_g.iter().map(|g| g * g).sum::<f64>().sqrt();
        let (scale, relative) = (clipped.norm() / plain, norm_of_g / plain + 1e-6);
        of_g.iter_mut().zip(&g).for_each(|(bound, g)| *bound = *bound * scale + relative * g.abs());
    }
    let states: Vec<Vec<f32>> = states.iter().map(|state| state.numbers().collect()).collect();
    let state = |place: usize, i: usize| states.get(place).map_or(0.0, |state| f64::from(state[i]));
    // An engine may add the products of a batch to the parameter itself: one rounding each, at the parameter's size.
    let roundings = targets.rows() as f64 / 2.0 * EPS;
    let numbers = run.network.numbers().zip(run.network.places(&rule.factors)).enumerate();
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
