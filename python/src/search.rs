//! Many candidates on many folds, trained together as a sweep of the library.

use std::collections::BTreeMap;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use tinytrain::engine::find_device_for;
use tinytrain::sweep::{Event, Member, Plan, Sources, is_short, plan_on};
use tinytrain::{DeviceRequest, Sweep};

use crate::ensemble::{Ended, planned};
use crate::errors::exception;
use crate::fit::{GivenRows, Source, source};
use crate::model::Model;
use crate::settings;

/// Result of a candidate on a fold: the model or the reason of its failure, its epochs, the seconds of
/// training, and whether its time limit was reached.
type Found = (Option<Py<Model>>, Option<String>, usize, f64, bool);

/// Trains each candidate, a JSON object of settings, on each fold, the indices of its training rows. Returns
/// the results, first of the folds of the first candidate. `weights` are the weights of all rows in each
/// fold, if they differ between folds. `on_ended` is called once for each finished result.
#[pyfunction]
#[pyo3(signature = (rows, candidates, folds, weights, *, device="auto", threads=None, repeats=true, names=Vec::new(), on_ended=None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn search<'py>(
    py: Python<'py>,
    rows: GivenRows<'py>,
    candidates: Vec<String>,
    folds: Vec<PyReadonlyArray1<'py, u32>>,
    weights: Vec<PyReadonlyArray1<'py, f64>>,
    device: &str,
    threads: Option<usize>,
    repeats: bool,
    names: Vec<String>,
    on_ended: Option<Bound<'py, PyAny>>,
) -> PyResult<Vec<Found>> {
    let source = source(rows, &names, repeats, threads)?;
    let request: DeviceRequest = device.parse().unwrap_or_default();
    let candidates = candidates.iter().map(|text| settings::read(text)).collect::<PyResult<Vec<_>>>()?;
    let mut members: Vec<Member> = Vec::with_capacity(candidates.len() * folds.len());
    let count = folds.len();
    for (fold, rows) in folds.iter().enumerate() {
        let mut fold_rows = Source { among: Some(rows.as_array().to_vec()), ..source.clone() };
        if let Some(weights) = weights.get(fold) {
            fold_rows.weights = weights.as_array().to_vec();
        }
        fold_rows.check()?;
        let made = || {
            let mut reader = fold_rows.reader()?;
            let planned = planned(&candidates, &mut reader, false, |index| index * count + fold)?;
            Sources::new(reader, None, None).members(&planned, None)
        };
        members.extend(py.detach(made).map_err(exception)?);
        py.check_signals()?;
    }
    let device = py.detach(|| find_device_for(&request, is_short(&members, threads)?)).map_err(exception)?;
    plan_on(&device, &mut members).map_err(exception)?;
    let mut found: Vec<Option<Found>> = (0..members.len()).map(|_| None).collect();
    let configs: BTreeMap<_, _> =
        members.iter().map(|member| (member.number, member.config.clone())).collect();
    let plan = Plan { device, threads, halving: None, first_stage: 0, deadline: None };
    let mut sweep = Sweep::new(members, plan);
    while let Some(event) = py.detach(|| sweep.next()).map_err(exception)? {
        if let Event::FinishedMember(ended) = event {
            let (number, seconds) = (ended.member, ended.duration.as_secs_f64());
            let Some(config) = configs.get(&number) else { continue };
            let Ended { model, reason, epochs, is_late } = Ended::new(*ended, config);
            let model = model.map(|model| Py::new(py, Model::shared(model))).transpose()?;
            found[number] = Some((model, reason, epochs, seconds, is_late));
            if let Some(on_ended) = &on_ended {
                on_ended.call0()?;
            }
        }
        py.check_signals()?;
    }
    let none = || (None, Some("it was not trained".to_owned()), 0, 0.0, false);
    Ok(found.into_iter().map(|found| found.unwrap_or_else(none)).collect())
}
