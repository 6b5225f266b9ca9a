//! Steps of training under one candidate: what they take, and whether they come to what they should.

use std::time::Duration;

use crate::clock::Instant;
use crate::data::{Rows, rows_at};
use crate::engine::{BatchMetrics, Drive, Engine, GpuEngine};
use crate::error::{Error, Result};
use crate::gpu::{Adapter, Context};
use crate::kernels::{Compute, FeatureFormat, MatmulTile, Samples, Tuning};
use crate::model::{Network, Parameters};
use crate::schedule::{DispatchPlan, ScheduleKind, SelectedPlan, TileSource, Tiles, TrainingStep};
use crate::train::Config;

/// Steps whose losses and weights have to be right.
const COMPARED_STEPS: usize = 3;

/// How long a sample takes at least: many steps on a real GPU, so that the host does not count.
const SAMPLE: Duration = Duration::from_millis(20);

/// Samples of a candidate, of which the median counts.
const SAMPLES: usize = 5;

/// A candidate whose first sample takes this many times as long as the best is not measured further.
const HOPELESS: f64 = 1.5;

/// What a trial of tile shapes came to.
#[derive(Debug, Clone, PartialEq)]
pub enum TrialOutcome {
    /// A step takes so long, in the median.
    Timed(Duration),
    /// The device does not take them, and says why.
    Refused(String),
    /// Losses or weights are not those of the built-in shapes.
    Wrong,
}

/// What is tuned for what.
#[derive(Clone, Copy)]
pub struct TuningTarget<'a> {
    /// The device.
    pub adapter: &'a Adapter,
    /// The network.
    pub network: &'a Network,
    /// Learning rate, seed, and the requested schedule, if any.
    pub config: &'a Config,
    /// Most rows of a batch.
    pub batch: usize,
    /// What is trained on.
    pub rows: &'a Rows<'a>,
}

/// A device that is open, and what is trained on it.
pub(super) struct Bench<'a> {
    pub compute: Compute,
    subject: TuningTarget<'a>,
    parameters: Parameters,
}

/// What a few steps gave.
pub(super) struct Outcome {
    losses: Vec<f64>,
    parameters: Vec<f32>,
}

/// What the built-in shapes give, with which others have to agree.
pub(super) struct Expected {
    outcome: Outcome,
    /// How far the last bits of the first parameters lead from it: nobody who rounds differently comes nearer.
    doubt: Difference,
}

/// How far two outcomes lie apart.
#[derive(Debug, Clone, Copy)]
struct Difference {
    /// The largest of a loss, as a share of it.
    loss: f64,
    /// That of the parameters, as a share of the way that they went.
    way: f64,
}

impl<'a> Bench<'a> {
    /// Opens the device.
    ///
    /// # Errors
    /// As [`Context::open`].
    pub fn new(subject: &TuningTarget<'a>) -> Result<Self> {
        let compute = Compute::new(Context::open(subject.adapter)?);
        let parameters = Parameters::he_normal(subject.network, subject.config.seed);
        Ok(Self { compute, subject: *subject, parameters })
    }

    /// Opens the device anew if what it refused has left it unusable.
    pub fn recover(&mut self) -> Result<()> {
        if self.compute.context.check().is_err() {
            self.compute = Compute::new(Context::open(self.subject.adapter)?);
        }
        Ok(())
    }

    /// What a step under this schedule shows of the tile shapes: into how many parts the inputs of the first layer are
    /// split, and the tiles of each dispatch.
    pub fn shows(&self, kind: ScheduleKind, tuning: &Tuning) -> (Option<usize>, Vec<Option<MatmulTile>>) {
        let rule = self.subject.config.engine_options(self.subject.batch).rule;
        let step = TrainingStep::new(self.subject.network, &rule, self.subject.batch);
        let samples = Samples { stored: FeatureFormat::Floats, count: self.subject.batch };
        let schedule = DispatchPlan::train(kind, &step, samples, tuning);
        let tiles =
            schedule.dispatches.iter().map(|dispatch| tuning.tile_of(dispatch.kernel.description().layout));
        (step.shape(tuning).map(|shape| shape.parts()), tiles.collect())
    }

    fn engine(&self, kind: ScheduleKind, tuning: Tuning) -> Result<GpuEngine> {
        self.engine_from(kind, tuning, &self.parameters)
    }

    fn engine_from(&self, kind: ScheduleKind, tuning: Tuning, parameters: &Parameters) -> Result<GpuEngine> {
        let resolved = (SelectedPlan { kind, reason: None }, Tiles { tuning, source: TileSource::Given });
        let TuningTarget { network, config, batch, .. } = self.subject;
        let options = config.engine_options(batch);
        GpuEngine::on(self.compute.clone(), resolved, parameters, network, &options)
    }

