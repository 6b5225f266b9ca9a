//! One pass over some rows that continues training a model.

use std::sync::Arc;

use pyo3::prelude::*;
use tinytrain::data::{Dataset, Targets as Given};
use tinytrain::engine::{EngineState, find_device_for, predicts_soon};
use tinytrain::train::{Pass, Passed};
use tinytrain::{DatasetInfo, Device, DeviceRequest, Error, Preset, RateSchedule, TrainSettings};

use crate::errors::exception;
use crate::fit::{GivenRows, LONG, OwnTargets, Source, source};
use crate::model::Model;
use crate::remote::Remote;
use crate::settings;
use crate::unknown::{Unknown, by_column};

/// Trains on each of the rows once, continuing from `first` and its optimizer state, or otherwise on a new
/// network, whose classes are the targets' classes. Returns the model, the mean loss, and the number of cells
/// by column with values that no row of the first call has.
#[pyfunction]
#[pyo3(signature = (rows, settings, *, device="auto", names=Vec::new(), first=None))]
pub(crate) fn partial_fit(
    py: Python<'_>,
    rows: GivenRows<'_>,
    settings: &str,
    device: &str,
    names: Vec<String>,
    first: Option<PyRef<'_, Model>>,
) -> PyResult<(Model, f64, Unknown)> {
    let settings = with_defaults(settings::read(settings)?);
    let source = source(rows, &names, false, settings.threads)?;
    let request: DeviceRequest = device.parse().unwrap_or_default();
    let first = first.map(|model| ((**model.model()).clone(), model.state().clone()));
    let mut pass = Remote::new(None, source.cells() >= LONG)?;
    let start = move |slot: &mut Option<Pass>| {
        let pass = begin(&settings, source, first, &request)?;
        let unknown = pass.unknown_cells().clone();
        *slot = Some(pass);
        Ok(unknown)
    };
    let unknown = pass.call(py, start)?.map_err(exception)?;
    while pass.call(py, |pass| pass.as_mut().map_or(Ok(false), Pass::advance))?.map_err(exception)? {}
    let finish = |pass: &mut Option<Pass>| pass.take().ok_or(Error::Interrupted)?.finish();
    let Passed { model, state, score } = pass.call(py, finish)?.map_err(exception)?;
    let unknown = by_column(&unknown, model.data_schema.schema.as_ref());
    Ok((Model::with_state(model, state), score.loss, unknown))
}

/// Returns the settings with the defaults of a pass: the preset of `fit`, with a constant learning rate.
fn with_defaults(settings: TrainSettings) -> TrainSettings {
    TrainSettings {
        preset: settings.preset.or(Some(Preset::Table)),
        lr_schedule: settings.lr_schedule.or(Some(RateSchedule::Constant)),
        ..settings
    }
}

/// Begins the pass, over rows in their own order.
fn begin(
    settings: &TrainSettings,
    source: Source,
    first: Option<(tinytrain::Model, EngineState)>,
    device: &DeviceRequest,
) -> Result<Pass, Error> {
    let (model, state) = match first {
        Some(first) => first,
        None => {
            let reader = source.with_all_classes()?;
            let info = settings.inspect(&reader, false, false);
            let (data, config) = settings.prepare(info, reader, None, None)?;
            (Pass::untrained(&config, &data, &Device::Cpu)?, EngineState::default())
        }
    };
    let loss = model.network.loss();
    let (predicts_values, has_labels) = (!loss.of_classes(), loss.of_labels());
    let info = DatasetInfo { predicts_values, has_labels, ..DatasetInfo::default() };
    let batch_size = model.settings.get("batch_size").and_then(|size| size.parse().ok());
    let settings = TrainSettings { batch_size: settings.batch_size.or(batch_size), ..settings.clone() };
    let config = settings.resolve(&info)?;
    let Source { table, targets: OwnTargets { names, width, words, .. }, weights, .. } = source;
    let targets = match names {
        Some(names) => {
            let known = model.data_schema.classes.finder();
            let find = |name: &String| {
                let known = known(name);
                known.ok_or_else(|| Error::Config(format!("expected a class of the model, found {name:?}")))
            };
            let classes = names.iter().map(find).collect::<Result<Vec<u32>, Error>>()?;
            Given::Classes(words.into_iter().map(|class| classes[class as usize]).collect())
        }
        None => Given::Values { columns: width, values: words.into_iter().map(f32::from_bits).collect() },
    };
    let (features, dictionaries) = Arc::unwrap_or_clone(table).fitted_to(&model)?.features()?;
    let inputs = model.transform.columns(model.network.columns());
    let weights = weights.into_iter().map(|weight| weight as f32).collect();
    let rows = Dataset { inputs, features, targets, weights };
    // Forward, and backward to inputs and weights.
    let device = find_device_for(device, predicts_soon(&model.network, 3 * rows.rows()))?;
    Pass::new(config, (model, &state), (rows, &dictionaries), &device)
}
