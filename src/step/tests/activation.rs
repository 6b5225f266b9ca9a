//! Activations compared with the reference.

use crate::reference::ops;
use crate::step::Activation;

const EPS: f64 = f32::EPSILON as f64;

fn value(f: Activation, z: f32) -> f32 {
    let mut y = [z];
    f.value(&mut y);
    y[0]
}

/// Computes f'(z) as a backward pass does.
fn slope(f: Activation, z: f32) -> f32 {
    let kept = if f.keeps_z() { z } else { value(f, z) };
    let mut d = [1.0];
    f.gradient(&mut d, &[kept]);
    d[0]
}

/// Numbers of all sizes and both signs.
pub(super) fn grid() -> impl Iterator<Item = f32> {
    let line = (-40_000..=40_000).map(|i| i as f32 / 400.0 + 1e-4);
    let powers = (-126..=127).map(|power| (f64::from(power)).exp2() as f32);
    let extremes = [0.0, 1e-45, 87.3, 87.4, 88.8, 99.9, 100.1, 104.0, f32::MAX];
    line.chain(powers.chain(extremes).flat_map(|z| [z, -z]))
}

/// 4 eps of the value; and the same of z exp(-|z|) at its largest, for functions that multiply an exponential
/// by z.
#[test]
fn values_agree_with_the_reference() {
    for f in Activation::ALL.iter().copied() {
        for z in grid() {
            let want = ops::activation(f, f64::from(z));
            let got = f64::from(value(f, z));
            let bound = 4.0 * EPS * want.abs()
                + if f.keeps_z() { 2.0 * EPS * f64::from(z).abs().min(1.0) } else { 0.0 };
            let near = (got - want).abs() <= bound + f64::from(f32::MIN_POSITIVE);
            // scale * f32::MAX overflows f32.
            assert!(
                near || (got.is_infinite() && want > f64::from(f32::MAX)),
                "{f} of {z}: {got}, not {want}"
            );
        }
    }
}

/// 8 eps absolutely: derivatives are at most about 1, and are differences of numbers of about that size.
#[test]
fn slopes_agree_with_the_reference() {
    for f in Activation::ALL.iter().copied() {
        for z in grid() {
            let (got, want) = (f64::from(slope(f, z)), ops::activation_slope(f, f64::from(z)));
            assert!((got - want).abs() <= 8.0 * EPS, "{f} at {z}: {got}, not {want}");
        }
    }
}

#[test]
fn infinities_give_the_limits_and_nan_stays_nan() {
    let (inf, selu) = (f32::INFINITY, 1.758_099_3);
    for (f, below, above) in [
        (Activation::Relu, 0.0, inf),
        (Activation::LeakyRelu, -inf, inf),
        (Activation::Elu, -1.0, inf),
        (Activation::Selu, -selu, inf),
        (Activation::Gelu, 0.0, inf),
        (Activation::GeluTanh, 0.0, inf),
        (Activation::Silu, 0.0, inf),
        (Activation::Mish, 0.0, inf),
        (Activation::Tanh, -1.0, 1.0),
        (Activation::Sigmoid, 0.0, 1.0),
        (Activation::Identity, -inf, inf),
    ] {
        assert_eq!([value(f, -inf), value(f, inf)], [below, above], "{f}");
        assert!(value(f, f32::NAN).is_nan(), "{f}");
        // The derivatives at infinity equal the derivatives at f32::MAX.
        assert_eq!([slope(f, -inf), slope(f, inf)], [slope(f, f32::MIN), slope(f, f32::MAX)], "{f}");
    }
    assert_eq!(Activation::ALL.len(), 11);
}

#[test]
fn gradients_are_scaled_in_place_and_lengths_are_free() {
    for f in Activation::ALL.iter().copied() {
        for length in 0..20 {
            let z: Vec<f32> = (0..length).map(|i| i as f32 * 0.3 - 2.0).collect();
            let mut y = z.clone();
            f.value(&mut y);
            let mut d: Vec<f32> = (0..length).map(|i| 1.0 + i as f32).collect();
            f.gradient(&mut d, if f.keeps_z() { &z } else { &y });
            for i in 0..length {
                assert_eq!(y[i], value(f, z[i]), "{f}");
                let want = (1.0 + i as f32) * slope(f, z[i]);
                assert!((d[i] - want).abs() <= 2.0 * f32::EPSILON * want.abs(), "{f}: {}, not {want}", d[i]);
            }
        }
    }
}

#[test]
fn names_are_read_back() {
    for f in Activation::ALL {
        assert_eq!(f.name().parse::<Activation>().unwrap(), *f);
    }
    let error = "swish".parse::<Activation>().unwrap_err().to_string();
    let names = "relu, leaky-relu, elu, selu, gelu, gelu-tanh, silu, mish, tanh, sigmoid or identity";
    assert_eq!(error, format!("expected {names}, found \"swish\""));
    assert_eq!(Activation::LeakyRelu.prefix(), "leaky_relu");
}
