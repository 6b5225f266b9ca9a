//! The settings of a run, from the given settings and the data: the only place of defaults.

use super::{
    Embeddings, List, LrFactors, Parametrization, Patience, Preset, ScaleTarget, TrainSettings, YesNo,
};
use crate::data::{Reader, Split};
use crate::error::{Error, Result};
use crate::model::{InputColumn, InputLayer, Model};
use crate::named::one_of;
use crate::step::{Levels, Loss, Optimizer, OptimizerKind, RateFactors, RateSchedule, demand};
use crate::train::{
    ClassWeights, Config, DataOptions, InputOptions, Keep, Metric, ONE_HOT_CATEGORIES, TrainingData,
};

/// The fraction of the rows of a table that the program holds out for validation.
pub const VALIDATION_FRACTION: f64 = 0.2;

/// Minimum number of rows from which a table is divided for validation: docs/TABLES.md compares.
const FEW_ROWS: usize = 200;

/// Epochs of the preset for tables without validation rows, which would be needed to find the best of 256 epochs.
const EPOCHS_WITHOUT_VALIDATION: usize = 64;

/// Maximum number of columns whose numbers become embeddings by default: more columns have enough inputs for the rows.
const EMBEDDED_COLUMNS: usize = 1000;

/// The properties of the data on which defaults of settings depend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatasetInfo {
    /// The number of training rows, if known.
    pub rows: Option<usize>,
    /// The number of columns or pixels of a row, if known.
    pub columns: Option<usize>,
    /// Whether targets are values, not classes.
    pub predicts_values: bool,
    /// Whether these values are labels of 0 or 1.
    pub has_labels: bool,
    /// Whether the data are a table without images.
    pub is_table: bool,
    /// Whether there are separate validation data.
    pub validates: bool,
    /// Whether there are separate test data.
    pub tests: bool,
    /// Whether the rows are divided into folds, whose held-out rows are scored.
    pub in_folds: bool,
}

impl DatasetInfo {
    /// Adds the properties of training data.
    #[must_use]
    pub fn with_data(self, data: &TrainingData) -> Self {
        let (predicts_values, has_labels) = (data.predicts_values(), data.has_labels());
        Self { rows: data.rows(), predicts_values, has_labels, ..self }
    }
}

impl TrainSettings {
    /// Whether there are validation rows.
    pub fn validates(&self, info: &DatasetInfo) -> bool {
        info.validates || self.validation_fraction.is_some_and(|fraction| fraction > 0.0)
    }

    /// The preset that provides the defaults: for tables with validation rows by default the preset for tables.
    pub fn preset_for(&self, info: &DatasetInfo) -> Preset {
        let is_table = info.is_table && self.validates(info);
        self.preset.unwrap_or(if is_table { Preset::Table } else { Preset::Plain })
    }

    /// These settings with the program's defaults for training rows: a table is trained with the preset for tables, and
    /// a fifth of its rows is held out for validation if it has enough rows, unless the settings differ or there are
    /// other validation rows.
    ///
    /// # Errors
    /// Errors of the data.
    pub fn with_table_defaults(&self, reader: &mut Reader, validates: bool) -> Result<Self> {
        if reader.schema().is_none()
            || self.preset.is_some_and(|preset| preset != Preset::Table)
            || reader.holds_images()
        {
            return Ok(self.clone());
        }
        let validation_fraction = match self.validation_fraction {
            None if !validates => Some(if self.can_spare_rows(reader)? { VALIDATION_FRACTION } else { 0.0 }),
            given => given,
        };
        Ok(Self { preset: Some(Preset::Table), validation_fraction, ..self.clone() })
    }

    /// These settings for the network and the inputs of a model, from which training starts.
    #[must_use]
    pub fn continuing(&self, model: &Model) -> Self {
        let layers = model.network.dense();
        let hidden = &layers[..layers.len() - 1];
        let input_layer = model.network.input_layer();
        let columns = input_layer.map(InputLayer::columns).unwrap_or_default();
        let most_one_hot = columns.iter().filter_map(|column| match column {
            InputColumn::OneHot { categories } => Some(*categories),
            _ => None,
        });
        let is_periodic = columns.contains(&InputColumn::Periodic);
        let is_scaled = input_layer.is_some_and(InputLayer::is_scaled);
        let activations = || hidden.iter().map(|layer| layer.activation).collect::<Vec<_>>().into();
        Self {
            hidden: Some(hidden.iter().map(|layer| layer.units).collect::<Vec<_>>().into()),
            activation: (!hidden.is_empty()).then(activations),
            loss: self.loss.or(Some(model.network.loss())),
            embeddings: Some(if is_periodic { Embeddings::Pbld } else { Embeddings::None }),
            input_scaling: Some(if is_scaled { YesNo::Yes } else { YesNo::No }),
            one_hot: Some(most_one_hot.max().unwrap_or(0)),
            ..self.clone()
        }
    }

