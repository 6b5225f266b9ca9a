//! Permutation importance: the deterioration of a metric when the values of a column are shuffled among the
//! rows (L. Breiman, "Random forests", 2001).

use std::ops::Range;

use super::classified::evaluation;
use super::evaluation::{engine_with, evaluate};
use super::label_scores::label_score;
use super::metric::Metric;
use super::value_errors::ValueErrors;
use crate::data::{Dataset, Features, TargetsRef, Transform};
use crate::engine::{Device, Inference};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::random::{Purpose, words};
use crate::threads::block;

/// Options for shuffling columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shuffling {
    /// Metric of the network.
    pub metric: Metric,
    /// Shuffles per column; 2 or more.
    pub repeats: usize,
    /// Seed of the shuffles.
    pub seed: u64,
    /// Maximum number of threads; `None` for one per core.
    pub threads: Option<usize>,
}

/// Importance of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Importance {
    /// Index of the column among the inputs of the table.
    pub column: usize,
    /// Mean deterioration of the metric over the shuffles.
    pub mean: f64,
    /// Standard deviation over the shuffles.
    pub deviation: f64,
}

/// Returns the metric on the unchanged rows, and the importances of all columns in descending order. A column
/// of categories is shuffled as a whole. `progress` receives the numbers of finished columns and of all
/// columns.
///
/// # Errors
/// Errors of the device and of `progress`; [`Error::Config`] if the metric is undefined for the rows,
/// [`Error::NonFiniteTest`] if the loss is not finite.
pub fn importances(
    model: &Model,
    data: &Dataset,
    device: &Device,
    shuffling: &Shuffling,
    progress: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<(f64, Vec<Importance>)> {
    let Shuffling { metric, repeats, seed, threads } = *shuffling;
    let mut engine = engine_with(model, device, threads, None)?;
    let mut score = |data: &Dataset| measure(model, &mut *engine, data, metric);
    let whole = score(data)?;
    if !whole.is_finite() {
        let loss = evaluate(model, data, device)?.score.loss;
        if !loss.is_finite() {
            return Err(Error::NonFiniteTest { path: "the data".into(), loss });
        }
        let text = format!("these rows have no measure {}", metric.name());
        return Err(Error::Config(text));
    }
    let columns = columns(&model.transform, data.inputs);
    let mut shuffled = data.clone();
    let mut found = Vec::with_capacity(columns.len());
    for (column, inputs) in columns.iter().enumerate() {
        let mut losses = Vec::with_capacity(repeats);
        for repeat in 0..repeats {
            let order = shuffle(seed, data.rows(), (column * repeats + repeat) as u32);
            copy(&data.features, &mut shuffled.features, data.inputs, inputs, &order);
            let change = score(&shuffled)? - whole;
            losses.push(if metric.is_error() { change } else { -change });
        }
        let unchanged: Vec<u32> = (0..data.rows() as u32).collect();
        copy(&data.features, &mut shuffled.features, data.inputs, inputs, &unchanged);
        found.push(Importance::from_losses(column, &losses));
        progress(column + 1, columns.len())?;
    }
    found.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    Ok((whole, found))
}

impl Importance {
    fn from_losses(column: usize, losses: &[f64]) -> Self {
        let count = losses.len() as f64;
        let mean = losses.iter().sum::<f64>() / count;
        let deviation = (losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        Self { column, mean, deviation }
    }
}

/// Returns the range of network inputs of each table column.
fn columns(transform: &Transform, inputs: usize) -> Vec<Range<usize>> {
    let Transform::Columns(encoding) = transform else {
        return (0..inputs).map(|input| input..input + 1).collect();
    };
    let ends = encoding.columns.iter().scan(0, |end, code| {
        *end += encoding.width(code);
        Some(*end)
    });
    ends.zip(&encoding.columns).map(|(end, code)| end - encoding.width(code)..end).collect()
}

/// Returns a random order of `rows` rows.
fn shuffle(seed: u64, rows: usize, number: u32) -> Vec<u32> {
    let key =
        |row: u32| u64::from(words(seed, Purpose::Shuffle, [row, number])[0]) << u32::BITS | u64::from(row);
    let mut keyed: Vec<u64> = (0..rows as u32).map(key).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|keyed| keyed as u32).collect()
}

/// Copies these inputs from rows in this order.
fn copy(from: &Features, to: &mut Features, width: usize, inputs: &Range<usize>, order: &[u32]) {
    fn copy<T: Copy>(from: &[T], to: &mut [T], width: usize, inputs: &Range<usize>, order: &[u32]) {
        for (to, row) in to.chunks_exact_mut(width).zip(order) {
            to[inputs.clone()].copy_from_slice(&from[*row as usize * width..][inputs.clone()]);
        }
    }
    match (from, to) {
        (Features::Bytes(from), Features::Bytes(to)) => copy(from, to, width, inputs, order),
        (Features::Floats(from), Features::Floats(to)) => copy(from, to, width, inputs, order),
        // One is a clone of the other.
        _ => unreachable!("both hold the same kind of values"),
    }
}

fn measure(model: &Model, engine: &mut dyn Inference, data: &Dataset, metric: Metric) -> Result<f64> {
    let (outputs, counts) = (block(engine.outputs(&data.view()))?, data.view().counts());
    match data.targets.view() {
        TargetsRef::Classes(labels) => {
            Ok(metric.of_outputs(&outputs, &evaluation(&outputs, labels, &counts), labels, &counts))
        }
        TargetsRef::Values { columns, values } if model.network.loss().of_labels() => {
            let score = label_score(&outputs, values, columns, &counts, Some(metric));
            Ok(score.chosen.map_or(f64::NAN, |chosen| chosen.value))
        }
        TargetsRef::Values { columns, values } => {
            let scale = model.data_schema.target_scale.as_ref();
            let errors =
                ValueErrors::from_outputs(model.network.loss(), &outputs, values, columns, scale, &counts);
            Ok(metric.of_errors(&errors))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_importance_is_a_mean_with_its_deviation() {
        let expected = Importance { column: 7, mean: 2.0, deviation: 1.0 };
        assert_eq!(Importance::from_losses(7, &[1.0, 2.0, 3.0]), expected);
    }

    #[test]
    fn only_the_inputs_of_a_column_are_shuffled() {
        let rows = 257;
        let features = Features::Floats((0..3 * rows).map(|value| value as f32).collect());
        let (order, mut shuffled) = (shuffle(7, rows, 3), features.clone());
        copy(&features, &mut shuffled, 3, &(1..3), &order);
        let (Features::Floats(before), Features::Floats(after)) = (&features, &shuffled) else { panic!() };
        for (row, from) in order.iter().enumerate() {
            let from = 3 * *from as usize;
            assert_eq!(after[3 * row..][..3], [before[3 * row], before[from + 1], before[from + 2]]);
        }
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted != order && sorted == (0..rows as u32).collect::<Vec<u32>>());
        assert_ne!(order, shuffle(7, rows, 4));
    }
}
