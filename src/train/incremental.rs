//! Incremental training: one pass over the available rows at a time.

use std::path::Path;

use super::checkpoint::PartOfEpoch;
use super::evaluation::check_inputs;
use super::events::Score;
use super::{Config, TrainingData};
use crate::data::{Dataset, Dictionary, Targets, UnknownCells, repeated};
use crate::engine::{Batches, Device, Engine, EngineState, Order};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::step::{RateSchedule, demand};
use crate::threads::block;

/// One pass over some rows, which continues from a model and its optimizer state. The model decides the
/// encoding of columns, the classes and the shape of the network.
pub struct Pass {
    config: Config,
    model: Model,
    engine: Box<dyn Engine>,
    rows: Dataset,
    unknown: UnknownCells,
    /// Steps of all earlier passes.
    before: u64,
    submitted: usize,
    totals: PartOfEpoch,
}

/// Results of a pass.
#[derive(Debug, Clone)]
pub struct Passed {
    /// The model after the last step.
    pub model: Model,
    /// State of the optimizer.
    pub state: EngineState,
    /// Loss and accuracy over the rows, with the parameters before each step.
    pub score: Score,
}

impl Pass {
    /// Creates an untrained model for these data, for a first pass.
    ///
    /// # Errors
    /// As [`Config::plan`].
    pub fn untrained(config: &Config, data: &TrainingData, device: &Device) -> Result<Model> {
        let (network, _) = config.plan(data, device)?;
        Ok(Model {
            parameters: config.initial_parameters(&network),
            network,
            transform: data.transform().clone(),
            data_schema: data.data_schema(),
            ensemble: None,
            origin: None,
            settings: config.settings(),
        })
    }

    /// Creates a pass over rows as in a table, with a dictionary for each column of categories. Labels are
    /// indices of the model's classes, values are in their original unit, and weights multiply the loss. The
    /// optimizer state may be empty.
    ///
    /// # Errors
    /// [`Error::Setting`] for a learning rate that depends on the unknown number of steps, and for a loss
    /// other than the model's; [`Error::Data`] for rows of different width; [`Error::Config`] for different
    /// targets and for an ensemble; errors of the device.
    pub fn new(
        config: Config,
        (model, state): (Model, &EngineState),
        (rows, dictionaries): (Dataset, &[Dictionary]),
        device: &Device,
    ) -> Result<Self> {
        let expected = "constant, as nobody knows how many steps there will be";
        demand(
            config.rate_schedule == RateSchedule::Constant,
            "lr-schedule",
            expected,
            config.rate_schedule,
        )?;
        let expected = "none, as passes over a part of the rows have no epochs";
        demand(config.augment.is_none(), "augment", expected, config.augment)?;
        let network = &model.network;
        demand(config.loss == network.loss(), "loss", &network.loss().to_string(), config.loss)?;
        if model.ensemble.is_some() {
            return Err(Error::Config("an ensemble cannot be trained further".to_owned()));
        }
        let inputs = model.transform.columns(network.columns());
        check_inputs(Path::new("x"), rows.inputs, inputs)?;
        let (mut rows, unknown) = model.transform.rows(rows, dictionaries)?;
        if let Targets::Values { columns: columns @ 1, values } = &mut rows.targets
            && network.quantiles() > 0
        {
            (*columns, *values) = (network.quantiles(), repeated(values, network.quantiles()));
        }
        match (&mut rows.targets, &model.data_schema.target_scale) {
            (Targets::Values { columns, .. }, _) if *columns != network.outputs() => {
                let text = format!("expected {} values of a row, found {columns}", network.outputs());
                return Err(Error::Config(text));
            }
            (Targets::Values { values, .. }, Some(scale)) => *values = scale.scaled(values),
            (Targets::Classes(classes), _)
                if classes.iter().any(|class| *class as usize >= network.outputs()) =>
            {
                return Err(Error::Config(format!("expected one of {} classes", network.outputs())));
            }
            _ => {}
        }
        let (states, batch) = (config.optimizer.kind.states(), config.batch_size.min(rows.rows().max(1)));
        config.check_network_memory(network)?;
        device.check(network, states, batch)?;
        let options = config.training_options(network, batch, None, !rows.weights.is_empty());
        options.rule.validate()?;
        let mut engine = device.engine(&model.parameters, network, &options)?;
        let state = config.continued(state, network);
        if let Some(state) = state {
            engine.restore(&model.parameters, state)?;
        }
        let before = state.map_or(0, |state| state.step);
        Ok(Self {
            config,
            model,
            engine,
            rows,
            unknown,
            before,
            submitted: 0,
            totals: PartOfEpoch::default(),
        })
    }

    /// Returns the cells with values unknown to the model.
    pub fn unknown_cells(&self) -> &UnknownCells {
        &self.unknown
    }

    /// Trains on some batches. Returns false if no batches are left.
    ///
    /// # Errors
    /// Errors of the device; [`Error::NonFiniteLoss`].
    pub fn advance(&mut self) -> Result<bool> {
        let (rows, count) = (self.rows.view(), self.rows.rows());
        // A different order for each pass.
        let order = Order::Epoch { seed: self.config.seed, epoch: self.before as usize + 2 };
        let mut taken = 0;
        if self.submitted < count {
            taken =
                self.engine.submit(&Batches { rows, order, positions: self.submitted..count, epoch: 1 })?;
            self.submitted += taken;
        }
        let ended = block(self.engine.poll(taken == 0))?;
        for batch in &ended {
            let step = self.before + self.totals.batches + 1;
            self.totals.count(batch, step, 1, self.config.learning_rate)?;
        }
        Ok(taken > 0 || !ended.is_empty())
    }

    /// Trains on all remaining batches and returns the results.
    ///
    /// # Errors
    /// Errors of the device; [`Error::NonFiniteLoss`] and [`Error::NonFiniteModel`].
    pub fn finish(mut self) -> Result<Passed> {
        while self.advance()? {}
        let (parameters, state) = block(self.engine.snapshot())?;
        if !parameters.is_finite() {
            return Err(Error::NonFiniteModel { epoch: 1, learning_rate: self.config.learning_rate });
        }
        let mut model = self.model;
        model.parameters = parameters;
        model.origin = Some(self.engine.description().origin());
        model.settings.extend(self.config.settings());
        Ok(Passed { model, state, score: self.totals.score() })
    }
}