    /// Whether a table has enough rows to hold some out for validation.
    fn can_spare_rows(&self, reader: &mut Reader) -> Result<bool> {
        if reader.rows() < FEW_ROWS {
            return Ok(false);
        }
        let test = self.test_fraction.unwrap_or(0.0);
        let split = Split { validation: VALIDATION_FRACTION, test, ..Split::default() };
        // With many classes of one or two rows, no validation rows can be held out.
        Ok(reader.parts(&split).is_ok_and(|parts| !parts.validation.is_empty()))
    }

    /// The properties of the data known before all rows are read.
    pub fn inspect(&self, reader: &Reader, validates: bool, tests: bool) -> DatasetInfo {
        let info = DatasetInfo {
            predicts_values: reader.values() > 0,
            has_labels: reader.has_labels(),
            is_table: reader.schema().is_some(),
            validates,
            tests,
            in_folds: false,
            rows: None,
            columns: Some(reader.inputs()),
        };
        let is_open = self.preset.is_none() && info.is_table && self.validates(&info);
        DatasetInfo { is_table: is_open && !reader.holds_images(), ..info }
    }

    /// Checks the settings before anything is known about the data: they must be valid for images or a table, of classes
    /// or of values.
    ///
    /// # Errors
    /// As [`TrainSettings::resolve`].
    pub fn check_early(&self, info: DatasetInfo) -> Result<()> {
        let of = |is_table, predicts_values| {
            self.resolve(&DatasetInfo { is_table, predicts_values, ..info }).map(drop)
        };
        of(false, info.predicts_values).or_else(|error| {
            let others = [(true, info.predicts_values), (false, true), (true, true)];
            let fits = others.into_iter().any(|(is_table, of_values)| of(is_table, of_values).is_ok());
            if fits { Ok(()) } else { Err(error) }
        })
    }

    /// Prepares the data of a run with these settings, and resolves the settings of the run; `info` describes the data.
    ///
    /// # Errors
    /// Errors of the data, and errors of [`TrainSettings::resolve`].
    pub fn prepare(
        &self,
        info: DatasetInfo,
        reader: Reader,
        validation: Option<Reader>,
        test: Option<Reader>,
    ) -> Result<(TrainingData, Config)> {
        self.prepare_for(None, info, reader, validation, test)
    }

    /// Prepares the data as [`TrainSettings::prepare`] does, for a model from which training starts, if there is one.
    ///
    /// # Errors
    /// Errors of [`TrainingData::for_model`], and errors of [`TrainSettings::resolve`].
    pub fn prepare_for(
        &self,
        model: Option<&Model>,
        info: DatasetInfo,
        reader: Reader,
        validation: Option<Reader>,
        test: Option<Reader>,
    ) -> Result<(TrainingData, Config)> {
        let options = self.resolve(&info)?.data;
        let data = TrainingData::for_model(model, reader, validation, test, &options)?;
        let config = self.resolve(&info.with_data(&data))?;
        Ok((data, config))
    }

