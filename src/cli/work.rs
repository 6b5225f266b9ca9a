//! What is trained, on what data and device: the options that commands which train share.

use std::path::PathBuf;

use clap::Args;
use tinytrain::data::LabelColumn;
use tinytrain::trainer::{Config, DeviceRequest, Measurements, ScheduleKind};

use super::args::{self, Hidden};

/// Options of a network, its data and its device.
#[derive(Debug, Args)]
pub struct Work {
    /// Rows that one training step looks at.
    #[arg(long, value_name = "N", default_value_t = Config::default().batch_size, value_parser = args::count,
          allow_hyphen_values = true)]
    pub batch_size: usize,
    /// Learning rate: the size of a training step.
    #[arg(long, value_name = "X", default_value_t = Config::default().learning_rate,
          value_parser = args::learning_rate, allow_hyphen_values = true)]
    pub lr: f32,
    /// Units of the hidden layers, first to last; `none` for no hidden layer.
    #[arg(long, value_name = "SIZES", default_value_t = Hidden(Config::default().hidden),
          allow_hyphen_values = true)]
    pub hidden: Hidden,
    /// Decides the first weights and the order of the rows: the same seed on the same device (with as many cores, or
    /// under the same tile shapes) gives the same model.
    #[arg(long, value_name = "N", default_value_t = Config::default().seed, value_parser = args::seed,
          allow_hyphen_values = true)]
    pub seed: u64,
    /// Training data: a folder with MNIST's files or a train.csv, an IDX file of images, or a CSV table, gzipped or not.
    /// [default: the folder data/mnist of the repository]
    #[arg(long, value_name = "DIR-or-FILE")]
    pub data: Option<PathBuf>,
    /// Column of a CSV table that holds the labels: its name, or its index from 0. [default: the first]
    #[arg(long, value_name = "NAME-or-INDEX", value_parser = args::label_column, allow_hyphen_values = true)]
    pub label_column: Option<LabelColumn>,
    /// What trains: auto, cpu, gpu, vulkan, gl, metal, dx12, or the name or index of a device as
    /// `tinytrain devices` lists it.
    #[arg(long, default_value = "auto", value_parser = args::device, allow_hyphen_values = true)]
    pub device: DeviceRequest,
    /// How a GPU's work is divided: one kernel an operation, operations fused, or two kernels a step. [default: the
    /// fastest, as `tinytrain tune` has measured or as far as the network's shape tells]
    #[arg(long, value_name = "KIND", value_parser = args::schedule())]
    pub schedule: Option<ScheduleKind>,
}

impl Work {
    /// What the library needs of them. Tile shapes that were `measured` for this work are taken.
    pub fn config(&self, epochs: usize, measured: Measurements) -> Config {
        Config {
            hidden: self.hidden.0.clone(),
            epochs,
            batch_size: self.batch_size,
            learning_rate: self.lr,
            seed: self.seed,
            schedule: self.schedule,
            measured,
        }
    }
}
