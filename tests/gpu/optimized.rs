//! Parameters with their optimizer state after an update, compared with the reference.

use ndarray::{Array1, Array2};
use tinytrain::reference::bounds;
use tinytrain::step::{OptimizerKind, RateFactors, Rates, UpdateRule};

use crate::lab::random;

/// Step of the update, counted from 0.
pub const STEP: u64 = 2;

/// Returns every optimizer with weight decay and with factors of the learning rate, and plain gradient
/// descent.
pub fn rules() -> Vec<UpdateRule> {
    let rule = |kind: &OptimizerKind| {
        let mut optimizer = kind.defaults();
        optimizer.weight_decay = 0.1;
        // RMSprop with momentum too.
        optimizer.beta1 = if *kind == OptimizerKind::RmsProp { 0.5 } else { optimizer.beta1 };
        let (layers, embeddings, scale) = (vec![1.0, 0.5], 0.5, 3.0);
        let factors = RateFactors { biases: 2.0, layers, embeddings, scale, ..RateFactors::default() };
        UpdateRule { optimizer, factors, rates: Rates::constant(0.3), ..UpdateRule::sgd(0.3) }
    };
    OptimizerKind::ALL.iter().map(rule).chain([UpdateRule::sgd(0.3)]).collect()
}

/// Returns state of the size of an optimizer's after some steps; means of squares are above 0.
pub fn state(kind: OptimizerKind, rows: usize, columns: usize) -> Vec<Array2<f32>> {
    let second = |values: Array2<f32>| values.mapv(|value| 0.05 + value * value);
    let state = |number: usize| {
        let values = random(rows, columns, 70 + number as u32);
        if number == 1 { second(values) } else { values }
    };
    (0..kind.states()).map(state).collect()
}

/// Returns a parameter and its state after the update, with their bounds if the gradient is off by `bound`.
pub fn optimized(
    rule: &UpdateRule,
    [layer, bias]: [usize; 2],
    parameter: (f64, f64, f64),
    state: [f64; 2],
) -> [[f64; 2]; 3] {
    bounds::optimize(rule, STEP, (rule.factors.for_layer(layer)[bias].into(), bias == 1), parameter, state)
}

/// Returns the same for a weight of an input layer, or a scaling factor of an input, which is updated like a
/// bias.
pub fn optimized_input(
    rule: &UpdateRule,
    bias: usize,
    parameter: (f64, f64, f64),
    state: [f64; 2],
) -> [[f64; 2]; 3] {
    bounds::optimize(rule, STEP, (rule.factors.for_input_layer()[bias].into(), bias == 1), parameter, state)
}

/// Fails at the first number of a row that is off.
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
