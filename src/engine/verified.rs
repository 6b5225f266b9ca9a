//! An engine that is compared with the CPU engine before it trains: a browser's shader compiler may silently
//! produce wrong results.

use std::fmt;

use super::{BatchMetrics, Batches, CpuEngine, Device, Engine, EngineOptions, EngineState, GpuEngine, Order};
use crate::data::{Rows, TargetsRef};
use crate::error::Result;
use crate::model::{Network, Parameters};
use crate::step::ScheduleKind;

/// Largest distance of a tensor from the CPU engine's, relative to the tensor's change; by the root of the
/// sum of squares. Rounding differences are much smaller, unless an optimizer divides by them, which concerns
/// few numbers.
const MOST_OF_CHANGE: f64 = 0.05;

/// The same relative to the tensor itself, for tensors that hardly change.
const MOST_OF_TENSOR: f64 = 1e-5;

/// Largest relative difference of losses and outputs.
const MOST_OF_OUTPUTS: f64 = 1e-3;

/// Results of an engine for the first rows.
struct Trial {
    /// Loss of each step.
    losses: Vec<f64>,
    /// Parameters after the last step.
    parameters: Parameters,
    /// Outputs with the first parameters.
    outputs: Vec<f32>,
    /// Predicted classes with the first parameters.
    predictions: Vec<u32>,
}

/// Creates an engine on `device` whose first steps on the first of `rows` match the CPU engine. If they do
/// not match, other schedules are tried, and finally the CPU engine is used. Also returns the rejected ones,
/// a line each.
///
/// # Errors
/// When the device cannot be opened or cannot hold the network.
pub(crate) async fn verified_engine(
    device: &Device,
    rows: &Rows<'_>,
    parameters: &Parameters,
    network: &Network,
    options: &EngineOptions,
) -> Result<(Box<dyn Engine>, Vec<String>)> {
    let Device::Gpu(adapter) = device else {
        return Ok((device.engine_async(parameters, network, options).await?, Vec::new()));
    };
    let mut cpu = CpuEngine::new(parameters, network, options);
    let expected = trial(&mut cpu, rows, options.batch, parameters).await?;
    let mut engine = GpuEngine::new_async(adapter, parameters, network, options).await?;
    let (mut refused, mut tried) = (Vec::new(), Vec::new());
    for another in [None, Some(ScheduleKind::Fused), Some(ScheduleKind::Plain)] {
        if let Some(kind) = another {
            engine = engine.with_schedule(kind, parameters)?;
        }
        let kind = engine.schedule();
        if tried.contains(&kind) {
            continue;
        }
        tried.push(kind);
        let found = trial(&mut engine, rows, options.batch, parameters).await;
        let fault = match &found {
            Ok(found) => found.difference(&expected, parameters).map(|difference| difference.to_string()),
            Err(error) => Some(error.to_string()),
        };
        let Some(fault) = fault else { return Ok((Box::new(engine), refused)) };
        refused.push(format!("{} computes the schedule {kind} wrongly: {fault}", adapter.name));
        engine.forget_failure();
    }
    refused.push(format!("the CPU engine trains in the place of {}", adapter.name));
    cpu.restore(parameters, &EngineState::default())?;
    Ok((Box::new(cpu), refused))
}

/// Trains some steps, the last of them with half a batch, and restores the engine.
async fn trial(engine: &mut dyn Engine, rows: &Rows<'_>, batch: usize, first: &Parameters) -> Result<Trial> {
    let count = rows.len().min(batch * 5 / 2).max(1);
    let order: Vec<u32> = (0..count as u32).collect();
    let taken = rows.taken(&order);
    let part = Rows { scaling: rows.scaling, ..taken.view() };
    let outputs = engine.outputs(&part).await?;
    let predictions = match part.targets {
        TargetsRef::Classes(_) => engine.evaluate(&part).await?.predictions,
        TargetsRef::Values { .. } => Vec::new(),
    };
    let mut batches = Batches { rows: *rows, order: Order::Given(&order), positions: 0..count, epoch: 1 };
    let mut metrics: Vec<BatchMetrics> = Vec::new();
    while !batches.positions.is_empty() {
        let taken = engine.submit(&batches)?;
        batches.positions.start += taken;
        metrics.extend(engine.poll(taken == 0).await?);
    }
    loop {
        let ended = engine.poll(true).await?;
        if ended.is_empty() {
            break;
        }
        metrics.extend(ended);
    }
    let parameters = engine.parameters().await?;
    engine.restore(first, &EngineState::default())?;
    let losses = metrics.iter().map(|batch| batch.loss / batch.rows as f64).collect();
    Ok(Trial { losses, parameters, outputs, predictions })
}

