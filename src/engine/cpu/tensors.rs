//! Parameters of a layer that one part owns, with their gradients and optimizer state.

use super::aligned::Aligned;
use crate::step::{StepRecord, Tile, UpdateRule};
use crate::vectors::vectorized_loops;

/// Parameters updated together: few enough that they stay in the nearest cache with their gradients and
/// state.
const CHUNK: usize = 1 << 11;

/// Some weights and biases of a layer, or corresponding numbers such as their gradients.
#[derive(Debug, Clone, Default)]
pub struct Tensors {
    /// Weights in the order chosen by the part's owner.
    pub weights: Aligned,
    /// Biases.
    pub bias: Vec<f32>,
}

/// Parameters, their gradients if these are kept, and the optimizer's state.
pub struct Owned {
    /// The parameters.
    pub values: Tensors,
    /// Gradients of this step, 0 between steps; empty if plain gradient descent adds its updates to the
    /// parameters.
    pub gradients: Tensors,
    /// The optimizer's state; unused tensors are empty.
    pub states: [Tensors; 2],
}

impl Tensors {
    /// Returns zeros of the same shape.
    pub fn zeros(&self) -> Self {
        Self { weights: Aligned::zeros(self.weights.len()), bias: vec![0.0; self.bias.len()] }
    }

    /// Adds tensors of the same shape.
    pub fn add(&mut self, others: &Self) {
        let pairs = self.weights.iter_mut().zip(&*others.weights);
        pairs.chain(self.bias.iter_mut().zip(&others.bias)).for_each(|(to, other)| *to += other);
    }

    /// Returns the sum of the squares of all numbers.
    pub fn sum_of_squares(&self) -> f64 {
        sum_of_squares(&self.weights) + sum_of_squares(&self.bias)
    }
}

/// Sums in eight independent sums, so that the order is fixed and none waits for another.
fn sum_of_squares(values: &[f32]) -> f64 {
    let square = |value: f32| f64::from(value) * f64::from(value);
    let (eights, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    vectorized_loops!({
        for eight in eights {
            for (sum, value) in sums.iter_mut().zip(eight) {
                *sum += square(*value);
            }
        }
    });
    sums.into_iter().chain(rest.iter().copied().map(square)).sum()
}

impl Owned {
    /// Creates the parameters with the state that the rule needs, `states` or else zeros, and with room for
    /// gradients, which plain gradient descent does not keep.
    pub fn new(values: Tensors, rule: &UpdateRule, states: impl IntoIterator<Item = Tensors>) -> Self {
        let gradients = if rule.is_plain_sgd() { Tensors::default() } else { values.zeros() };
        let (mut given, mut states) = (states.into_iter(), <[Tensors; 2]>::default());
        for state in &mut states[..rule.optimizer.kind.states()] {
            *state = given.next().unwrap_or_else(|| values.zeros());
        }
        Self { values, gradients, states }
    }

    /// Updates parameters and their state from `scale` times the stored gradients, and sets these to 0;
    /// `factors` scale the learning rate of weights and biases.
    pub fn update(&mut self, rule: &UpdateRule, record: &StepRecord, factors: [f32; 2], scale: f32) {
        let Self { values, gradients, states: [first, second] } = self;
        let (weights, biases) = (
            (&mut *values.weights, &mut *gradients.weights, [&mut *first.weights, &mut *second.weights]),
            (&mut *values.bias, &mut *gradients.bias, [&mut *first.bias, &mut *second.bias]),
        );
        let decays = [record.decay, record.decay * rule.bias_decay()];
        for (((values, gradients, mut states), factor), decay) in
            [weights, biases].into_iter().zip(factors).zip(decays)
        {
            let chunks = values.chunks_mut(CHUNK).zip(gradients.chunks_mut(CHUNK));
            for ((parameters, gradients), start) in chunks.zip((0..).step_by(CHUNK)) {
                if scale != 1.0 {
                    gradients.iter_mut().for_each(|gradient| *gradient *= scale);
                }
                let places = start..start + parameters.len();
                let states = states.each_mut().map(|state| state.get_mut(places.clone()).unwrap_or_default());
                let rate = factor * record.rate;
                rule.optimizer.apply(record, Tile { parameters, gradients, states, rate, decay });
                gradients.fill(0.0);
            }
        }
    }
}

/// Returns the factor of gradients that limits their norm, the root of `squares`, to `clip`: PyTorch's
/// formula. NaN if the norm is NaN.
pub fn clip_scale(squares: f64, clip: f32) -> f32 {
    let scale = f64::from(clip) / (squares.sqrt() + 1e-6);
    if scale >= 1.0 { 1.0 } else { scale as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::OptimizerKind;

    #[test]
    fn squares_are_summed_whatever_the_length() {
        for length in [0, 1, 7, 8, 9, 100] {
            let tensors = Tensors { weights: vec![2.0; length][..].into(), bias: vec![-3.0; length] };
            assert_eq!(tensors.sum_of_squares(), 13.0 * length as f64);
        }
    }

    #[test]
    fn norms_are_clipped_from_above() {
        assert_eq!(clip_scale(4.0, 3.0), 1.0);
        assert_eq!(clip_scale(0.0, 3.0), 1.0);
        assert!((clip_scale(36.0, 3.0) - 0.5).abs() < 1e-6);
        assert_eq!(clip_scale(f64::INFINITY, 3.0), 0.0);
        assert!(clip_scale(f64::NAN, 3.0).is_nan());
    }

    /// Every element is updated once, also if tensors end within a chunk; gradients are 0 afterwards.
    #[test]
    fn chunks_are_updated_as_a_whole_tensor() {
        let length = 2 * CHUNK + 5;
        let mut rule = UpdateRule::sgd(0.5);
        rule.optimizer = OptimizerKind::ALL.iter().find(|kind| kind.states() == 2).unwrap().defaults();
        rule.factors.biases = 0.25;
        let number = |i: usize| ((i * 37 + 11) % 23) as f32 / 8.0 - 1.25;
        let tensors = |shift| {
            let values: Vec<f32> = (0..length).map(|i| number(i + shift)).collect();
            Tensors { weights: values[..].into(), bias: values }
        };
        let mut owned = Owned::new(tensors(0), &rule, []);
        owned.gradients = tensors(5);
        let record = rule.record(0);
        let whole = |rate, scale: f32| {
            let (mut parameters, mut gradients) = (tensors(0).bias, tensors(5).bias);
            gradients.iter_mut().for_each(|gradient| *gradient *= scale);
            let (mut first, mut second) = (vec![0.0; length], vec![0.0; length]);
            let states = [first.as_mut_slice(), second.as_mut_slice()];
            let tile = Tile {
                parameters: &mut parameters,
                gradients: &gradients,
                states,
                rate,
                decay: record.decay,
            };
            rule.optimizer.apply(&record, tile);
            [parameters, first, second]
        };
        owned.update(&rule, &record, rule.factors.for_layer(0), 0.5);
        let Owned { values, gradients, states: [first, second] } = owned;
        let weights = [values.weights, first.weights, second.weights].map(|weights| weights.to_vec());
        assert_eq!(weights, whole(0.5, 0.5));
        assert_eq!([values.bias, first.bias, second.bias], whole(0.125, 0.5));
        assert_eq!(gradients.sum_of_squares(), 0.0);
    }
}
