//! One step of whole networks in which every activation, loss and optimizer has its turn, with dropout, weights of the rows,
//! label smoothing, clipping and factors of the learning rate.

use ndarray::Array2;

use super::optimizers::rule;
use super::{Figures, Sink, labels, outcome, random, wide};
use crate::data::{Dataset, Features, Targets};
use crate::engine::{Drive, Engine, EngineOptions};
use crate::error::Result;
use crate::model::{Dense, Network, Parameters};
use crate::reference::{self, ReferenceNetwork, ReferenceRun, bounds, ops};
use crate::schedule::ScheduleKind;
use crate::step::{Activation, Loss, OptimizerKind, UpdateRule};

const SIZES: [usize; 4] = [13, 18, 11, 5];
const ROWS: usize = 33;

/// Makes an engine with these parameters.
pub(super) type Make<'a> = dyn Fn(&Parameters, &Network, &EngineOptions) -> Result<Box<dyn Engine>> + 'a;

/// A network, its rule, and one batch.
struct Problem {
    network: Network,
    parameters: Parameters,
    options: EngineOptions,
    x: Array2<f32>,
    classes: Vec<u32>,
    values: Array2<f32>,
    weights: Vec<f32>,
}

impl Problem {
    /// Two of the activations go with each optimizer.
    fn new(number: usize, kind: OptimizerKind) -> Result<Self> {
        let activation = |place: usize| Activation::ALL[(2 * number + place) % Activation::ALL.len()];
        let loss = Loss::ALL[number % Loss::ALL.len()];
        let layers = vec![
            Dense { units: SIZES[1], activation: activation(0), dropout: 0.25 * (number % 2) as f32 },
            Dense::new(SIZES[2], activation(1)),
            Dense::new(SIZES[3], Activation::Identity),
        ];
        let network = Network::new(SIZES[0], layers, loss)?;
        let rule = UpdateRule {
            clip_norm: Some(0.4).filter(|_| number % 3 == 2),
            label_smoothing: if loss.of_classes() { 0.1 } else { 0.0 },
            ..rule(kind)
        };
        let options = EngineOptions { rule, weighted: true, ..EngineOptions::sgd(ROWS, 0.1) };
        Ok(Self {
            parameters: Parameters::he_normal(&network, 4),
            network,
            options,
            x: random(ROWS, SIZES[0], 90),
            classes: labels(ROWS, SIZES[3]),
            values: random(ROWS, SIZES[3], 91),
            weights: (0..ROWS).map(|row| [1.0, 0.5, 2.0][row % 3]).collect(),
        })
    }

    /// Loss and optimizer.
    fn subject(&self) -> String {
        format!("{} {}", self.network.loss(), self.options.rule.optimizer.kind)
    }

    /// Inputs, activations, outputs.
    fn shape(&self) -> String {
        let dense = self.network.dense();
        format!("{}-{}-{}-{}", SIZES[0], dense[0].activation, dense[1].activation, SIZES[3])
    }

    fn data(&self) -> Dataset {
        let flat = |matrix: &Array2<f32>| matrix.iter().copied().collect::<Vec<f32>>();
        let targets = match self.network.loss().of_classes() {
            true => Targets::Classes(self.classes.clone()),
            false => Targets::Values { columns: SIZES[3], values: flat(&self.values) },
        };
        let features = Features::Floats(flat(&self.x));
        Dataset { inputs: SIZES[0], features, targets, weights: self.weights.clone() }
    }

