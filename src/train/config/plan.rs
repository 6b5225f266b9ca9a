//! The network and the engine options of a run, from the settings and the data.

use crate::data::Transform;
use crate::engine::{Device, EngineOptions, EngineState, Load};
use crate::error::{Error, Result};
use crate::memory::check_memory;
use crate::model::{Dense, InputLayer, Network, Parameters};
use crate::step::{Activation, Distortion, ImageSize, RateSchedule};
use crate::train::{Config, TrainingData};

impl Config {
    /// Returns the network for these data, and the options for training it on this device, if both fit on it.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) and [`Error::Config`](crate::Error::Config) for settings
    /// that do not fit these data; [`Error::Device`](crate::Error::Device) if the device cannot hold the
    /// buffers.
    pub fn plan(&self, data: &TrainingData, device: &Device) -> Result<(Network, EngineOptions)> {
        let batch = self.batch_size.min(data.rows().unwrap_or(usize::MAX));
        data.check_loss(self.loss)?;
        let network = self.network_for(data, batch)?;
        let options = self.training_options(&network, batch, data.rows(), data.is_weighted());
        let options = EngineOptions { distortion: self.distortion(data)?, ..options };
        // The rule now depends on the number of steps.
        options.rule.validate()?;
        device.check(&network, options.rule.optimizer.kind.states(), batch)?;
        Ok((network, options))
    }

    /// Returns whether the CPU engine trains on these data faster than a GPU, for
    /// [`find_device_for`](crate::engine::find_device_for). False if the number of rows is unknown, or with a
    /// schedule, which only GPUs have.
    ///
    /// # Errors
    /// As [`Config::plan`].
    pub fn is_short(&self, data: &TrainingData) -> Result<bool> {
        Ok(self.schedule.is_none() && self.load(data)?.is_some_and(|load| load.is_short(self.threads)))
    }

    /// Returns the amount of work, if the number of rows is known.
    ///
    /// # Errors
    /// As [`Config::plan`].
    pub(crate) fn load(&self, data: &TrainingData) -> Result<Option<Load>> {
        let Some(rows) = data.rows() else { return Ok(None) };
        let (network, EngineOptions { batch, .. }) = self.plan(data, &Device::Cpu)?;
        let (epochs, steps) = (self.epochs as f64, rows.div_ceil(batch.max(1)) as f64);
        // Forward, and backward to the inputs and to the weights of each layer.
        let multiply_adds = 3.0 * epochs * network.parameter_count() as f64 * rows as f64;
        Ok(Some(Load { multiply_adds, calls: epochs * steps }))
    }

    /// Returns the distortions of these data.
    ///
    /// # Errors
    /// [`Error::Setting`] if the data are not images whose background is 0; [`Error::Config`] if memory is too small
    /// for distorted copies.
    fn distortion(&self, data: &TrainingData) -> Result<Option<Distortion>> {
        if self.augment.is_none() {
            return Ok(None);
        }
        let Some(form) = data.image_of_bytes() else {
            let expected = "images of bytes with --scale auto or bytes, to distort them";
            return Err(Error::setting("augment", expected, "other inputs"));
        };
        let value = if *data.transform() == Transform::Bytes { size_of::<u8>() } else { size_of::<f32>() };
        let bytes = data.rows().unwrap_or(0) as u128 * (form.values() * value) as u128;
        check_memory(bytes, "distorted copies of the images")?;
        let size = ImageSize { height: form.height, width: form.width, channels: form.channels() };
        Distortion::new(&self.augment, size, self.seed).map(Some)
    }

    /// Returns the initial parameters of a network.
    pub fn initial_parameters(&self, network: &Network) -> Parameters {
        Parameters::initial(network, self.init, self.initial_seed())
    }