/// The differing part, and its relative difference.
#[derive(Debug, PartialEq)]
struct Difference {
    of: &'static str,
    share: f64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} differ from those of the CPU engine by {:.2} %", self.of, 100.0 * self.share)
    }
}

impl Trial {
    /// Returns the first difference between two trials from the same parameters that rounding does not
    /// explain.
    fn difference(&self, expected: &Self, first: &Parameters) -> Option<Difference> {
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let outputs = distance(&wide(&self.outputs), &wide(&expected.outputs));
        let of = |of, share| Some(Difference { of, share });
        if !is_within(outputs, MOST_OF_OUTPUTS) {
            return of("outputs", outputs);
        }
        let pairs = self.predictions.iter().zip(&expected.predictions);
        let wrong = pairs.filter(|(found, expected)| found != expected).count();
        let wrong = wrong as f64 / expected.predictions.len().max(1) as f64;
        // Rounding decides predictions of rows whose best classes are equally likely.
        if self.predictions.len() != expected.predictions.len() || wrong > 0.1 {
            return of("predictions", wrong);
        }
        let losses = distance(&self.losses, &expected.losses);
        if !is_within(losses, MOST_OF_OUTPUTS) {
            return of("losses", losses);
        }
        let tensors = self.parameters.tensors().zip(expected.parameters.tensors()).zip(first.tensors());
        for ((found, expected), first) in tensors {
            let [found, expected, first] = [found, expected, first].map(wide);
            let error = norm(found.iter().zip(&expected).map(|(a, b)| a - b));
            let change = norm(expected.iter().zip(&first).map(|(a, b)| a - b));
            let most = MOST_OF_CHANGE * change + MOST_OF_TENSOR * norm(expected.iter().copied());
            if !(error <= most || expected.iter().any(|number| !number.is_finite())) {
                return of("weights", error / change);
            }
        }
        None
    }
}

/// Returns false for NaN.
fn is_within(share: f64, most: f64) -> bool {
    share <= most
}

fn norm(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.map(|number| number * number).sum::<f64>().sqrt()
}

/// Returns the distance of numbers from the expected ones, relative to these; 0 if none is expected. Missing
/// numbers give infinity.
fn distance(found: &[f64], expected: &[f64]) -> f64 {
    if found.len() != expected.len() {
        return f64::INFINITY;
    }
    if expected.iter().any(|number| !number.is_finite()) {
        return 0.0;
    }
    let error = norm(found.iter().zip(expected).map(|(a, b)| a - b));
    if error == 0.0 { 0.0 } else { error / norm(expected.iter().copied()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of the CPU engine for a small network.
    fn sample() -> (Trial, Parameters) {
        let network = Network::classifier(&[3, 4, 2]).unwrap();
        let mut first = Parameters::zeros(&network);
        let numbers = first.layers.iter_mut().flat_map(|layer| &mut layer.weights);
        numbers.zip(1..).for_each(|(number, i)| *number = 0.1 * i as f32);
        let mut parameters = first.clone();
        let numbers = parameters.layers.iter_mut().flat_map(|layer| &mut layer.weights);
        numbers.for_each(|number| *number *= 1.01);
        let trial = Trial {
            losses: vec![0.7, 0.6],
            parameters,
            outputs: vec![1.0, -1.0, 0.5, 0.25],
            predictions: vec![0, 0],
        };
        (trial, first)
    }

    #[test]
    fn what_rounding_explains_is_no_difference() {
        let (expected, first) = sample();
        let (mut found, _) = sample();
        assert_eq!(found.difference(&expected, &first), None);
        found.losses[1] += 1e-6;
        found.outputs[2] += 1e-6;
        let weights = found.parameters.layers.iter_mut().flat_map(|layer| &mut layer.weights);
        weights.for_each(|number| *number = number.next_up().next_up());
        assert_eq!(found.difference(&expected, &first), None);
    }

    #[test]
    fn anything_that_is_wrong_is_found() {
        let (expected, first) = sample();
        type Damage = fn(&mut Trial);
        let damages: [(&str, Damage); 7] = [
            ("outputs", |trial| trial.outputs[3] += 0.01),
            ("outputs", |trial| trial.outputs[0] = f32::NAN),
            ("predictions", |trial| trial.predictions[1] = 1),
            ("losses", |trial| trial.losses[0] *= 2.0),
            ("losses", |trial| trial.losses.truncate(1)),
            // A unit that was not updated, and one that was updated twice.
            ("weights", |trial| trial.parameters.layers[0].weights[11] /= 1.01),
            ("weights", |trial| trial.parameters.layers[1].weights[7] *= 1.01),
        ];
        for (of, damage) in damages {
            let (mut found, _) = sample();
            damage(&mut found);
            let difference = found.difference(&expected, &first).unwrap();
            assert_eq!(difference.of, of);
            assert!(!difference.to_string().contains('\n'));
        }
    }
}
