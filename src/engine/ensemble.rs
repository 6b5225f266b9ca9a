//! Networks that predict together.

use super::{
    BatchMetrics, Batches, Description, Device, Engine, EngineOptions, EngineState, Evaluation, Instrumented,
    Observer,
};
use crate::data::{Rows, TargetsRef};
use crate::error::{Error, Result};
use crate::model::{Model, Parameters};
use crate::timing::Ceilings;

/// The networks of an ensemble. What it gives as outputs are the logarithms of the averaged probabilities of classes, whose
/// softmax is these probabilities, or averaged values.
pub struct EnsembleEngine {
    /// Each with its share of all picks.
    engines: Vec<(f64, Box<dyn Engine>)>,
    outputs: usize,
    of_classes: bool,
}

impl EnsembleEngine {
    /// The networks of a model, each on an engine of its own on this device; of one that is no ensemble the only one.
    ///
    /// # Errors
    /// Those of the device.
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
        Ok(Self { engines, outputs: model.network.outputs(), of_classes: model.network.loss().of_classes() })
    }
}

/// What the networks of an ensemble give together: `outputs` of each, [rows, columns], with its share of the whole.
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
    // A class of no probability at all is one of the least there is: its logarithm is a number.
    let whole = |sum: f64| if of_classes { sum.max(f64::MIN_POSITIVE).ln() } else { sum };
    sums.into_iter().map(|sum| whole(sum) as f32).collect()
}

/// Adds what a network gives for a row: the probabilities of classes, or values.
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

/// An ensemble is put together of networks that are trained.
fn untrained<T>() -> Result<T> {
    Err(Error::Config("an ensemble predicts; its networks are trained one by one".to_owned()))
}

impl Engine for EnsembleEngine {
    fn submit(&mut self, _: &Batches<'_>) -> Result<usize> {
        untrained()
    }

    fn poll(&mut self, _: bool) -> Result<Vec<BatchMetrics>> {
        Ok(Vec::new())
    }

    fn parameters(&mut self) -> Result<Parameters> {
        untrained()
    }

    fn snapshot(&mut self) -> Result<(Parameters, EngineState)> {
        untrained()
    }

    fn restore(&mut self, _: &Parameters, _: &EngineState) -> Result<()> {
        untrained()
    }

    fn evaluate(&mut self, rows: &Rows<'_>) -> Result<Evaluation> {
        let TargetsRef::Classes(labels) = rows.targets else {
            return Err(Error::Config("values have no loss of classes".to_owned()));
        };
        let outputs = self.outputs(rows)?;
        // Outputs are logarithms of probabilities already.
        let losses = outputs.chunks_exact(self.outputs).zip(labels);
        let loss: f64 = losses.map(|(row, label)| -f64::from(row[*label as usize])).sum();
        let best = |row: &[f32]| {
            (1..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best })
        };
        let predictions = outputs.chunks_exact(self.outputs).map(|row| best(row) as u32).collect();
        Ok(Evaluation { loss: loss / rows.len() as f64, predictions })
    }

    fn outputs(&mut self, rows: &Rows<'_>) -> Result<Vec<f32>> {
        let each = self.engines.iter_mut().map(|(share, engine)| Ok((*share, engine.outputs(rows)?)));
        let each = each.collect::<Result<Vec<_>>>()?;
        let each = each.iter().map(|(share, outputs)| (*share, &outputs[..]));
        Ok(combine(each, self.outputs, self.of_classes))
    }

    fn gradients(&mut self, _: &Rows<'_>) -> Result<Parameters> {
        untrained()
    }
}

impl Instrumented for EnsembleEngine {
    fn description(&self) -> Description {
        let (_, first) = &self.engines[0];
        first.description()
    }

    fn observe(&mut self, observer: Observer) {
        self.engines.iter_mut().for_each(|(_, engine)| engine.observe(observer.clone()));
    }

    fn ceilings(&mut self) -> Result<Ceilings> {
        self.engines[0].1.ceilings()
    }
}
