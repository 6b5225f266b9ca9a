//! Training: settings, what is read before, the epoch loop, evaluation.

mod classified;
mod config;
mod doubt;
mod epoch_loop;
mod evaluation;
mod events;
mod importance;
mod input_options;
mod keeper;
mod measures;
mod preset;
mod probabilities;
mod run;
mod trained;
mod training_data;
mod trial;
mod value_errors;

pub use config::{ClassWeights, Config, DataOptions, Keep};
pub use doubt::Doubt;
pub use evaluation::{
    Evaluated, EvaluatedValues, Predictions, Predictor, evaluate, evaluate_values, load_model, read_for,
};
pub use events::{ClassScores, End, Epoch, Event, OnEvent, Score, Started, Summary};
pub use importance::{Importance, Scoring, Shuffling, importances};
pub use input_options::{EMBEDDING_SIZE, InputOptions, ONE_HOT_CATEGORIES};
pub use measures::{Measure, measures};
pub use run::{Run, train, train_on};
pub use training_data::TrainingData;
pub use trial::Trial;
pub use value_errors::{TargetErrors, ValueErrors};
