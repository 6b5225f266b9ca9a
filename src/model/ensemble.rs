//! Networks whose predictions are averaged.

use super::{Network, Parameters};

/// What makes a model an ensemble: networks with the same inputs and outputs as its own one. The probabilities of classes are
/// averaged, or the predicted values, each network counting as often as it was picked (R. Caruana and others, "Ensemble
/// selection from libraries of models", 2004).
#[derive(Debug, Clone, PartialEq)]
pub struct Ensemble {
    /// How often the model's own network was picked.
    pub picks: u32,
    /// The others.
    pub partners: Vec<EnsembleMember>,
}

/// A network of an ensemble besides the model's own one.
#[derive(Debug, Clone, PartialEq)]
pub struct EnsembleMember {
    /// How often it was picked.
    pub picks: u32,
    /// Its shape.
    pub network: Network,
    /// Its weights and biases.
    pub parameters: Parameters,
}

impl Ensemble {
    /// How many networks there are.
    pub fn networks(&self) -> usize {
        1 + self.partners.len()
    }

    /// How often each network was picked, the model's own one first.
    pub fn picks(&self) -> impl Iterator<Item = u32> {
        [self.picks].into_iter().chain(self.partners.iter().map(|member| member.picks))
    }
}
