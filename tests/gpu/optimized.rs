//! Parameters with their optimizer state after an update, against the reference.

use ndarray::{Array1, Array2};
use tinytrain::reference::ops;
use tinytrain::step::{OptimizerKind, RateFactors, Rates, UpdateRule};

use crate::lab::random;

const EPS: f64 = f32::EPSILON as f64;
/// The step whose update it is, from 0.
pub const STEP: u64 = 2;

/// Every optimizer with weight decay and with factors of the learning rate, and plain gradient descent.
pub fn rules() -> Vec<UpdateRule> {
    let rule = |kind: &OptimizerKind| {
        let mut optimizer = kind.defaults();
        optimizer.weight_decay = 0.1;
        // RMSprop with momentum too.
        optimizer.beta1 = if *kind == OptimizerKind::RmsProp { 0.5 } else { optimizer.beta1 };
        let factors = RateFactors { weights: 1.0, biases: 2.0, layers: vec![1.0, 0.5] };
        UpdateRule { optimizer, factors, rates: Rates::constant(0.3), ..UpdateRule::sgd(0.3) }
    };
    OptimizerKind::ALL.iter().map(rule).chain([UpdateRule::sgd(0.3)]).collect()
}

/// Numbers of state as large as those of an optimizer that has run for a while; means of squares are above 0.
pub fn state(kind: OptimizerKind, rows: usize, columns: usize) -> Vec<Array2<f32>> {
    let second = |values: Array2<f32>| values.mapv(|value| 0.05 + value * value);
    let state = |number: usize| {
        let values = random(rows, columns, 70 + number as u32);
        if number == 1 { second(values) } else { values }
    };
    (0..kind.states()).map(state).collect()
}

/// A parameter and its state after the update, and how far each may be off where the gradient is off by `bound`: as far as
/// that moves the reference, twice, and some roundings at the size of what is added up.
pub fn optimized(
    rule: &UpdateRule,
    [layer, bias]: [usize; 2],
    (p, g, bound): (f64, f64, f64),
    state: [f64; 2],
) -> [[f64; 2]; 3] {
    let rate = f64::from(rule.rates.at(STEP)) * f64::from(rule.factors.of(layer)[bias]);
    let decays = bias == 0 || ops::decays_biases(rule.optimizer.kind);
    let decay = if decays { f64::from(rule.optimizer.weight_decay) } else { 0.0 };
    let after = |g: f64| {
        let (p, state) = ops::optimize(&rule.optimizer, (p, g), state, [rate, decay], STEP + 1);
        [p, state[0], state[1]]
    };
    let [want, above, below] = [g, g + bound, g - bound].map(after);
    let sizes = [p.abs() + (want[0] - p).abs(), g.abs() + p.abs() + state[0].abs(), g * g + p * p + state[1]];
    [0, 1, 2].map(|place| {
        let moved = (above[place] - want[place]).abs().max((below[place] - want[place]).abs());
        [want[place], 2.0 * moved + 16.0 * EPS * sizes[place]]
    })
}

/// Fails with the first number of a row that is off.
pub fn assert_row(what: &str, got: &[Array1<f32>], want: &[[[f64; 2]; 3]]) {
    for (place, got) in got.iter().enumerate() {
        for (column, (got, want)) in got.iter().zip(want).enumerate() {
            let [want, bound] = want[place];
            let error = (f64::from(*got) - want).abs();
            // Written so that NaN fails.
            assert!(
                error <= bound,
                "{what}, column {column}, number {place}: {got}, not {want} within {bound}"
            );
        }
    }
}