    /// Resolves the settings of a run on data with these properties.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first setting that is out of range or incompatible with others.
    pub fn resolve(&self, info: &DatasetInfo) -> Result<Config> {
        let asked = self.clone();
        let loss = asked.loss.unwrap_or(match info {
            DatasetInfo { has_labels: true, .. } => Loss::BinaryCrossEntropy,
            DatasetInfo { predicts_values: true, .. } => Loss::Mse,
            _ => Loss::CrossEntropy,
        });
        let loss = match (loss, asked.quantiles.as_deref()) {
            (Loss::Quantile(_), Some(levels)) => Loss::Quantile(Levels::new(levels)?),
            _ => loss,
        };
        let usual = match self.preset_for(info) {
            Preset::Table if self.validates(info) => Config::table(loss, info.rows),
            Preset::Table => Config { epochs: EPOCHS_WITHOUT_VALIDATION, ..Config::table(loss, info.rows) },
            Preset::Digits => Config::digits(loss),
            Preset::Plain => Config {
                epochs: Config::default_epochs(info.rows),
                batch_size: Config::default_batch_size(info.rows),
                ..Config::plain(loss)
            },
        };
        let another = asked.optimizer.filter(|kind| *kind != usual.optimizer.kind);
        let optimizer = another.map_or(usual.optimizer, OptimizerKind::defaults);
        let learning_rate = another.map_or(usual.learning_rate, |kind| Config::default_rate(kind, loss));
        let (beta1, beta2) = match asked.betas.as_deref() {
            Some(&[first, second]) => (first, second),
            Some(&[of_squares]) => (optimizer.beta1, of_squares),
            _ => (optimizer.beta1, optimizer.beta2),
        };
        let seed = asked.seed.unwrap_or(usual.seed);
        let patience = match asked.patience {
            Some(Patience::Epochs(epochs)) => Some(epochs),
            Some(Patience::None) => None,
            None => usual.patience.filter(|_| asked.keep != Some(Keep::Last) && self.validates(info)),
        };
        let is_wide = info.columns.is_some_and(|columns| columns > EMBEDDED_COLUMNS);
        let inputs = InputOptions {
            periodic: asked
                .embeddings
                .map_or(usual.data.inputs.periodic && !is_wide, |it| it == Embeddings::Pbld),
            scaled: asked.input_scaling.map_or(usual.data.inputs.scaled, |it| it == YesNo::Yes),
            most_one_hot: asked.one_hot.unwrap_or(ONE_HOT_CATEGORIES),
        };
        let split = Split {
            validation: asked.validation_fraction.unwrap_or(0.0),
            test: asked.test_fraction.unwrap_or(0.0),
            seed,
            fold: None,
        };
        let list = |asked: Option<List<f32>>, usual| asked.map_or(usual, |list| list.0);
        let factors = asked.lr_factors.unwrap_or_default();
        let config = Config {
            hidden: asked.hidden.map_or(usual.hidden, |sizes| sizes.0),
            epochs: asked.epochs.unwrap_or(usual.epochs),
            batch_size: asked.batch_size.unwrap_or(usual.batch_size),
            activation: asked.activation.map_or(usual.activation, |names| names.0),
            dropout: list(asked.dropout, usual.dropout),
            init: asked.init.unwrap_or(usual.init),
            loss,
            augment: asked.augment.unwrap_or(usual.augment),
            label_smoothing: asked.label_smoothing.unwrap_or(usual.label_smoothing),
            temperature: !asked.no_temperature,
            class_weights: asked.class_weights.unwrap_or(usual.class_weights),
            optimizer: Optimizer {
                // `check` reports momentum for an optimizer without it.
                beta1: asked.momentum.filter(|_| optimizer.kind.uses_momentum()).unwrap_or(beta1),
                beta2,
                epsilon: asked.eps.unwrap_or(optimizer.epsilon),
                weight_decay: asked.weight_decay.unwrap_or(optimizer.weight_decay),
                ..optimizer
            },
            learning_rate: asked.lr.unwrap_or(learning_rate),
            rate_schedule: asked.lr_schedule.unwrap_or(usual.rate_schedule),
            rate_gamma: asked.lr_gamma,
            rate_every: asked.lr_every,
            warmup: asked.warmup.unwrap_or(usual.warmup),
            factors: RateFactors {
                weights: factors.weights.unwrap_or(usual.factors.weights),
                biases: factors.biases.unwrap_or(usual.factors.biases),
                layers: list(factors.layers, Vec::new()),
                embeddings: factors.embeddings.unwrap_or(usual.factors.embeddings),
                scale: factors.scale.unwrap_or(usual.factors.scale),
                ..RateFactors::default()
            },
            ntk: asked.parametrization.map_or(usual.ntk, |it| it == Parametrization::Ntk),
            clip_norm: asked.clip_norm,
            seed,
            init_seed: asked.init_seed,
            schedule: asked.schedule,
            threads: asked.threads,
            data: DataOptions {
                scale: asked.scale.unwrap_or(usual.data.scale),
                split,
                standardise_targets: !loss.of_labels() && asked.scale_target != Some(ScaleTarget::None),
                clip: asked.clip.unwrap_or(usual.data.clip),
                inputs,
                quantiles: loss.levels().map_or(0, Levels::count),
            },
            keep: asked.keep,
            patience,
            target_accuracy: asked.target_accuracy,
            metric: asked.metric.or(usual.metric).or(loss.of_labels().then_some(Metric::LogLoss)),
            max_time: asked.max_time,
        };
        config.validate()?;
        self.check(&config, info)?;
        Ok(config)
    }

