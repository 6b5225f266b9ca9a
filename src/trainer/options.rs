//! The settings of a [`Trainer`]: the options of `tinytrain train`, under the same names and with the same defaults.

use std::time::Duration;

use super::builder::Trainer;
use super::each_layer::EachLayer;
use super::optimizers::OptimizerChoice;
use super::settings::Preset;
use crate::data::Scale;
use crate::model::Init;
use crate::schedule::{Measurements, ScheduleKind};
use crate::step::{Activation, Loss, RateSchedule};
use crate::train::{ClassWeights, Clip, Keep};

impl Trainer {
    /// Settings that the defaults of all others come from. Otherwise it is [`Preset::Table`] for tables with validation rows, else
    /// [`Preset::Plain`].
    #[must_use]
    pub fn preset(mut self, preset: Preset) -> Self {
        self.settings.preset = Some(preset);
        self
    }

    /// Units of the hidden layers, first to last; `[]` is none. Otherwise 300 and 100; three times 256 of [`Preset::Table`].
    #[must_use]
    pub fn hidden(mut self, sizes: impl IntoIterator<Item = usize>) -> Self {
        self.settings.hidden = Some(sizes.into_iter().collect());
        self
    }

    /// Activation of the hidden layers: one, or an array with one for each.
    #[must_use]
    pub fn activation(mut self, activation: impl Into<EachLayer<Activation>>) -> Self {
        self.settings.activation = Some(activation.into().0);
        self
    }

    /// Share of the outputs of the hidden layers that is left out of a step at random: one, or an array with one for each.
    #[must_use]
    pub fn dropout(mut self, shares: impl Into<EachLayer<f32>>) -> Self {
        self.settings.dropout = Some(shares.into().0);
        self
    }

    /// How the first weights are drawn.
    #[must_use]
    pub fn init(mut self, init: Init) -> Self {
        self.settings.init = Some(init);
        self
    }

    /// What the network is trained for. Otherwise cross-entropy of labels, and the squared error of values.
    #[must_use]
    pub fn loss(mut self, loss: Loss) -> Self {
        self.settings.loss = Some(loss);
        self
    }

    /// Share of its probability that the class of a row gives to all classes alike.
    #[must_use]
    pub fn label_smoothing(mut self, share: f32) -> Self {
        self.settings.label_smoothing = Some(share);
        self
    }

    /// Whether a model that was trained with label smoothing is divided by the temperature that lessens the loss on the validation rows
    /// most, where there are any. It is, unless this says otherwise.
    #[must_use]
    pub fn temperature(mut self, fits: bool) -> Self {
        self.settings.temperature = Some(fits);
        self
    }

    /// How much rows of each class count in the loss.
    #[must_use]
    pub fn class_weights(mut self, weights: ClassWeights) -> Self {
        self.settings.class_weights = Some(weights);
        self
    }

