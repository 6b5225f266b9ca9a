//! Some training steps in a file, for comparison with another framework.

use std::collections::BTreeMap;

use super::targets::dataset;
use super::tensor_file::TensorFile;
use crate::data::{Dataset, Features, Targets};
use crate::engine::{Device, Drive};
use crate::error::{Error, Result};
use crate::model::{Parameters, tensor_file};
use crate::settings::{DatasetInfo, TrainSettings};
use crate::step::{Distortion, ImageSize, Loss, UpdateRule};
use crate::threads::block;
use crate::train::{ClassWeights, Config};

/// Inputs, hidden layers and outputs of the network.
const INPUTS: usize = 20;
const HIDDEN: [usize; 3] = [32, 24, 16];
const OUTPUTS: usize = 10;

/// Size of the images that the inputs are if they are distorted.
const IMAGE: ImageSize = ImageSize { height: 4, width: 5, channels: 1 };

/// Rows of a batch, and steps of an epoch.
const BATCH: usize = 32;
const EPOCH_STEPS: usize = 5;

/// Training steps on a device, with inputs and results.
#[derive(Debug, Clone)]
pub struct TrainingRecord {
    file: TensorFile,
    /// Settings by name.
    settings: BTreeMap<String, String>,
}

impl TrainingRecord {
    /// Returns the settings of `steps` steps, with the fixed sizes of the network and batch.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first setting that is out of range.
    pub fn config(settings: &TrainSettings, steps: usize) -> Result<Config> {
        let settings = TrainSettings {
            hidden: Some(HIDDEN.to_vec().into()),
            batch_size: Some(BATCH),
            epochs: Some(steps.div_ceil(EPOCH_STEPS)),
            ..settings.clone()
        };
        settings.resolve(&DatasetInfo::default())
    }

    /// Trains a random network for `steps` steps of one epoch on random rows on the device, with the settings of
    /// [`TrainingRecord::config`]. Distorted rows are images of 4 x 5 pixels.
    ///
    /// # Errors
    /// Errors of the settings and of the device.
    pub fn from_device(device: &Device, config: &Config, steps: usize) -> Result<Self> {
        let network = config.network(INPUTS, OUTPUTS, BATCH)?;
        let before = Parameters::initial(&network, config.init, config.seed);
        let data = rows(config, steps * BATCH)?;
        let is_weighted = !data.weights.is_empty();
        let mut options = config.training_options(&network, BATCH, Some(EPOCH_STEPS * BATCH), is_weighted);
        if !config.augment.is_none() {
            options.distortion = Some(Distortion::new(&config.augment, IMAGE, config.seed)?);
        }
        let mut engine = device.engine(&before, &network, &options)?;
        let order: Vec<u32> = (0..data.rows() as u32).collect();
        engine.train(&data.view(), &order, &mut |_| Ok(()))?;
        engine.finish(&mut |_| Ok(()))?;
        let (after, state) = block(engine.snapshot())?;

        let Features::Floats(x) = &data.features else {
            return Err(Error::Config("the rows are not floats".to_owned()));
        };
        let mut file = TensorFile::default();
        file.floats("x", &[steps, BATCH, INPUTS], x);
        match &data.targets {
            Targets::Classes(labels) => file.classes("targets", &[steps, BATCH], labels),
            Targets::Values { columns, values } => file.floats("targets", &[steps, BATCH, *columns], values),
        }
        if is_weighted {
            file.floats("weights", &[steps, BATCH], &data.weights);
        }
        file.parameters("", "", &before);
        file.parameters("", "_after", &after);
        for (number, state) in (1..).zip(&state.optimizer) {
            file.parameters("", &format!("_state{number}"), state);
        }
        let UpdateRule { rates, .. } = &options.rule;
        let mut settings = config.settings();
        settings.extend(
            [
                ("steps", steps.to_string()),
                ("epoch_steps", EPOCH_STEPS.to_string()),
                ("lr_gamma", rates.gamma.to_string()),
                ("lr_every", rates.every.to_string()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        Ok(Self { file, settings })
    }

    /// Returns a safetensors file: `x [steps, batch, inputs]` (f32); `targets`, classes [steps, batch] (i64)
    /// or values [steps, batch, outputs] (f32); `weights [steps, batch]` (f32), if rows have weights; for
    /// layer n = 1, 2, ... `wn [inputs, outputs]` and `bn [outputs]` before, `wn_after` and `bn_after` after
    /// all steps, and `wn_state1` and so on for the optimizer's state (f32). The metadata have one entry,
    /// `tinytrain`: the settings by name, as a JSON object.
    ///
    /// # Errors
    /// [`Error::Config`] when the format cannot represent them.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        tensor_file(&self.file.tensors, Some(serde_json::json!(self.settings).to_string()))
    }
}

/// Returns random rows, with targets for the loss, weighted by class if the settings have class weights.
fn rows(config: &Config, rows: usize) -> Result<Dataset> {
    let data = dataset(config.loss, config.seed, rows, [INPUTS, OUTPUTS]);
    let weights = match &config.class_weights {
        ClassWeights::Given(weights) if weights.len() == OUTPUTS => {
            let classes = dataset(Loss::CrossEntropy, config.seed, rows, [INPUTS, OUTPUTS]);
            classes.labels().iter().map(|label| weights[*label as usize]).collect()
        }
        ClassWeights::None => Vec::new(),
        ClassWeights::Given(_) | ClassWeights::Balanced => {
            return Err(Error::setting(
                "class-weights",
                format!("{OUTPUTS} numbers, one for each class"),
                "others",
            ));
        }
    };
    Ok(Dataset { weights, ..data })
}
