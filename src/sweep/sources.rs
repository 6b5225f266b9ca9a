//! Data of a sweep: read once, and preprocessed once for all members with the same preprocessing.

use std::sync::Arc;

use crate::data::{Fold, Reader, Scaling, Split};
use crate::engine::Device;
use crate::error::Result;
use crate::settings::DatasetInfo;
use crate::train::{ClassWeights, Config, DataOptions, SharedData, TrainedRows, TrainingData};

use super::member::Member;
use super::planning::{TrialPlan, of_member};

/// Settings that determine the preprocessing.
type Key = (DataOptions, ClassWeights);

/// Rows of a sweep, as read from their files, and in every form requested so far.
pub struct Sources {
    training: Reader,
    validation: Option<Reader>,
    test: Option<Reader>,
    made: Vec<(Key, Arc<SharedData>)>,
}

impl Sources {
    /// Creates sources of training, validation and test rows, which are read at the first request.
    pub fn new(training: Reader, validation: Option<Reader>, test: Option<Reader>) -> Self {
        Self { training, validation, test, made: Vec::new() }
    }

    /// Returns the data for these settings, without the rows of a given fold, which become test rows.
    ///
    /// # Errors
    /// Errors of the data; [`Error::Config`](crate::Error::Config) if another copy does not fit into memory.
    pub fn data(&mut self, config: &Config, fold: Option<Fold>) -> Result<Arc<SharedData>> {
        let split = Split { fold, ..config.data.split };
        let key = (DataOptions { split, ..config.data }, config.class_weights.clone());
        if let Some((_, data)) = self.made.iter().find(|(made, _)| *made == key) {
            return Ok(Arc::clone(data));
        }
        let training = self.training.copied()?;
        let copied = |reader: &mut Option<Reader>| reader.as_mut().map(Reader::copied).transpose();
        let (validation, test) = (copied(&mut self.validation)?, copied(&mut self.test)?);
        let data = TrainingData::new(training, validation, test, &key.0)?;
        let data = SharedData::new(data, &key.1)?;
        self.made.push((key, Arc::clone(&data)));
        Ok(data)
    }

    /// Creates the planned members, on `folds` folds or on all rows: reads the data, and prepares them in
    /// every requested form. Call [`plan_on`](super::plan_on) to set their device.
    ///
    /// # Errors
    /// Errors of the data; [`Error::Config`](crate::Error::Config) for settings that do not fit them.
    pub fn members(&mut self, planned: &[TrialPlan], folds: Option<usize>) -> Result<Vec<Member>> {
        let (validates, tests) = (self.validation.is_some(), self.test.is_some());
        // A member may leave the preset open even if the sweep does not.
        let look = |planned: &TrialPlan| {
            let info = planned.settings.inspect(&self.training, validates, tests);
            DatasetInfo { in_folds: folds.is_some(), ..info }
        };
        let known: Vec<DatasetInfo> = planned.iter().map(look).collect();
        let fold = |index| folds.map(|count| Fold { index, count });
        let mut members = Vec::with_capacity(planned.len());
        for (planned, info) in planned.iter().zip(known) {
            let (settings, number) = (&planned.settings, planned.number);
            let resolve = |info| settings.resolve(&info).map_err(|error| of_member(error, number));
            let wanted = resolve(info)?;
            let data = (0..folds.unwrap_or(1)).map(|index| self.data(&wanted, fold(index)));
            let data = data.collect::<Result<Vec<_>>>()?;
            let training = data[0].training();
            let config = resolve(info.with_data(training))?;
            config.plan(training, &Device::Cpu).map_err(|error| of_member(error, number))?;
            members.push(Member { number, config, data, is_tested: folds.is_some() });
        }
        Ok(members)
    }

    /// Returns the identity of the rows in their files: training, validation and test rows, if each has a
    /// separate file.
    ///
    /// # Errors
    /// Errors of the data.
    pub fn rows(&mut self) -> Result<[Option<TrainedRows>; 3]> {
        let of = |reader: &mut Reader| {
            reader.read_to_end()?;
            Ok(TrainedRows::from_rows(&reader.view(Scaling::AsIs)))
        };
        let held_out = [self.validation.as_mut(), self.test.as_mut()];
        let [validation, test] = held_out.map(|reader| reader.map(of).transpose());
        Ok([Some(of(&mut self.training)?), validation?, test?])
    }

    /// Returns all prepared data.
    pub fn made(&self) -> impl Iterator<Item = &Arc<SharedData>> {
        self.made.iter().map(|(_, data)| data)
    }
}
