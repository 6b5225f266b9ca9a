//! Training data that one run has for itself, or that many share.

use std::ops::Deref;
use std::sync::Arc;

use super::config::ClassWeights;
use super::training_data::TrainingData;
use crate::data::{Dataset, UnknownCells};
use crate::engine::TeamRows;
use crate::error::{Error, Result};
use crate::model::DataSchema;

/// The rows that validate, and those that test.
pub(crate) type HeldOutRows = [Option<Dataset>; 2];

/// Data that many runs train on at once: all rows are read, weighed, and inputs of a network.
pub struct SharedData {
    data: TrainingData,
    held_out: Arc<HeldOutRows>,
    unknown: UnknownCells,
    team_rows: Arc<TeamRows>,
}

impl SharedData {
    /// Reads all that is left, and weighs the rows by their classes.
    ///
    /// # Errors
    /// Those of the data; [`Error::Setting`] if there are not as many weights as classes.
    pub fn new(mut data: TrainingData, weights: &ClassWeights) -> Result<Arc<Self>> {
        data.read_all()?;
        if u32::try_from(data.reader.rows()).is_err() {
            return Err(Error::Config(format!("more than {} rows are too many", u32::MAX)));
        }
        data.weigh_classes(weights)?;
        let (inputs, data_schema) = (data.inputs(), data.data_schema());
        let mut unknown = UnknownCells::default();
        let held_out =
            Arc::new(data.held_out_rows_for(inputs, &data_schema, &mut |_, cells| unknown.extend(&cells))?);
        Ok(Arc::new(Self { data, held_out, unknown, team_rows: Arc::default() }))
    }

    /// The rows that train.
    pub fn training(&self) -> &TrainingData {
        &self.data
    }

    /// The rows that train, as teams on the processor take them.
    pub(crate) fn team_rows(&self) -> &Arc<TeamRows> {
        &self.team_rows
    }

    /// The rows that validate.
    pub fn validation(&self) -> Option<&Dataset> {
        self.held_out[0].as_ref()
    }

    /// The rows that test.
    pub fn test(&self) -> Option<&Dataset> {
        self.held_out[1].as_ref()
    }

    /// The cells of rows that do not train that hold what the training rows did not.
    pub fn unknown_cells(&self) -> &UnknownCells {
        &self.unknown
    }
}

/// What a run trains on.
pub(crate) enum RunData {
    /// The run's own data, which may still be read.
    Own(Box<TrainingData>),
    /// Data that several runs share.
    Shared(Arc<SharedData>),
}

impl RunData {
    /// The rows that do not train, where they are read already.
    pub(super) fn held_out(&self) -> Option<Arc<HeldOutRows>> {
        match self {
            RunData::Own(_) => None,
            RunData::Shared(shared) => Some(Arc::clone(&shared.held_out)),
        }
    }

    /// Whether there are rows to validate on.
    pub(super) fn validates(&self) -> bool {
        match self {
            RunData::Own(data) => data.validates(),
            RunData::Shared(shared) => shared.validation().is_some(),
        }
    }

    /// The run's own data; what is shared needs nothing more.
    pub(super) fn own(&mut self) -> Option<&mut TrainingData> {
        match self {
            RunData::Own(data) => Some(data),
            RunData::Shared(_) => None,
        }
    }

    /// Reads the rows of its own that do not train, for a network with these inputs; `unknown` takes the name of each set
    /// that has cells with what no training row held, and how many cells they are.
    pub(super) fn take_held_out(
        &mut self,
        inputs: usize,
        data_schema: &DataSchema,
        mut unknown: impl FnMut(&'static str, UnknownCells),
    ) -> Result<HeldOutRows> {
        let Some(data) = self.own() else { return Ok([None, None]) };
        data.held_out_rows_for(inputs, data_schema, &mut unknown)
    }

    /// Waits for a block of rows more.
    pub(super) fn read_block(&mut self) -> Result<()> {
        self.own().map_or(Ok(()), |data| data.reader.next_block().map(|_| ()))
    }
}

impl Deref for RunData {
    type Target = TrainingData;

    fn deref(&self) -> &TrainingData {
        match self {
            RunData::Own(data) => data,
            RunData::Shared(shared) => &shared.data,
        }
    }
}