    /// Trains `steps` whole batches, repeating rows where there are too few. Returns the losses.
    fn train(&self, engine: &mut GpuEngine, steps: usize) -> Result<Vec<f64>> {
        let TuningTarget { config, batch, rows, .. } = self.subject;
        let order = rows_at(config.seed, 1, rows.len(), 0..rows.len());
        let order: Vec<u32> = order.into_iter().cycle().take(steps * batch).collect();
        let mut losses = Vec::with_capacity(steps);
        let mut sink = |batch: BatchMetrics| {
            losses.push(batch.loss);
            Ok(())
        };
        engine.train(rows, &order, &mut sink)?;
        engine.finish(&mut sink)?;
        Ok(losses)
    }

    fn few_steps(&self, engine: &mut GpuEngine) -> Result<Outcome> {
        let losses = self.train(engine, COMPARED_STEPS)?;
        Ok(Outcome { losses, parameters: flat(&engine.parameters()?) })
    }

    /// What a step takes if `steps` of them are measured together.
    fn sample(&self, engine: &mut GpuEngine, steps: usize) -> Result<Duration> {
        let begun = Instant::now();
        self.train(engine, steps)?;
        Ok(begun.elapsed().div_f64(steps as f64))
    }

    /// The median of some samples, of fewer behind the deadline, of one if that takes much longer than `best`.
    fn median(&self, engine: &mut GpuEngine, best: Duration, deadline: Instant) -> Result<Duration> {
        let (steps, mut samples) = self.sized(engine)?;
        let hopeless = samples[0].as_secs_f64() > HOPELESS * best.as_secs_f64();
        while !hopeless && samples.len() < SAMPLES && Instant::now() < deadline {
            samples.push(self.sample(engine, steps)?);
        }
        Ok(middle(samples))
    }

    /// How many steps make a sample, and the first one.
    fn sized(&self, engine: &mut GpuEngine) -> Result<(usize, Vec<Duration>)> {
        let mut steps = 1;
        loop {
            let step = self.sample(engine, steps)?;
            if step.mul_f64(steps as f64) >= SAMPLE {
                return Ok((steps, vec![step]));
            }
            steps *= 2;
        }
    }

    /// What the built-in shapes give, to be compared with, and what a step takes with them.
    ///
    /// # Errors
    /// Those of the device; [`Error::NonFiniteLoss`].
    pub fn baseline(
        &self,
        schedule: ScheduleKind,
        tuning: Tuning,
        deadline: Instant,
    ) -> Result<(Expected, Duration)> {
        let mut engine = self.engine(schedule, tuning)?;
        let outcome = self.few_steps(&mut engine)?;
        if let Some((loss, step)) = outcome.losses.iter().zip(1..).find(|(loss, _)| !loss.is_finite()) {
            let learning_rate = self.subject.config.learning_rate;
            return Err(Error::NonFiniteLoss { loss: *loss, step, epoch: 1, batch: step, learning_rate });
        }
        let step = self.median(&mut engine, Duration::MAX, deadline)?;
        let other =
            self.few_steps(&mut self.engine_from(schedule, tuning, &with_other_bits(&self.parameters))?)?;
        let doubt = Difference::between(&other, &outcome, &flat(&self.parameters));
        Ok((Expected { outcome, doubt }, step))
    }

    /// What comes of a candidate that should give `want`, where a step takes `best` so far.
    pub fn judge(
        &self,
        schedule: ScheduleKind,
        tuning: Tuning,
        want: &Expected,
        best: Duration,
        deadline: Instant,
    ) -> TrialOutcome {
        let tried = self.engine(schedule, tuning).and_then(|mut engine| {
            let got = self.few_steps(&mut engine)?;
            if !want.agrees(&got, &flat(&self.parameters)) {
                return Ok(TrialOutcome::Wrong);
            }
            Ok(TrialOutcome::Timed(self.median(&mut engine, best, deadline)?))
        });
        tried.unwrap_or_else(|error| TrialOutcome::Refused(error.to_string()))
    }

    /// What a step takes with each of two, sampled in turn.
    pub fn in_turn(&self, schedule: ScheduleKind, tunings: [Tuning; 2]) -> Result<[Duration; 2]> {
        let mut engines =
            tunings.map(|tuning| self.engine(schedule, tuning)).into_iter().collect::<Result<Vec<_>>>()?;
        let mut samples = [Vec::new(), Vec::new()];
        let mut steps = 1;
        for engine in &mut engines {
            // The first steps of an engine also bring its data to the device.
            self.train(engine, 1)?;
            steps = steps.max(self.sized(engine)?.0);
        }
        for _ in 0..SAMPLES {
            for (engine, samples) in engines.iter_mut().zip(&mut samples) {
                samples.push(self.sample(engine, steps)?);
            }
        }
        Ok(samples.map(middle))
    }
}

