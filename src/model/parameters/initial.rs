//! Initial weights of a network.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::model::{InputParameters, Network, Parameters};
use crate::random::{Purpose, normal, uniform};

/// The variance of the initial weights of a layer, from its fan-in and fan-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variance {
    /// 2 / inputs (K. He, X. Zhang, S. Ren, J. Sun, "Delving deep into rectifiers", 2015).
    He,
    /// 2 / (inputs + outputs) (X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural
    /// networks", 2010).
    Xavier,
    /// 1 / inputs (Y. LeCun and others, "Efficient BackProp", 1998).
    LeCun,
    /// As [`Variance::He`], but the last layer is 0.
    ZerosLast,
    /// As [`Variance::LeCun`], with normal biases of variance 1; but the last layer is 0, including its biases (A.
    /// Jacot, F. Gabriel, C. Hongler, "Neural tangent kernel", 2018; the last layer as D. Holzmüller and others,
    /// "Better by default", 2024).
    Ntk,
}

/// The distribution of the initial weights. Biases are 0, except for [`Variance::Ntk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Init {
    /// The variance of the weights.
    pub variance: Variance,
    /// Whether weights are uniform, between -sqrt(3 variance) and sqrt(3 variance), rather than normal.
    pub uniform: bool,
}

impl Init {
    /// Normal weights with variance 2 / inputs.
    pub const HE: Self = Self { variance: Variance::He, uniform: false };

    const NAMES: [(&'static str, Variance); 5] = [
        ("he", Variance::He),
        ("xavier", Variance::Xavier),
        ("lecun", Variance::LeCun),
        ("zeros-last", Variance::ZerosLast),
        ("ntk", Variance::Ntk),
    ];
}

impl fmt::Display for Init {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name =
            Self::NAMES.iter().find(|(_, variance)| *variance == self.variance).map_or("", |(name, _)| name);
        write!(f, "{name}{}", if self.uniform { "-uniform" } else { "" })
    }
}

impl FromStr for Init {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, uniform) = match text.strip_suffix("-uniform") {
            Some(name) => (name, true),
            None => (text.strip_suffix("-normal").unwrap_or(text), false),
        };
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, variance)| Self { variance: *variance, uniform }).ok_or_else(|| {
            let expected = "he, xavier, lecun, zeros-last or ntk, and -uniform behind it for uniform numbers";
            Error::Config(format!("expected {expected}, found {text:?}"))
        })
    }
}

impl Parameters {
    /// Makes random weights. A seed gives the same weights on every machine.
    pub fn initial(network: &Network, init: Init, seed: u64) -> Self {
        let mut parameters = Self::zeros(network);
        parameters.input = network.input_layer().map(|layer| InputParameters::initial(layer, seed));
        let last = parameters.layers.len() - 1;
        for (place, layer) in parameters.layers.iter_mut().enumerate() {
            let (inputs, outputs) = (layer.inputs as f64, layer.outputs as f64);
            let variance = match init.variance {
                Variance::ZerosLast | Variance::Ntk if place == last => continue,
                Variance::He | Variance::ZerosLast => 2.0 / inputs,
                Variance::Xavier => 2.0 / (inputs + outputs),
                Variance::LeCun | Variance::Ntk => 1.0 / inputs,
            };
            for (weight, index) in layer.weights.iter_mut().zip(0..) {
                let at = [index, place as u32];
                *weight = match init.uniform {
                    true => (2.0 * uniform(seed, Purpose::Weights, at) - 1.0) * (3.0 * variance).sqrt(),
                    false => normal(seed, Purpose::Weights, at) * variance.sqrt(),
                } as f32;
            }
            if init.variance == Variance::Ntk {
                // The random stream after the weights of the layer.
                let first = layer.weights.len() as u32;
                for (bias, index) in layer.bias.iter_mut().zip(first..) {
                    *bias = normal(seed, Purpose::Weights, [index, place as u32]) as f32;
                }
            }
        }
        parameters
    }

    /// [`Parameters::initial`] with [`Init::HE`].
    pub fn he_normal(network: &Network, seed: u64) -> Self {
        Self::initial(network, Init::HE, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_have_the_right_spread_and_depend_on_the_seed() {
        let network = Network::classifier(&[500, 200, 10]).unwrap();
        for (name, wanted) in [
            ("he", [2.0 / 500.0, 2.0 / 200.0]),
            ("xavier", [2.0 / 700.0, 2.0 / 210.0]),
            ("lecun", [1.0 / 500.0, 1.0 / 200.0]),
            ("zeros-last", [2.0 / 500.0, 0.0]),
            ("ntk", [1.0 / 500.0, 0.0]),
        ] {
            for distribution in ["", "-uniform"] {
                let name = format!("{name}{distribution}");
                let init: Init = name.parse().unwrap();
                assert_eq!(init.to_string(), name);
                let parameters = Parameters::initial(&network, init, 1);
                for (layer, want) in parameters.layers.iter().zip(wanted) {
                    let n = layer.weights.len() as f64;
                    let mean =
                        |power: i32| layer.weights.iter().map(|w| f64::from(*w).powi(power)).sum::<f64>() / n;
                    // Four standard errors; the square of a normal number has the larger variance.
                    assert!((mean(2) - want).abs() <= 4.0 * want * (2.0 / n).sqrt(), "{name}: {}", mean(2));
                    assert!(mean(1).abs() <= 4.0 * (want / n).sqrt(), "{name}: {}", mean(1));
                    let most = layer.weights.iter().fold(0f32, |most, w| most.max(w.abs()));
                    assert!(
                        !init.uniform || f64::from(most) <= (3.0 * want).sqrt() * 1.000_001,
                        "{name}: {most}"
                    );
                    let mean_square = layer.bias.iter().map(|b| f64::from(*b).powi(2)).sum::<f64>()
                        / layer.bias.len() as f64;
                    let of_bias = if init.variance == Variance::Ntk && want > 0.0 { 1.0 } else { 0.0 };
                    // For a sample of 200 normal numbers.
                    assert!((mean_square - of_bias).abs() <= 0.4 * of_bias, "{name}: {mean_square}");
                }
                assert_eq!(parameters, Parameters::initial(&network, init, 1));
                assert_ne!(parameters, Parameters::initial(&network, init, 2));
            }
        }
        let parameters = Parameters::he_normal(&network, 1);
        assert_ne!(parameters.layers[0].weights[..10], parameters.layers[1].weights[..10]);
        assert_eq!("he-normal".parse::<Init>().unwrap(), Init::HE);
        assert!("kaiming".parse::<Init>().is_err());
    }
}
