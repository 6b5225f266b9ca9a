//! Training on arrays and on readers.

use std::sync::Arc;

use ndarray::{Array2, ArrayRef2};

use super::arrays::{Arrays, Columns, Missing};
use super::checks::check_alike;
use super::target::{Target, TargetData};
use crate::data::Reader;
use crate::engine::{DeviceRequest, find_device_for};
use crate::error::{Error, Result};
#[cfg(feature = "gpu")]
use crate::gpu::DeviceOptions;
use crate::model::Model;
use crate::settings::TrainSettings;
use crate::train::Run;

/// Trains networks from settings and rows. See the [module](super).
#[derive(Debug, Clone, Default)]
pub struct Trainer {
    /// The given settings; all others have the defaults of `tinytrain train`.
    pub settings: TrainSettings,
    columns: Columns,
    device: DeviceRequest,
    #[cfg(feature = "gpu")]
    device_options: DeviceOptions,
    validation: Option<Arc<Rows>>,
    test: Option<Arc<Rows>>,
}

/// Validation or test rows.
#[derive(Debug)]
struct Rows {
    x: Array2<f32>,
    y: TargetData,
}

impl Rows {
    fn from_arrays(x: &ArrayRef2<f32>, y: &(impl Target + ?Sized)) -> Arc<Self> {
        Arc::new(Self { x: x.to_owned(), y: y.target_data() })
    }

    fn reader(&self, names: [&str; 2], trainer: &Trainer, training: &TargetData) -> Result<Reader> {
        check_alike(names[1], &self.y, training)?;
        let arrays = Arrays { names, x: self.x.view(), y: self.y.clone() };
        arrays.reader(&trainer.columns, false, trainer.settings.threads)
    }
}

impl Trainer {
    /// Creates a trainer with these settings, the options of `tinytrain train`.
    pub fn new(settings: TrainSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Sets the device; by default a GPU if there is one and the CPU engine would not finish before it
    /// starts, otherwise the CPU engine. Names are parsed as for `--device`: `"cpu".parse()`.
    #[must_use]
    pub fn device(mut self, device: DeviceRequest) -> Self {
        self.device = device;
        self
    }

    /// Sets the options for opening a GPU: the cache of compiled kernels, and their checks.
    #[cfg(feature = "gpu")]
    #[must_use]
    pub fn device_options(mut self, device_options: DeviceOptions) -> Self {
        self.device_options = device_options;
        self
    }

    /// Sets the columns of arrays, counted from 0, that are categories, regardless of their numbers.
    #[must_use]
    pub fn categorical(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.columns.categorical = columns.into_iter().collect();
        self.columns.categorical.sort_unstable();
        self.columns.categorical.dedup();
        self
    }

    /// Sets the treatment of NaN among the inputs of arrays; by default an error.
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> Self {
        self.columns.missing = missing;
        self
    }

    /// Sets the weights of the training rows in the loss: non-negative numbers.
    #[must_use]
    pub fn weights(mut self, weights: impl IntoIterator<Item = f32>) -> Self {
        self.columns.weights = Some(weights.into_iter().collect());
        self
    }

    /// Sets the validation rows, [rows, columns], with their targets: the best model on them is kept.
    #[must_use]
    pub fn validation(mut self, x: &ArrayRef2<f32>, y: &(impl Target + ?Sized)) -> Self {
        self.validation = Some(Rows::from_arrays(x, y));
        self
    }

    /// Sets the test rows, [rows, columns], with their targets, evaluated after every epoch. They never
    /// affect training.
    #[must_use]
    pub fn test(mut self, x: &ArrayRef2<f32>, y: &(impl Target + ?Sized)) -> Self {
        self.test = Some(Rows::from_arrays(x, y));
        self
    }

    /// Trains on rows, [rows, columns], with their targets, and returns the kept model.
    ///
    /// # Errors
    /// See [`Trainer::start`], [`Run::next`] and [`Run::summary`].
    pub fn fit(&self, x: &ArrayRef2<f32>, y: &(impl Target + ?Sized)) -> Result<Model> {
        finish(self.start(x, y)?)
    }

    /// Returns a run on rows as for [`Trainer::fit`], not yet begun, which yields events.
    ///
    /// # Errors
    /// [`Error::Data`] for arrays whose shapes do not match, for values that are not finite, and for labels
    /// that are not classes; [`Error::Setting`] and [`Error::Config`] for invalid settings; [`Error::Device`]
    /// if the device does not exist.
    pub fn start(&self, x: &ArrayRef2<f32>, y: &(impl Target + ?Sized)) -> Result<Run> {
        let y = y.target_data();
        let other = |rows: &Option<Arc<Rows>>, names| {
            rows.as_ref().map(|rows| rows.reader(names, self, &y)).transpose()
        };
        let validation = other(&self.validation, ["validation x", "validation y"])?;
        let test = other(&self.test, ["test x", "test y"])?;
        let arrays = Arrays { names: ["x", "y"], x: x.view(), y };
        self.run(arrays.reader(&self.columns, true, self.settings.threads)?, validation, test)
    }

    /// Trains on the rows of a reader and returns the kept model.
    ///
    /// # Errors
    /// See [`Trainer::start_reader`], [`Run::next`] and [`Run::summary`].
    pub fn fit_reader(&self, reader: Reader) -> Result<Model> {
        finish(self.start_reader(reader, None, None)?)
    }

    /// Returns a run, not yet begun, on the rows of a reader, with validation and test rows, if there are
    /// any. Options for columns are set in the readers.
    ///
    /// # Errors
    /// Errors of the data, and errors of [`Trainer::start`]; [`Error::Setting`] for settings of arrays.
    pub fn start_reader(
        &self,
        reader: Reader,
        validation: Option<Reader>,
        test: Option<Reader>,
    ) -> Result<Run> {
        let Columns { categorical, missing, weights } = &self.columns;
        let of_arrays = [
            ("validation", self.validation.is_some()),
            ("test", self.test.is_some()),
            ("categorical", !categorical.is_empty()),
            ("missing", *missing != Missing::Error),
            ("weights", weights.is_some()),
        ];
        if let Some((setting, _)) = of_arrays.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Error::setting(setting, "rows from arrays", "rows from a reader"));
        }
        self.run(reader, validation, test)
    }

    fn run(&self, reader: Reader, validation: Option<Reader>, test: Option<Reader>) -> Result<Run> {
        let info = self.settings.inspect(&reader, validation.is_some(), test.is_some());
        let (data, config) = self.settings.prepare(info, reader, validation, test)?;
        let device = find_device_for(&self.device, config.is_short(&data)?)?;
        #[cfg(feature = "gpu")]
        let device = device.with_options(self.device_options.clone());
        Run::new(config, data, device, None)
    }
}

/// Completes a run.
fn finish(mut run: Run) -> Result<Model> {
    while run.next()?.is_some() {}
    Ok(run.summary()?.model)
}
