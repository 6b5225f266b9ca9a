//! Networks that predict together.

use super::augmented::Distorter;
use super::{Description, Device, Engine, EngineOptions, Evaluation, Inference, Waiting};
use crate::data::{Rows, TargetsRef};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::step::Distortion;
use crate::threads::available;

/// Networks of an ensemble. Its outputs are averaged values or, for classes, logarithms of the averaged
/// probabilities, whose softmax is these probabilities.
pub struct EnsembleEngine {
    /// Engines, each with its share of all picks.
    engines: Vec<(f64, Box<dyn Engine>)>,
    outputs: usize,
    of_classes: bool,
    copies: Option<DistortedCopies>,
    /// Number of rows before the next ones.
    before: usize,
}

/// Distorted copies of each image, whose outputs are averaged instead of the outputs of the image.
#[derive(Debug, Clone, Copy)]
pub struct DistortedCopies {
    /// The distortions.
    pub distortion: Distortion,
    /// Number of copies.
    pub count: usize,
}

impl EnsembleEngine {
    /// Averages the outputs of distorted copies of images, which depend on the rows of earlier calls.
    #[must_use]
    pub fn with_copies(self, copies: Option<DistortedCopies>) -> Self {
        Self { copies, ..self }
    }

    /// Creates a separate engine on this device for each network of a model; a model without an ensemble has
    /// one.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn new(model: &Model, device: &Device, options: &EngineOptions) -> Result<Self> {
        let own = (&model.network, &model.parameters);
        let partners = model.ensemble.iter().flat_map(|ensemble| &ensemble.partners);
        let networks = [own].into_iter().chain(partners.map(|member| (&member.network, &member.parameters)));
        let picks: Vec<u32> = model.ensemble.as_ref().map_or(vec![1], |ensemble| ensemble.picks().collect());
        let all: f64 = picks.iter().copied().map(f64::from).sum();
        let engine = |((network, parameters), picks)| {
            Ok((f64::from(picks) / all, device.engine(parameters, network, options)?))
        };
        let engines = networks.zip(picks).map(engine).collect::<Result<Vec<_>>>()?;
        let (outputs, of_classes) = (model.network.outputs(), model.network.loss().of_classes());
        Ok(Self { engines, outputs, of_classes, copies: None, before: 0 })
    }
}

/// Combines the `outputs` of an ensemble's networks, [rows, columns], each with its share of the whole.
pub(crate) fn combine<'a>(
    outputs: impl IntoIterator<Item = (f64, &'a [f32])>,
    columns: usize,
    of_classes: bool,
) -> Vec<f32> {
    let mut sums: Vec<f64> = Vec::new();
    for (share, outputs) in outputs {
        sums.resize(outputs.len(), 0.0);
        for (sums, row) in sums.chunks_exact_mut(columns).zip(outputs.chunks_exact(columns)) {
            add(sums, share, row, of_classes);
        }
    }
    // A probability of 0 becomes the smallest positive number, so that its logarithm is finite.
    let whole = |sum: f64| if of_classes { sum.max(f64::MIN_POSITIVE).ln() } else { sum };
    sums.into_iter().map(|sum| whole(sum) as f32).collect()
}

/// Adds a network's result for a row: probabilities of classes, or values.
pub(crate) fn add(sums: &mut [f64], share: f64, row: &[f32], of_classes: bool) {
    if !of_classes {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += share * f64::from(*value));
        return;
    }
    let greatest = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let power = |output: &f32| (f64::from(*output) - greatest).exp();
    let all: f64 = row.iter().map(power).sum();
    sums.iter_mut().zip(row).for_each(|(sum, output)| *sum += share * power(output) / all);
}

impl EnsembleEngine {
    async fn combined(&mut self, rows: &Rows<'_>) -> Result<Vec<f32>> {
        let count = self.copies.map_or(1, |copies| copies.count);
        let mut each = Vec::with_capacity(count * self.engines.len());
        for copy in 1..=count {
            let features = self.copies.as_ref().map(|DistortedCopies { distortion, .. }| {
                let (first, threads) = (self.before, available());
                let numbers: Vec<u32> = (0..rows.len() as u32).collect();
                Distorter { distortion, epoch: copy, first, threads }.copies(rows, &numbers)
            });
            let rows = Rows { features: features.as_ref().unwrap_or(rows.features), ..*rows };
            for (share, engine) in &mut self.engines {
                each.push((*share / count as f64, engine.outputs(&rows).await?));
            }
        }
        self.before += rows.len();
        let each = each.iter().map(|(share, outputs)| (*share, &outputs[..]));
        Ok(combine(each, self.outputs, self.of_classes))
    }

    async fn evaluated(&mut self, rows: &Rows<'_>) -> Result<Evaluation> {
        let TargetsRef::Classes(labels) = rows.targets else {
            return Err(Error::Config("values have no loss of classes".to_owned()));
        };
        let outputs = self.combined(rows).await?;
        // Outputs are already logarithms of probabilities.
        let losses = outputs.chunks_exact(self.outputs).zip(labels);
        let loss: f64 = losses.map(|(row, label)| -f64::from(row[*label as usize])).sum();
        let best = |row: &[f32]| {
            (1..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best })
        };
        let predictions = outputs.chunks_exact(self.outputs).map(|row| best(row) as u32).collect();
        Ok(Evaluation { loss: loss / rows.len() as f64, predictions })
    }
}

impl Inference for EnsembleEngine {
    fn evaluate<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Evaluation> {
        Box::pin(self.evaluated(rows))
    }

    fn outputs<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Vec<f32>> {
        Box::pin(self.combined(rows))
    }

    fn description(&self) -> Description {
        self.engines[0].1.description()
    }
}