    /// Returns an optimizer state from earlier training if these settings can continue it: `None` for another
    /// kind of optimizer, and for learning rates that depend on the number of steps, which restarts.
    pub(crate) fn continued<'a>(&self, state: &'a EngineState, network: &Network) -> Option<&'a EngineState> {
        let are_fit = state.optimizer.len() == self.optimizer.kind.states()
            && state.optimizer.iter().all(|parameters| parameters.fits(network));
        (are_fit && self.rate_schedule == RateSchedule::Constant).then_some(state)
    }

    /// Returns the options for training in batches of at most `batch` of `rows` rows, if known; `weighted` is
    /// whether rows have weights.
    pub fn training_options(
        &self,
        network: &Network,
        batch: usize,
        rows: Option<usize>,
        weighted: bool,
    ) -> EngineOptions {
        let mut options = EngineOptions { weighted, ..self.engine_options(batch) };
        options.rule = self.rule(batch, rows);
        if self.ntk {
            // Optimizers with a mean of squares divide by its root.
            let divides = self.optimizer.kind.betas() > 0;
            let factor = |inputs: usize| 1.0 / if divides { (inputs as f32).sqrt() } else { inputs as f32 };
            options.rule.factors.layer_weights = network.layers().map(|(inputs, _)| factor(inputs)).collect();
        }
        options
    }

    /// Returns [`Config::training_options`] for an unknown number of rows, without weights, and with rates
    /// that do not depend on layer sizes.
    pub fn engine_options(&self, batch: usize) -> EngineOptions {
        let (schedule, threads) = (self.schedule, self.threads);
        EngineOptions {
            batch,
            rule: self.rule(batch, None),
            weighted: false,
            schedule,
            threads,
            distortion: None,
        }
    }

    /// Returns the network for these data, if it and batches of `batch` rows fit in memory.
    ///
    /// # Errors
    /// As [`Config::network`].
    pub fn network_for(&self, data: &TrainingData, batch: usize) -> Result<Network> {
        let layer = self.data.inputs.layer(data.transform(), data.inputs())?;
        self.network_with_input_layer(layer, data.inputs(), data.outputs(), batch)
    }

    /// Returns the network for data of this shape, if it and batches of `batch` rows fit in memory.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if memory is too small; nothing has been allocated then.
    pub fn network(&self, inputs: usize, outputs: usize, batch: usize) -> Result<Network> {
        self.network_with_input_layer(None, inputs, outputs, batch)
    }

    fn network_with_input_layer(
        &self,
        layer: Option<InputLayer>,
        inputs: usize,
        outputs: usize,
        batch: usize,
    ) -> Result<Network> {
        let inputs = layer.as_ref().map_or(inputs, InputLayer::inputs);
        let hidden = self.hidden.iter().enumerate().map(|(index, units)| {
            let activation = self.activation.get(index).or(self.activation.first());
            let dropout = self.dropout.get(index).or(self.dropout.first());
            Dense {
                units: *units,
                activation: activation.copied().unwrap_or(Activation::Relu),
                dropout: dropout.copied().unwrap_or(0.0),
            }
        });
        let layers = hidden.chain([Dense::new(outputs, Activation::Identity)]).collect();
        let network = Network::new(inputs, layers, self.loss)?;
        let network = match layer {
            Some(layer) => network.with_input_layer(layer)?,
            None => network,
        };
        let sizes = network.sizes();
        self.check_network_memory(&network)?;
        let widths: u128 = sizes.iter().map(|size| *size as u128).sum();
        // Activations and their gradients, f32.
        let bytes = widths.saturating_mul(batch as u128).saturating_mul(2 * size_of::<f32>() as u128);
        check_memory(bytes, &format!("a batch of {batch} rows of a {network} network"))?;
        Ok(network)
    }

    /// Checks that memory holds all copies of the parameters of a network.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if memory is too small.
    pub(in crate::train) fn check_network_memory(&self, network: &Network) -> Result<()> {
        // The engine's copy, gradients and states of the optimizer, and while saving, the model's copy and
        // three forms of the file's contents.
        let gradients = usize::from(!self.rule(self.batch_size, None).is_plain_sgd());
        let copies = 5 + gradients + self.optimizer.kind.states();
        let bytes = (network.parameter_count() as u128).saturating_mul((copies * size_of::<f32>()) as u128);
        check_memory(bytes, &format!("a {network} network"))
    }
}