    /// Passes over the training rows. Otherwise [`Config::default_epochs`](crate::train::Config::default_epochs); 256 of
    /// [`Preset::Table`].
    #[must_use]
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.settings.epochs = Some(epochs);
        self
    }

    /// Rows of a batch. Otherwise [`Config::default_batch_size`](crate::train::Config::default_batch_size); 256 of
    /// [`Preset::Table`].
    #[must_use]
    pub fn batch_size(mut self, rows: usize) -> Self {
        self.settings.batch_size = Some(rows);
        self
    }

    /// How gradients change the weights: a struct with all settings, such as [`Adam`](super::Adam), or an
    /// [`OptimizerKind`](crate::step::OptimizerKind), which has those of the preset or else its usual ones.
    #[must_use]
    pub fn optimizer(mut self, optimizer: impl Into<OptimizerChoice>) -> Self {
        self.settings.optimizer = Some(optimizer.into());
        self
    }

    /// Weight decay, in the place of the optimizer's.
    #[must_use]
    pub fn weight_decay(mut self, decay: f32) -> Self {
        self.settings.weight_decay = Some(decay);
        self
    }

    /// Largest norm of all gradients together: larger ones are scaled down to it.
    #[must_use]
    pub fn clip_norm(mut self, norm: f32) -> Self {
        self.settings.clip_norm = Some(norm);
        self
    }

    /// Learning rate, the largest of the run. Otherwise that of the preset or, for another optimizer, its usual one.
    #[must_use]
    pub fn lr(mut self, rate: f32) -> Self {
        self.settings.lr = Some(rate);
        self
    }

    /// How the learning rate changes during the run.
    #[must_use]
    pub fn lr_schedule(mut self, schedule: RateSchedule) -> Self {
        self.settings.lr_schedule = Some(schedule);
        self
    }

    /// Factor of the schedules [`RateSchedule::Step`] and [`RateSchedule::Exponential`].
    #[must_use]
    pub fn lr_gamma(mut self, gamma: f32) -> Self {
        self.settings.lr_gamma = Some(gamma);
        self
    }

    /// Epochs from one step of [`RateSchedule::Step`] to the next.
    #[must_use]
    pub fn lr_every(mut self, epochs: u64) -> Self {
        self.settings.lr_every = Some(epochs);
        self
    }

    /// Steps over which the learning rate rises from 0 first.
    #[must_use]
    pub fn warmup(mut self, steps: u64) -> Self {
        self.settings.warmup = Some(steps);
        self
    }

    /// Factor of the learning rate of all weights.
    #[must_use]
    pub fn lr_weights(mut self, factor: f32) -> Self {
        self.settings.lr_weights = Some(factor);
        self
    }

    /// Factor of the learning rate of all biases.
    #[must_use]
    pub fn lr_biases(mut self, factor: f32) -> Self {
        self.settings.lr_biases = Some(factor);
        self
    }

    /// Factors of the learning rate of single layers, first to last; layers that are not named have 1.
    #[must_use]
    pub fn lr_layers(mut self, factors: impl IntoIterator<Item = f32>) -> Self {
        self.settings.lr_layers = Some(factors.into_iter().collect());
        self
    }

    /// Factor of the learning rate of embeddings.
    #[must_use]
    pub fn lr_embeddings(mut self, factor: f32) -> Self {
        self.settings.lr_embeddings = Some(factor);
        self
    }

    /// Factor of the learning rate of the factors of inputs.
    #[must_use]
    pub fn lr_scale(mut self, factor: f32) -> Self {
        self.settings.lr_scale = Some(factor);
        self
    }

    /// Whether the learning rate of a layer depends on its width: see [`Config::ntk`](crate::train::Config::ntk).
    #[must_use]
    pub fn ntk(mut self, ntk: bool) -> Self {
        self.settings.ntk = Some(ntk);
        self
    }

    /// Decides the first weights, the order of the rows and which are held out.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = Some(seed);
        self
    }

    /// Decides the first weights and what dropout leaves out, in the place of the seed.
    #[must_use]
    pub fn init_seed(mut self, seed: u64) -> Self {
        self.settings.init_seed = Some(seed);
        self
    }

    /// How numbers become inputs, by the training rows.
    #[must_use]
    pub fn scale(mut self, scale: Scale) -> Self {
        self.settings.scale = Some(scale);
        self
    }

    /// Whether scaled numbers are clipped smoothly.
    #[must_use]
    pub fn clip(mut self, clip: Clip) -> Self {
        self.settings.clip = Some(clip);
        self
    }

    /// Whether columns of numbers become periodic embeddings.
    #[must_use]
    pub fn embeddings(mut self, embeds: bool) -> Self {
        self.settings.embeddings = Some(embeds);
        self
    }

    /// Whether every input has a learnt factor.
    #[must_use]
    pub fn learn_scale(mut self, learns: bool) -> Self {
        self.settings.learn_scale = Some(learns);
        self
    }

    /// Categories up to which a column is one input each; a column of more is embedded.
    #[must_use]
    pub fn one_hot(mut self, categories: usize) -> Self {
        self.settings.one_hot = Some(categories);
        self
    }

    /// Whether values to predict are standardised for training, which they are otherwise.
    #[must_use]
    pub fn scale_target(mut self, standardises: bool) -> Self {
        self.settings.scale_target = Some(standardises);
        self
    }

    /// Share of the training rows that validate instead, of each class the same, chosen by the seed.
    #[must_use]
    pub fn validation_fraction(mut self, share: f64) -> Self {
        self.settings.validation_fraction = Some(share);
        self
    }

    /// Share of the training rows that test instead, of each class the same, chosen by the seed.
    #[must_use]
    pub fn test_fraction(mut self, share: f64) -> Self {
        self.settings.test_fraction = Some(share);
        self
    }

    /// Which model is kept. Otherwise the best on the validation rows, if there are any, else the last.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.settings.keep = Some(keep);
        self
    }

    /// Ends training when so many epochs in a row have brought nothing better on the validation rows; `None` for never. The
    /// preset for tables has 64, unless the last model is kept.
    #[must_use]
    pub fn patience(mut self, epochs: impl Into<Option<usize>>) -> Self {
        self.settings.patience = Some(epochs.into());
        self
    }

    /// Ends training after the epoch that reaches this accuracy on the validation rows, or else on the training rows.
    #[must_use]
    pub fn target_accuracy(mut self, accuracy: f64) -> Self {
        self.settings.target_accuracy = Some(accuracy);
        self
    }

    /// Whether the AUC is measured after every epoch, not only of the model that is kept.
    #[must_use]
    pub fn auc_by_epoch(mut self, measures: bool) -> Self {
        self.settings.auc_by_epoch = measures;
        self
    }

    /// Ends training after so much time, within an epoch, too.
    #[must_use]
    pub fn max_time(mut self, time: Duration) -> Self {
        self.settings.max_time = Some(time);
        self
    }

    /// Most threads of the CPU engine; they change no bit of the weights. Otherwise one for each core.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.settings.threads = Some(threads);
        self
    }

    /// How a GPU divides a step into dispatches.
    #[must_use]
    pub fn schedule(mut self, schedule: ScheduleKind) -> Self {
        self.settings.schedule = Some(schedule);
        self
    }

    /// Tile shapes that were measured: those for the network and the device are taken.
    #[must_use]
    pub fn measured(mut self, measured: Measurements) -> Self {
        self.settings.measured = Some(measured);
        self
    }
}
