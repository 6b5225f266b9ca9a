//! Training data of one run, or shared by several.

use std::ops::Deref;
use std::sync::Arc;

use super::config::ClassWeights;
use super::training_data::TrainingData;
use crate::data::{Dataset, UnknownCells};
use crate::engine::TeamRows;
use crate::error::{Error, Result};
use crate::model::DataSchema;

/// Validation rows and test rows.
pub(crate) type HeldOutRows = [Option<Dataset>; 2];

/// Data that many runs train on at the same time: all rows are read, weighted, and encoded as network inputs.
pub struct SharedData {
    data: TrainingData,
    held_out: Arc<HeldOutRows>,
    unknown: UnknownCells,
    team_rows: Arc<TeamRows>,
}

impl SharedData {
    /// Reads all remaining rows, and weights them by their classes.
    ///
    /// # Errors
    /// Errors of the data; [`Error::Setting`] if the number of weights is not the number of classes.
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

    /// Returns the training rows.
    pub fn training(&self) -> &TrainingData {
        &self.data
    }

    /// Returns the training rows in the form for teams of the CPU engine.
    pub(crate) fn team_rows(&self) -> &Arc<TeamRows> {
        &self.team_rows
    }

    /// Returns the validation rows.
    pub fn validation(&self) -> Option<&Dataset> {
        self.held_out[0].as_ref()
    }

    /// Returns the test rows.
    pub fn test(&self) -> Option<&Dataset> {
        self.held_out[1].as_ref()
    }

    /// Returns the unknown cells of the validation and test rows.
    pub fn unknown_cells(&self) -> &UnknownCells {
        &self.unknown
    }
}

/// Training data of a run.
pub(crate) enum RunData {
    /// Data of this run only, which may still be read.
    Own(Box<TrainingData>),
    /// Data that several runs share.
    Shared(Arc<SharedData>),
}

impl RunData {
    /// Returns the validation and test rows, if they have been read.
    pub(super) fn held_out(&self) -> Option<Arc<HeldOutRows>> {
        match self {
            RunData::Own(_) => None,
            RunData::Shared(shared) => Some(Arc::clone(&shared.held_out)),
        }
    }

    /// Returns whether there are validation rows.
    pub(super) fn validates(&self) -> bool {
        match self {
            RunData::Own(data) => data.validates(),
            RunData::Shared(shared) => shared.validation().is_some(),
        }
    }

    /// Returns the data of this run only; `None` for shared data, which are complete.
    pub(super) fn own(&mut self) -> Option<&mut TrainingData> {
        match self {
            RunData::Own(data) => Some(data),
            RunData::Shared(_) => None,
        }
    }

    /// Reads the validation and test rows of data that are not shared, for a network with these inputs;
    /// `unknown` receives the name of each set with unknown cells, and their number.
    pub(super) fn take_held_out(
        &mut self,
        inputs: usize,
        data_schema: &DataSchema,
        mut unknown: impl FnMut(&'static str, UnknownCells),
    ) -> Result<HeldOutRows> {
        let Some(data) = self.own() else { return Ok([None, None]) };
        data.held_out_rows_for(inputs, data_schema, &mut unknown)
    }

    /// Waits for one more block of rows.
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
