//! Models and arrays: predictions, scores, and files.

use std::path::Path;

use ndarray::{Array2, ArrayRef2};

use super::arrays::{Arrays, Columns, Missing};
use super::checks::{check_alike, values};
use super::target::{Target, TargetData};
use crate::data::{Classes, ColumnEncoding, MemoryCells, Transform};
use crate::engine::Device;
use crate::error::{Error, Place, Result};
use crate::model::Model;
use crate::output::Destination;
use crate::train::{Predictor, Score, evaluate, read_dataset_for};

/// Predictions of a model for rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// Class of each row, the first of the most probable ones, counted from 0 in the natural order of the
    /// labels; labels of 0 or 1, row-major [rows, labels], of a multi-label model; empty for regression models.
    pub classes: Vec<u32>,
    /// Probability of each class, or of label 1 of each label, [rows, classes or labels].
    pub probabilities: Array2<f64>,
    /// Predicted values of a regression model, [rows, values].
    pub values: Array2<f32>,
    /// Number of cells with a category that no training row has.
    pub unknown_cells: u64,
    names: Classes,
}

impl Predicted {
    /// Returns the label of a row, as text: numbers with as few digits as they need.
    ///
    /// # Panics
    /// If the row does not exist, or the model predicts values or several labels.
    pub fn label(&self, row: usize) -> &str {
        self.names.name(self.classes[row])
    }

    /// Returns the label of each row; empty for regression models, meaningless for several labels.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = &str> {
        self.classes.iter().map(|class| self.names.name(*class))
    }
}

impl Model {
    /// Predicts rows, [rows, columns], on the CPU. A [`Predictor`] gives the same predictions, and is created
    /// once for many calls.
    ///
    /// # Errors
    /// [`Error::Data`] for a different number of columns than in training, and for NaN in columns without
    /// missing values in training;
    /// [`Error::NonFinitePrediction`] for values that are too large for the network.
    pub fn predict(&self, x: &ArrayRef2<f32>) -> Result<Predicted> {
        self.predict_on(x, &Device::Cpu)
    }

    /// Predicts as [`Model::predict`] does, on a device.
    ///
    /// # Errors
    /// Errors of [`Model::predict`] and of the device.
    pub fn predict_on(&self, x: &ArrayRef2<f32>, device: &Device) -> Result<Predicted> {
        let (cells, name) = (self.cells(x)?, Path::new("x").to_owned());
        let (features, dictionaries) = cells.features(&name)?;
        let mut predictor = Predictor::new(self, device, None)?;
        let predictions = predictor.predict(features, &dictionaries)?;
        let outputs = self.network.outputs();
        let mut numbers = predictions
            .values
            .iter()
            .copied()
            .map(f64::from)
            .chain(predictions.probabilities.iter().copied());
        if let Some(number) = numbers.position(|number| !number.is_finite()) {
            return Err(Error::NonFinitePrediction { path: name, sample: 1 + (number / outputs) as u64 });
        }
        let width = |is_empty| if is_empty { 0 } else { outputs };
        let shape = |is_empty| (x.nrows(), width(is_empty));
        let unshaped = |error| Error::Config(format!("the predictions have another shape: {error}"));
        Ok(Predicted {
            classes: predictions.classes,
            probabilities: Array2::from_shape_vec(
                shape(predictions.probabilities.is_empty()),
                predictions.probabilities,
            )
            .map_err(unshaped)?,
            values: Array2::from_shape_vec(shape(predictions.values.is_empty()), predictions.values)
                .map_err(unshaped)?,
            unknown_cells: predictor.unknown_cells().count(),
            names: self.data_schema.classes.clone(),
        })
    }

    /// Evaluates the model on rows, [rows, columns], with their targets, on the CPU: loss, accuracy, and for
    /// values RMSE, MAE and R2.
    ///
    /// # Errors
    /// See [`Model::predict`]; [`Error::Data`] for labels that no training row had, and for other differences
    /// from training.
    pub fn score(&self, x: &ArrayRef2<f32>, y: &(impl Target + ?Sized)) -> Result<Score> {
        let y = y.target_data();
        let columns = match self.network.outputs() {
            _ if self.network.loss().of_classes() => None,
            columns => Some(if self.network.quantiles() > 0 { 1 } else { columns }),
        };
        check_alike("y", &y, &TargetData::like(columns))?;
        // Reports the same errors as a prediction of these rows.
        self.cells(x)?;
        let columns =
            Columns { categorical: self.transform.categories(), missing: Missing::Fill, weights: None };
        let reader = Arrays { names: ["x", "y"], x: x.view(), y }.reader(&columns, false, None)?;
        let (rows, _) = read_dataset_for(self, reader)?;
        Ok(evaluate(self, &rows, &Device::Cpu)?.score)
    }

    /// Writes the model's file atomically, replacing an existing file.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Destination::check(path.as_ref())?.write(&self.to_bytes()?)
    }

    /// Returns rows to predict, as cells of a table.
    fn cells(&self, x: &ArrayRef2<f32>) -> Result<MemoryCells> {
        let inputs = self.transform.columns(self.network.columns());
        if x.ncols() != inputs {
            let expected = format!("{inputs} columns, as in training");
            return Err(Error::data("x", Place::default(), expected, x.ncols().to_string()));
        }
        let may_miss = |column: usize| match &self.transform {
            Transform::Columns(encoding) => match encoding.columns[column] {
                ColumnEncoding::Number { has_indicator: is_known, .. }
                | ColumnEncoding::Category { has_missing: is_known, .. } => is_known,
            },
            Transform::Bytes | Transform::None => false,
        };
        let values = values("x", x.view(), may_miss, "NaN, where no training row misses a value")?;
        let categorical = self.transform.categories();
        Ok(MemoryCells { inputs, values, texts: vec![None; categorical.len()], categorical })
    }
}