    /// Parameters and state after one step, number by number, as near to the reference as the gradient is.
    fn one_step(&self, engine: &mut dyn Engine) -> Result<Figures> {
        let (rule, data) = (&self.options.rule, self.data());
        engine.train(&data.view(), &Vec::from_iter(0..ROWS as u32), &mut |_| Ok(()))?;
        engine.finish(&mut |_| Ok(()))?;
        let (parameters, state) = engine.snapshot()?;
        let got = [parameters].into_iter().chain(state.optimizer);

        let (x, values) = (wide(&self.x), wide(&self.values));
        let classes = super::indices(&self.classes);
        let weights: Vec<f64> = self.weights.iter().copied().map(f64::from).collect();
        let targets = match self.network.loss().of_classes() {
            true => reference::ReferenceTargets::classes(&classes),
            false => reference::ReferenceTargets::values(values.view()),
        };
        let targets = targets.weighted(&weights);
        let run = ReferenceRun::new(ReferenceNetwork::new(&self.network, &self.parameters), rule.clone());
        let smoothed = targets.smoothed(f64::from(rule.label_smoothing));
        let pass = run.network.pass(x.view(), Some(&rule.record(0)));
        let mut of_g = flat(&bounds::gradients_of(&run.network, &pass, &smoothed));
        let plain = flat(&run.network.gradients_of(&pass, &smoothed));
        let g = flat(&run.gradients(x.view(), targets, 0));
        // Clipping scales all by the same number, which is off as the norm is.
        let norm = |all: &[f64]| all.iter().map(|g| g * g).sum::<f64>().sqrt();
        let (scale, relative) = (norm(&g) / norm(&plain), norm(&of_g) / norm(&plain) + 1e-6);
        if rule.clip_norm.is_some() {
            of_g.iter_mut().zip(&g).for_each(|(bound, g)| *bound = *bound * scale + relative * g.abs());
        }
        let before = flat(&run.network);
        let updated: Vec<[[f64; 2]; 3]> = self
            .places()
            .enumerate()
            .map(|(i, [layer, bias])| {
                let decays = bias == 0 || ops::decays_biases(rule.optimizer.kind);
                let decay = if decays { rule.optimizer.weight_decay } else { 0.0 };
                let settings = [rule.rates.at(0) * rule.factors.of(layer)[bias], decay].map(f64::from);
                bounds::optimize(&rule.optimizer, (before[i], g[i], of_g[i]), [0.0; 2], settings, 1)
            })
            .collect();
        let mut figures = Figures::default();
        for (place, got) in got.enumerate() {
            let largest = updated.iter().fold(f64::MIN_POSITIVE, |most, it| most.max(it[place][0].abs()));
            for (i, got) in got.numbers().enumerate() {
                let [want, bound] = updated[i][place];
                // An update may add the products of the batch to the weight itself: a rounding each, at its size.
                let roundings = (ROWS as f64 / 2.0 + 2.0) * f64::from(f32::EPSILON);
                figures.got.push(f64::from(got));
                figures.want.push(want);
                figures.magnitude.push(largest);
                figures.bound.push(bound + roundings * before[i].abs());
            }
        }
        Ok(figures)
    }

    /// For each number of the network, weights and biases in turn: its layer, and whether it is of a bias.
    fn places(&self) -> impl Iterator<Item = [usize; 2]> {
        let layers = self.network.layers().enumerate();
        layers.flat_map(|(layer, (inputs, outputs))| {
            let weights = std::iter::repeat_n([layer, 0], inputs * outputs);
            weights.chain(std::iter::repeat_n([layer, 1], outputs))
        })
    }
}

/// Every number of a network, weights and bias of each layer in turn.
fn flat(network: &ReferenceNetwork) -> Vec<f64> {
    let both = network.weights.iter().zip(&network.biases);
    both.flat_map(|(w, b)| w.iter().chain(b).copied()).collect()
}

/// Checks one step with each optimizer; the schedules take turns.
pub(super) fn run(make: &Make<'_>, schedules: &[ScheduleKind], sink: &mut Sink<'_>) -> Result<()> {
    for (number, kind) in OptimizerKind::ALL.iter().enumerate() {
        let problem = Problem::new(number, *kind)?;
        let schedule = schedules.get(number % schedules.len().max(1)).copied();
        let options = EngineOptions { schedule, ..problem.options.clone() };
        let got = make(&problem.parameters, &problem.network, &options);
        let got = got.and_then(|mut engine| problem.one_step(&mut *engine));
        let schedule = schedule.map_or(String::new(), |schedule| format!(", {schedule}"));
        sink(outcome(&format!("{}{schedule}", problem.subject()), &problem.shape(), got));
    }
    Ok(())
}
