//! Metrics of a run in machine-readable form, by their names in histories and JSON.

use serde_json::Value;

use crate::train::{ClassScores, Score, TargetErrors, ValueErrors};

/// The JSON names of metrics over validation rows.
pub const VALIDATION: [&str; 8] = [
    "validation_loss",
    "validation_accuracy",
    "validation_balanced_accuracy",
    "validation_log_loss",
    "validation_auc",
    "validation_rmse",
    "validation_mae",
    "validation_r2",
];
/// The JSON names of metrics over test rows.
pub const TEST: [&str; 8] = [
    "test_loss",
    "test_accuracy",
    "test_balanced_accuracy",
    "test_log_loss",
    "test_auc",
    "test_rmse",
    "test_mae",
    "test_r2",
];

/// A score as fields with these names; missing metrics are null.
pub fn score_fields(names: [&'static str; 8], score: Option<&Score>) -> Vec<(&'static str, Value)> {
    let classes = score.and_then(|score| score.classes);
    let of_classes = |of: fn(ClassScores) -> Option<f64>| Value::from(classes.and_then(of));
    let values = score.and_then(|score| score.values.as_ref());
    let of_values = |of: fn(&ValueErrors) -> f64| Value::from(values.map(of));
    let measures = [
        score.map(|score| score.loss).into(),
        classes.and(score).map(|score| score.accuracy).into(),
        of_classes(|classes| Some(classes.balanced_accuracy)),
        of_classes(|classes| Some(classes.log_loss)),
        of_classes(|classes| classes.auc),
        of_values(|values| values.rmse),
        of_values(|values| values.mae),
        of_values(|values| values.r2),
    ];
    names.into_iter().zip(measures).collect()
}

/// The metrics of each target of the test rows, in the order of the targets.
pub fn by_target(score: Option<&Score>) -> [(&'static str, Value); 3] {
    let values = score.and_then(|score| score.values.as_ref());
    let each = |of: fn(&TargetErrors) -> f64| {
        Value::from(values.map(|values| Value::from_iter(values.targets.iter().map(of))))
    };
    [
        ("test_rmse_by_target", each(|target| target.rmse)),
        ("test_mae_by_target", each(|target| target.mae)),
        ("test_r2_by_target", each(|target| target.r2)),
    ]
}
