//! Activations and their slopes, written as their definitions.

use std::f64::consts::{PI, SQRT_2};

use crate::step::Activation;

const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

fn elu(z: f64, alpha: f64) -> f64 {
    if z > 0.0 { z } else { alpha * z.exp_m1() }
}

fn elu_slope(z: f64, alpha: f64) -> f64 {
    if z > 0.0 { 1.0 } else { alpha * z.exp() }
}

fn softplus(z: f64) -> f64 {
    z.exp().ln_1p()
}

/// The standard normal distribution function.
fn phi(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// sqrt(2 / pi) (z + 0.044715 z^3), and its derivative.
fn gelu_u(z: f64) -> [f64; 2] {
    let root = (2.0 / PI).sqrt();
    [root * (z + 0.044715 * z.powi(3)), root * (1.0 + 3.0 * 0.044715 * z.powi(2))]
}

/// y = f(z) for finite z.
pub fn activation(f: Activation, z: f64) -> f64 {
    match f {
        Activation::Relu => z.max(0.0),
        Activation::LeakyRelu => z.max(0.01 * z),
        Activation::Elu => elu(z, 1.0),
        Activation::Selu => SELU_SCALE * elu(z, SELU_ALPHA),
        Activation::Gelu => z * phi(z),
        Activation::GeluTanh => 0.5 * z * (1.0 + gelu_u(z)[0].tanh()),
        Activation::Silu => z * sigmoid(z),
        Activation::Mish => z * softplus(z).tanh(),
        Activation::Tanh => z.tanh(),
        Activation::Sigmoid => sigmoid(z),
        Activation::Identity => z,
    }
}

/// f'(z) for finite z; at a kink, the slope from below.
pub fn activation_slope(f: Activation, z: f64) -> f64 {
    let step = |below: f64| if z > 0.0 { 1.0 } else { below };
    match f {
        Activation::Relu => step(0.0),
        Activation::LeakyRelu => step(0.01),
        Activation::Elu => elu_slope(z, 1.0),
        Activation::Selu => SELU_SCALE * elu_slope(z, SELU_ALPHA),
        Activation::Gelu => phi(z) + z * (-0.5 * z * z).exp() / (2.0 * PI).sqrt(),
        Activation::GeluTanh => {
            let [u, du] = gelu_u(z);
            0.5 * (1.0 + u.tanh()) + 0.5 * z * (1.0 - u.tanh().powi(2)) * du
        }
        Activation::Silu => sigmoid(z) + z * sigmoid(z) * (1.0 - sigmoid(z)),
        Activation::Mish => {
            let inner = softplus(z).tanh();
            inner + z * (1.0 - inner.powi(2)) * sigmoid(z)
        }
        Activation::Tanh => 1.0 - z.tanh().powi(2),
        Activation::Sigmoid => sigmoid(z) * (1.0 - sigmoid(z)),
        Activation::Identity => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_agree_with_central_differences() {
        let step = 1e-5;
        for f in Activation::ALL.iter().copied() {
            for i in -4000..=4000 {
                // Never 0, where some activations have a kink.
                let z = f64::from(i) / 400.0 + 1e-3;
                let slope = (activation(f, z + step) - activation(f, z - step)) / (2.0 * step);
                let got = activation_slope(f, z);
                // Truncation error step^2 f''' / 6, where |f'''| < 10, and cancellation 10 * 1e-16 / step.
                assert!((got - slope).abs() < 5e-10, "{f} at {z}: {got}, slope {slope}");
            }
        }
    }

    /// Values at 1 and -1, computed by other formulas: mish with only exp, gelu by tables of the normal distribution,
    /// its tanh form with the logistic function.
    #[test]
    fn values_are_the_published_ones() {
        for (f, at_one, at_minus_one) in [
            (Activation::Relu, 1.0, 0.0),
            (Activation::LeakyRelu, 1.0, -0.01),
            (Activation::Elu, 1.0, -0.632_120_558_828_557_7),
            (Activation::Selu, 1.050_700_987_355_480_5, -1.111_330_737_812_562),
            (Activation::Gelu, 0.841_344_746_068_542_9, -0.158_655_253_931_457_05),
            (Activation::GeluTanh, 0.841_191_990_608_276, -0.158_808_009_391_724),
            (Activation::Silu, 0.731_058_578_630_004_9, -0.268_941_421_369_995_1),
            (Activation::Mish, 0.865_098_388_267_310_4, -0.303_401_461_374_108_9),
            (Activation::Tanh, 0.761_594_155_955_764_9, -0.761_594_155_955_764_9),
            (Activation::Sigmoid, 0.731_058_578_630_004_9, 0.268_941_421_369_995_1),
            (Activation::Identity, 1.0, -1.0),
        ] {
            assert!((activation(f, 1.0) - at_one).abs() < 1e-12, "{f}: {}", activation(f, 1.0));
            assert!((activation(f, -1.0) - at_minus_one).abs() < 1e-12, "{f}: {}", activation(f, -1.0));
        }
    }
}