/// The median of some times, at least one.
fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn flat(parameters: &Parameters) -> Vec<f32> {
    parameters.numbers().collect()
}

/// Parameters of which about half of the weights have another last bit.
fn with_other_bits(parameters: &Parameters) -> Parameters {
    let mut other = parameters.clone();
    for (number, weight) in other.layers.iter_mut().flat_map(|layer| &mut layer.weights).enumerate() {
        // Without a pattern that a layer could have, too.
        let is_other = (number as u32).wrapping_mul(0x9E37_79B9) >> 31;
        *weight = f32::from_bits(weight.to_bits() ^ is_other);
    }
    other
}

impl Difference {
    /// Of two results of the same steps from `start`: infinite where they are of other shapes, or not numbers. The norm of parameters
    /// counts, not the largest difference: a sum near 0 may fall on the other side of a ReLU, which moves the weights of one unit by the
    /// share of one row.
    fn between(got: &Outcome, want: &Outcome, start: &[f32]) -> Self {
        if (got.losses.len(), got.parameters.len()) != (want.losses.len(), want.parameters.len()) {
            return Self { loss: f64::INFINITY, way: f64::INFINITY };
        }
        let norm = |a: &[f32], b: &[f32]| {
            a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>().sqrt()
        };
        let size = want.parameters.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        // Of parameters that do not move, rounding is all that is left.
        let way = norm(&got.parameters, &want.parameters) / (norm(start, &want.parameters) + 5e-4 * size);
        let losses = got.losses.iter().zip(&want.losses);
        let losses = losses.map(|(got, want)| (got - want).abs() / want.abs().max(f64::MIN_POSITIVE));
        let or_infinite = |value: f64| if value.is_nan() { f64::INFINITY } else { value };
        Self { loss: losses.map(or_infinite).fold(0.0, f64::max), way: or_infinite(way) }
    }
}

impl Expected {
    /// Whether a result is the same within float error. In a deep network each step multiplies that: after three of
    /// 784-2500-2000-1500-1000-500-10 the last bits have moved weights by a hundredth of their way, in 784-300-100-10 by a
    /// hundred-thousandth. A wrong tile moves them by some hundredths.
    fn agrees(&self, got: &Outcome, start: &[f32]) -> bool {
        let Difference { loss, way } = Difference::between(got, &self.outcome, start);
        loss <= 1e-4 + (2.0 * self.doubt.loss).min(0.01) && way <= 2e-3 + (2.0 * self.doubt.way).min(0.05)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(losses: &[f64], parameters: &[f32]) -> Outcome {
        Outcome { losses: losses.to_vec(), parameters: parameters.to_vec() }
    }

    #[test]
    fn what_is_not_the_same_result_does_not_agree() {
        let start = [0.0f32; 100];
        let doubt = Difference { loss: 0.0, way: 0.0 };
        let want = |values: usize| Expected { outcome: outcome(&[2.0, 1.5], &vec![0.1; values]), doubt };
        let expected = want(100);
        assert!(expected.agrees(&expected.outcome, &start));
        for loss in [1.499, f64::NAN, f64::INFINITY] {
            assert!(!expected.agrees(&outcome(&[2.0, loss], &[0.1; 100]), &start), "{loss}");
        }
        assert!(expected.agrees(&outcome(&[2.0, 1.500_01], &[0.100_01; 100]), &start));
        let mut got = outcome(&[2.0, 1.5], &[0.1; 100]);
        for (value, same) in [(0.1001, true), (0.11, false), (0.0, false), (f32::NAN, false)] {
            got.parameters[17] = value;
            assert_eq!(expected.agrees(&got, &start), same, "{value}");
        }
        // What the last bits do is no fault: 0.11 is 0.01 of the way off.
        got.parameters[17] = 0.11;
        let doubted = |loss, way| Expected { doubt: Difference { loss, way }, ..want(100) };
        assert!(doubted(0.0, 0.005).agrees(&got, &start) && !doubted(0.0, 0.003).agrees(&got, &start));
        got.parameters[17] = 0.1;
        got.losses[1] = 1.501;
        assert!(doubted(0.0004, 0.0).agrees(&got, &start) && !doubted(0.0002, 0.0).agrees(&got, &start));
        assert!(!want(99).agrees(&outcome(&[2.0, 1.5], &[0.1; 100]), &start));
        assert!(!expected.agrees(&outcome(&[2.0], &[0.1; 100]), &start));
    }

    #[test]
    fn the_median_is_the_middle() {
        let times = |all: &[u64]| middle(all.iter().copied().map(Duration::from_micros).collect());
        assert_eq!(times(&[9, 1, 2, 100, 3]), Duration::from_micros(3));
        assert_eq!(times(&[7]), Duration::from_micros(7));
    }
}