    /// Checks that every given setting has an effect on a run with these settings.
    fn check(&self, config: &Config, info: &DatasetInfo) -> Result<()> {
        let (kind, schedule) = (config.optimizer.kind, config.rate_schedule);
        let having = |has: fn(OptimizerKind) -> bool| {
            let kinds = OptimizerKind::ALL.iter().filter(|kind| has(**kind));
            format!("--optimizer {}", one_of(kinds.map(|kind| kind.name())))
        };
        let name = kind.name();
        let fits = self.momentum.is_none() || kind.uses_momentum();
        demand(fits, "momentum", &having(OptimizerKind::uses_momentum), name)?;
        if let Some(betas) = &self.betas {
            demand(kind.betas() > 0, "betas", &having(|kind| kind.betas() > 0), name)?;
            let expected =
                format!("{} for {kind}", if kind.betas() == 1 { "one number" } else { "two numbers" });
            demand(betas.len() == kind.betas(), "betas", &expected, betas.len())?;
        }
        let fits = self.quantiles.is_none() || config.loss.levels().is_some();
        demand(fits, "quantiles", "--loss quantile", config.loss)?;
        let fits = self.scale_target.is_none() || !config.loss.of_labels();
        demand(fits, "scale-target", "values to predict", "labels of 0 or 1")?;
        let fits = self.eps.is_none() || kind.uses_epsilon();
        demand(fits, "eps", &having(OptimizerKind::uses_epsilon), name)?;
        let fits = self.lr_gamma.is_none() || schedule.uses_gamma();
        demand(fits, "lr-gamma", "--lr-schedule step or exponential", schedule)?;
        let fits = self.lr_every.is_none() || schedule == RateSchedule::Step;
        demand(fits, "lr-every", "--lr-schedule step", schedule)?;
        let shares = [
            ("validation-fraction", info.validates, self.validation_fraction),
            ("test-fraction", info.tests, self.test_fraction),
        ];
        for (setting, are_given, share) in shares {
            let expected = "either a fraction of the training rows or a separate file";
            demand(!are_given || share.is_none_or(|share| share == 0.0), setting, expected, "both")?;
        }
        // Validation rows are held out by default, which 0 prevents; test rows are not.
        demand(self.test_fraction != Some(0.0), "test-fraction", "a number between 0 and 1", 0)?;
        let validates = self.validates(info);
        let fits = validates || !matches!(self.patience, Some(Patience::Epochs(_)));
        let expected = "validation data (--validation or --validation-fraction)";
        demand(fits, "patience", expected, "none")?;
        let fits = validates || self.keep != Some(Keep::Best);
        demand(fits, "keep", expected, "none")?;
        demand(validates || info.in_folds || self.metric.is_none(), "metric", expected, "none")
    }

    /// All settings that a preset decides, as resolved: they repeat a run even if defaults change.
    pub fn spelled(config: &Config, preset: Preset) -> Self {
        let Config { optimizer, factors, data, .. } = config;
        let settings = Self {
            preset: Some(preset),
            hidden: Some(config.hidden.clone().into()),
            epochs: Some(config.epochs),
            batch_size: Some(config.batch_size),
            activation: Some(config.activation.clone().into()),
            init: Some(config.init),
            parametrization: Some(if config.ntk { Parametrization::Ntk } else { Parametrization::Standard }),
            augment: Some(config.augment).filter(|augment| !augment.is_none()),
            label_smoothing: Some(config.label_smoothing),
            optimizer: Some(optimizer.kind),
            lr: Some(config.learning_rate),
            lr_schedule: Some(config.rate_schedule),
            scale: Some(data.scale),
            patience: config.patience.map(Patience::Epochs),
            metric: config.metric.filter(|_| config.patience.is_some()),
            seed: Some(config.seed),
            ..Self::default()
        };
        if preset != Preset::Table {
            return settings;
        }
        Self {
            clip: Some(data.clip),
            betas: (optimizer.kind.betas() == 2).then(|| [optimizer.beta1, optimizer.beta2].into()),
            lr_factors: Some(LrFactors {
                biases: Some(factors.biases),
                embeddings: Some(factors.embeddings),
                scale: Some(factors.scale),
                ..LrFactors::default()
            }),
            embeddings: Some(if data.inputs.periodic { Embeddings::Pbld } else { Embeddings::None }),
            input_scaling: Some(if data.inputs.scaled { YesNo::Yes } else { YesNo::No }),
            validation_fraction: Some(data.split.validation),
            ..settings
        }
    }
}

impl std::fmt::Display for ClassWeights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ClassWeights::None => f.write_str("none"),
            ClassWeights::Balanced => f.write_str("balanced"),
            ClassWeights::Given(weights) => List(weights.clone()).fmt(f),
        }
    }
}

impl std::str::FromStr for ClassWeights {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |_| {
            let expected = "expected none, balanced, or numbers of 0 or more with commas between them";
            Error::Config(format!("{expected}, found {text:?}"))
        };
        match text {
            "none" => Ok(ClassWeights::None),
            "balanced" => Ok(ClassWeights::Balanced),
            _ => text.parse().map(|List(weights)| ClassWeights::Given(weights)).map_err(wrong),
        }
    }
}
