//! Trains networks on arrays and on what readers deliver.

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

/// Trains networks: settings, and then rows. See the [module](super).
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

/// Rows that do not train.
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
    /// A trainer with the settings that `tinytrain train` has as options.
    pub fn new(settings: TrainSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// What trains; otherwise a real GPU if there is one and the CPU engine would not be done before it has begun, else that engine. Names are read as `--device` reads them:
    /// `"cpu".parse()`.
    #[must_use]
    pub fn device(mut self, device: DeviceRequest) -> Self {
        self.device = device;
        self
    }

    /// How a GPU is opened: where compiled kernels are kept for the next time, and what they check.
    #[cfg(feature = "gpu")]
    #[must_use]
    pub fn device_options(mut self, device_options: DeviceOptions) -> Self {
        self.device_options = device_options;
        self
    }

    /// Columns of arrays that are categories, counted from 0, whatever numbers stand there.
    #[must_use]
    pub fn categorical(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.columns.categorical = columns.into_iter().collect();
        self.columns.categorical.sort_unstable();
        self.columns.categorical.dedup();
        self
    }

    /// What becomes of NaN among the inputs of arrays; otherwise it is an error.
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> Self {
        self.columns.missing = missing;
        self
    }

    /// How much each row of the arrays to train on counts in the loss: a number of 0 or more.
    #[must_use]
    pub fn weights(mut self, weights: impl IntoIterator<Item = f32>) -> Self {
        self.columns.weights = Some(weights.into_iter().collect());
        self
    }

    /// Rows to validate on, [rows, columns], with what they should give: the model that is best on them is kept.
    #[must_use]
    pub fn validation(mut self, x: &ArrayRef2<f32>, y: &(impl Target + ?Sized)) -> Self {
        self.validation = Some(Rows::from_arrays(x, y));
        self
    }

    /// Rows to test on after every epoch, [rows, columns], with what they should give. They are never used to choose anything.
    #[must_use]
    pub fn test(mut self, x: &ArrayRef2<f32>, y: &(impl Target + ?Sized)) -> Self {
        self.test = Some(Rows::from_arrays(x, y));
        self
    }

    /// Trains on rows, [rows, columns], with what they should give, and hands over the model that is kept.
    ///
    /// # Errors
    /// As [`Trainer::start`], [`Run::next`] and [`Run::summary`].
    pub fn fit(&self, x: &ArrayRef2<f32>, y: &(impl Target + ?Sized)) -> Result<Model> {
        finish(self.start(x, y)?)
    }

    /// As [`Trainer::fit`], event by event: returns a run that has not begun.
    ///
    /// # Errors
    /// [`Error::Data`] for arrays whose shapes do not go together, for values that are no finite numbers, and
    /// for labels that are no classes; [`Error::Setting`] and [`Error::Config`] for
    /// settings that cannot be; [`Error::Device`] if the device is not there.
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

    /// Trains on what a reader delivers, and hands over the model that is kept.
    ///
    /// # Errors
    /// As [`Trainer::start_reader`], [`Run::next`] and [`Run::summary`].
    pub fn fit_reader(&self, reader: Reader) -> Result<Model> {
        finish(self.start_reader(reader, None, None)?)
    }

    /// A run that has not begun on what a reader delivers, with rows to validate on and to test on, if there are any. How columns
    /// are read is said to the readers.
    ///
    /// # Errors
    /// Those of the data, and as [`Trainer::start`]; [`Error::Setting`] for settings of arrays.
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

/// Goes through a run to its end.
fn finish(mut run: Run) -> Result<Model> {
    while run.next()?.is_some() {}
    Ok(run.summary()?.model)
}
