//! Networks whose predictions are averaged.

use super::{Network, Parameters};

/// The additional networks of an ensemble, with the same inputs and outputs as the model's own network. The
/// probabilities of classes, or the predicted values, are averaged with the numbers of picks as weights (R. Caruana and
/// others, "Ensemble selection from libraries of models", 2004).
#[derive(Debug, Clone, PartialEq)]
pub struct Ensemble {
    /// The number of picks of the model's own network.
    pub picks: u32,
    /// The other networks.
    pub partners: Vec<EnsembleMember>,
}

/// A network of an ensemble, other than the model's own network.
#[derive(Debug, Clone, PartialEq)]
pub struct EnsembleMember {
    /// The number of picks of the network.
    pub picks: u32,
    /// The structure of the network.
    pub network: Network,
    /// The weights and biases.
    pub parameters: Parameters,
}

impl Ensemble {
    /// The number of networks.
    pub fn networks(&self) -> usize {
        1 + self.partners.len()
    }

    /// The number of picks of each network, beginning with the model's own network.
    pub fn picks(&self) -> impl Iterator<Item = u32> {
        [self.picks].into_iter().chain(self.partners.iter().map(|member| member.picks))
    }
}
