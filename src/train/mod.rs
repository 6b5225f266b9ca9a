//! Training: settings, training data, the epoch loop, and evaluation.

mod active_run;
mod calibration;
mod checkpoint;
mod class_figures;
mod classified;
mod config;
mod data_options;
mod epoch_loop;
mod evaluation;
mod events;
mod exact;
#[cfg(all(test, feature = "gpu"))]
mod hand_over_tests;
mod importance;
mod incremental;
mod input_options;
mod label_scores;
mod measures;
mod metric;
mod model_selection;
mod probabilities;
mod repeated_steps;
mod run;
mod shared_data;
mod temperature;
mod threshold;
mod training_data;
mod training_warning;
mod value_errors;
mod whole_run;

pub use calibration::{Calibration, CalibrationBin, calibration};
pub use checkpoint::{Checkpoint, PartOfEpoch, Progress, TrainedOrder, TrainedRows};
pub use class_figures::{ClassFigures, class_figures, confusion, only_class};
pub use config::{ClassWeights, Config, Keep};
pub use data_options::{Clip, DataOptions};
pub use evaluation::{
    Evaluated, OutputDecoder, Predictions, Predictor, engine, evaluate, evaluate_copies, load_model,
    model_path, read_dataset_for,
};
pub use events::{ClassScores, End, Epoch, Event, OnEvent, Score, Started, Summary};
pub use importance::{Importance, Shuffling, importances};
pub use incremental::{Pass, Passed};
pub use input_options::{EMBEDDING_SIZE, InputOptions, ONE_HOT_CATEGORIES};
pub use measures::{Measure, measures};
pub use metric::{Metric, MetricValue};
pub use repeated_steps::RepeatedSteps;
pub use run::{Run, refit};
pub use shared_data::SharedData;
pub use threshold::{Threshold, apply_threshold};
pub use training_data::{FullReadReason, TESTED_ROWS, TrainingData};
pub use training_warning::TrainingWarning;
pub use value_errors::{TargetErrors, ValueErrors};
pub use whole_run::{train, train_on};
