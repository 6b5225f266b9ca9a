//! Formulas of the optimizers, each written once for single numbers and for vectors.

use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Sub};

use pulp::{Simd, WithSimd};

use crate::step::StepRecord;
use crate::vectors::vectorized;

/// A number, or a vector of numbers.
pub trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Returns the square root.
    fn sqrt(self) -> Self;
}

/// A vector of the processor.
#[derive(Clone, Copy)]
pub struct Lanes<S: Simd>(pub S, pub S::f32s);

macro_rules! operator {
    ($trait:ident, $method:ident, $of_vectors:ident) => {
        impl<S: Simd> $trait for Lanes<S> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0, self.0.$of_vectors(self.1, other.1))
            }
        }
    };
}

operator!(Add, add, add_f32s);
operator!(Sub, sub, sub_f32s);
operator!(Mul, mul, mul_f32s);
operator!(Div, div, div_f32s);

impl<S: Simd> Number for Lanes<S> {
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0, self.0.sqrt_f32s(self.1))
    }
}

impl<S: Simd> Lanes<S> {
    /// Replaces subnormal numbers by 0. State that decays without gradients would otherwise end among them
    /// and never become 0: 0.9 times the smallest is rounded to the smallest. Processors take a hundred times
    /// as long for subnormal numbers.
    #[inline(always)]
    fn without_subnormals(self) -> Self {
        let Self(simd, values) = self;
        let is_less = simd.less_than_f32s(simd.abs_f32s(values), simd.splat_f32s(f32::MIN_POSITIVE));
        Self(simd, simd.select_f32s(is_less, simd.splat_f32s(0.0), values))
    }
}

/// Coefficients of a step's formulas: learning rate and weight decay of a tensor, and numbers of
/// [`StepRecord`].
#[derive(Clone, Copy)]
pub struct Coefficients<N> {
    pub rate: N,
    pub decay: N,
    pub beta1: N,
    /// 1 - beta1.
    pub rest1: N,
    pub beta2: N,
    /// 1 - beta2.
    pub rest2: N,
    pub epsilon: N,
    pub correction1: N,
    pub correction2: N,
}

impl Coefficients<f32> {
    /// Returns the coefficients of a tensor with this learning rate and decay.
    pub fn new(record: &StepRecord, rate: f32, decay: f32) -> Self {
        let StepRecord { beta1, beta2, epsilon, correction1, correction2, .. } = *record;
        let (rest1, rest2) = (1.0 - beta1, 1.0 - beta2);
        Self { rate, decay, beta1, rest1, beta2, rest2, epsilon, correction1, correction2 }
    }

    /// Copies the coefficients to each lane.
    #[inline(always)]
    pub fn lanes<S: Simd>(&self, simd: S) -> Coefficients<Lanes<S>> {
        let lanes = |number: f32| Lanes(simd, simd.splat_f32s(number));
        Coefficients {
            rate: lanes(self.rate),
            decay: lanes(self.decay),
            beta1: lanes(self.beta1),
            rest1: lanes(self.rest1),
            beta2: lanes(self.beta2),
            rest2: lanes(self.rest2),
            epsilon: lanes(self.epsilon),
            correction1: lanes(self.correction1),
            correction2: lanes(self.correction2),
        }
    }
}

/// Some adjacent parameters of one tensor, with their gradients and state.
pub struct Tile<'a> {
    /// Parameters to update.
    pub parameters: &'a mut [f32],
    /// Their gradients.
    pub gradients: &'a [f32],
    /// The optimizer's state, [`OptimizerKind::states`](super::OptimizerKind::states) numbers per parameter;
    /// unused slices are empty.
    pub states: [&'a mut [f32]; 2],
    /// Learning rate of this tensor in this step.
    pub rate: f32,
    /// Weight decay of this tensor.
    pub decay: f32,
}

/// Update formula of a parameter.
pub trait Formula {
    /// Numbers of state per parameter: 0 to 2.
    const STATES: usize;

    /// Updates the parameter `p` with gradient `g`, and its state.
    fn update<N: Number>(c: &Coefficients<N>, p: &mut N, g: N, states: &mut [N; 2]);
}

/// Work that is compiled for each optimizer.
pub trait WithFormula {
    /// Does the work.
    fn with_formula<F: Formula>(self);
}

/// Updates parameters and their states from their gradients, vector by vector.
#[inline(always)]
pub fn update_vectors<S: Simd, F: Formula>(
    simd: S,
    c: &Coefficients<Lanes<S>>,
    parameters: &mut [S::f32s],
    gradients: &[S::f32s],
    [first, second]: [&mut [S::f32s]; 2],
) {
    let length = |state| if F::STATES > state { parameters.len() } else { 0 };
    let (first, second) = (&mut first[..length(0)], &mut second[..length(1)]);
    for (i, (p, g)) in parameters.iter_mut().zip(gradients).enumerate() {
        let mut number = Lanes(simd, *p);
        // State that the optimizer does not have is replaced by an arbitrary number.
        let state = |state: &[S::f32s]| Lanes(simd, state.get(i).copied().unwrap_or(*g));
        let mut states = [state(first), state(second)];
        F::update(c, &mut number, Lanes(simd, *g), &mut states);
        *p = number.1;
        if F::STATES > 0 {
            first[i] = states[0].without_subnormals().1;
        }
        if F::STATES > 1 {
            second[i] = states[1].without_subnormals().1;
        }
    }
}

/// Updates a whole tile.
pub struct Whole<'a> {
    /// The step.
    pub record: &'a StepRecord,
    /// Parameters to update.
    pub tile: Tile<'a>,
}

impl WithFormula for Whole<'_> {
    fn with_formula<F: Formula>(self) {
        let Self { record, tile } = self;
        let coefficients = Coefficients::new(record, tile.rate, tile.decay);
        vectorized(Apply::<F> { coefficients, tile, formula: PhantomData });
    }
}

struct Apply<'a, F> {
    coefficients: Coefficients<f32>,
    tile: Tile<'a>,
    formula: PhantomData<F>,
}

impl<F: Formula> WithSimd for Apply<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (c, Tile { parameters, gradients, states, .. }) = (self.coefficients, self.tile);
        let (p, rest_of_p) = S::as_mut_simd_f32s(parameters);
        let (g, rest_of_g) = S::as_simd_f32s(gradients);
        let [(m, rest_of_m), (v, rest_of_v)] = states.map(S::as_mut_simd_f32s);
        update_vectors::<S, F>(simd, &c.lanes(simd), p, g, [m, v]);
        let one = pulp::Scalar;
        update_vectors::<_, F>(one, &c.lanes(one), rest_of_p, rest_of_g, [rest_of_m, rest_of_v]);
    }
}
