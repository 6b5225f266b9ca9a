//! Cross-validation: one network per fold, tested on rows that it was not trained on.

use std::time::Duration;

use crate::clock::Instant;
use crate::data::{Fold, Reader, Split};
use crate::engine::Device;
use crate::error::{Error, Result};
use crate::settings::{DatasetInfo, TrainSettings};
use crate::train::{Config, DataOptions, End, OnEvent, Score, Summary, TrainingData, train_on};

/// A cross-validation: the rows to divide into folds, and the settings of their networks.
pub struct CrossValidation {
    /// All rows.
    pub reader: Reader,
    /// Separate validation rows, if any.
    pub validation: Option<Reader>,
    /// The given settings.
    pub settings: TrainSettings,
    /// The properties of the data on which defaults of settings depend.
    pub info: DatasetInfo,
    /// The number of folds.
    pub count: usize,
}

/// A fold to be trained.
pub struct FoldRun {
    /// The number of the fold, from 0.
    pub index: usize,
    /// The settings of the fold's run.
    pub config: Config,
    /// The rows of the fold.
    pub data: TrainingData,
    begun: Instant,
}

/// The result of a fold.
#[derive(Debug)]
pub struct FoldResult {
    /// The number of the fold, from 0.
    pub index: usize,
    /// The numbers of training rows and test rows.
    pub rows: [usize; 2],
    /// The number of epochs, and the epoch of the tested model.
    pub epochs: [usize; 2],
    /// The score of the selected model on the test rows of the fold.
    pub test: Score,
    /// The score of the selected model on the validation rows.
    pub validation: Option<Score>,
    /// The duration, including the preparation of the data.
    pub duration: Duration,
    /// The reason why the network may be useless, if any.
    pub warning: Option<String>,
}

impl CrossValidation {
    /// Prepares a fold, counted from 0: its rows, and the settings of its run.
    ///
    /// # Errors
    /// Errors of the data and of the settings.
    pub fn fold(&mut self, index: usize) -> Result<FoldRun> {
        let begun = Instant::now();
        let Self { reader, validation, settings, info, count } = self;
        let rows = reader.copied()?;
        let validation = validation.as_mut().map(Reader::copied).transpose()?;
        let options = settings.resolve(info)?.data;
        let split = Split { fold: Some(Fold { index, count: *count }), ..options.split };
        let data = TrainingData::new(rows, validation, None, &DataOptions { split, ..options })?;
        let config = settings.resolve(&info.with_data(&data))?;
        Ok(FoldRun { index, config, data, begun })
    }
}

impl FoldRun {
    /// Trains the network of the fold and tests it.
    ///
    /// # Errors
    /// Errors of the run and of `on_event`; [`Error::Interrupted`] if the latter ended the run.
    pub fn train(self, device: &Device, on_event: &mut OnEvent<'_>) -> Result<FoldResult> {
        let Self { index, config, data, begun } = self;
        let rows = [data.rows().unwrap_or(0), data.held_out_rows()[1]];
        let summary = train_on(&config, data, device, &None, on_event)?;
        if let Summary { end: End::Interrupted, .. } = summary {
            return Err(Error::Interrupted);
        }
        let kept = summary.kept_epoch();
        let test = kept.and_then(|epoch| epoch.test.clone());
        Ok(FoldResult {
            index,
            rows,
            epochs: [summary.epochs.len(), summary.kept],
            test: test.ok_or_else(|| Error::Config(format!("fold {} has no rows to test on", index + 1)))?,
            validation: kept.and_then(|epoch| epoch.validation.clone()),
            duration: begun.elapsed(),
            warning: summary.warning.map(|warning| warning.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::path::Path;

    use super::*;
    use crate::data::ReadOptions;

    /// Every row is a test row once; networks that learn which of two numbers is greater are right on most rows.
    #[test]
    fn every_row_tests_in_one_fold() {
        let number = |row: u32, factor: u32| f64::from(row * factor % 101) / 100.0;
        let row = |row: u32| {
            let (a, b) = (number(row, 37), number(row, 59));
            format!("{a},{b},{}\n", if a > b { "first" } else { "second" })
        };
        let text = "a,b,class\n".to_owned() + &(0..301).map(row).collect::<String>();
        let reader = Reader::from_csv(Path::new("t"), Cursor::new(text), &ReadOptions::default()).unwrap();
        let settings = TrainSettings { epochs: Some(20), seed: Some(3), ..TrainSettings::default() };
        let info = settings.inspect(&reader, false, false);
        let mut folds = CrossValidation { reader, validation: None, settings, info, count: 3 };
        let results: Vec<FoldResult> = (0..3)
            .map(|index| folds.fold(index).unwrap().train(&Device::Cpu, &mut |_| Ok(())).unwrap())
            .collect();
        assert_eq!(results.iter().map(|fold| fold.rows[1]).sum::<usize>(), 301);
        for fold in &results {
            assert_eq!((fold.rows[0] + fold.rows[1], fold.epochs[0]), (301, 20));
            assert!(fold.test.accuracy > 0.85, "{}", fold.test.accuracy);
        }
    }
}
