//! Many candidates on many folds, trained together as a sweep of the library.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use tinytrain::engine::find_device_for;
use tinytrain::sweep::{Event, Member, Plan, Sources, TrialPlan, TrialStatus, is_short, plan_on};
use tinytrain::{DeviceRequest, Sweep};

use crate::ensemble::is_late;
use crate::errors::{exception, in_python};
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
    for (fold, rows) in folds.iter().enumerate() {
        let mut fold_rows = Source { among: Some(rows.as_array().to_vec()), ..source.clone() };
        if let Some(weights) = weights.get(fold) {
            fold_rows.weights = weights.as_array().to_vec();
        }
        fold_rows.check()?;
        let plan = |(index, settings): (usize, &tinytrain::TrainSettings)| TrialPlan {
            number: index * folds.len() + fold,
            settings: settings.clone(),
            own: Default::default(),
            is_packed: false,
        };
        let planned: Vec<TrialPlan> = candidates.iter().enumerate().map(plan).collect();
        let made = || Sources::new(fold_rows.reader()?, None, None).members(&planned, None);
        members.extend(py.detach(made).map_err(exception)?);
        py.check_signals()?;
    }
    let device = py.detach(|| find_device_for(&request, is_short(&members, threads)?)).map_err(exception)?;
    plan_on(&device, &mut members).map_err(exception)?;
    let mut found: Vec<Option<Found>> = (0..members.len()).map(|_| None).collect();
    let configs: Vec<_> = members.iter().map(|member| (member.number, member.config.clone())).collect();
    let plan = Plan { device, threads, halving: None, first_stage: 0, deadline: None };
    let mut sweep = Sweep::new(members, plan);
    while let Some(event) = py.detach(|| sweep.next()).map_err(exception)? {
        if let Event::FinishedMember(ended) = event {
            let seconds = ended.duration.as_secs_f64();
            let reason = match ended.status {
                TrialStatus::Failed(reason) => Some(in_python(&reason)),
                TrialStatus::Done | TrialStatus::Dropped(_) | TrialStatus::Time => None,
            };
            let run = ended.runs.into_iter().next();
            let epochs = run.as_ref().map_or(0, |run| run.epochs.len());
            let config = configs.iter().find(|(number, _)| *number == ended.member);
            let is_late = run.as_ref().zip(config).is_some_and(|(run, (_, config))| is_late(run, config));
            let model = run.map(|run| Py::new(py, Model::shared(run.model))).transpose()?;
            found[ended.member] = Some((model, reason, epochs, seconds, is_late));
            if let Some(on_ended) = &on_ended {
                on_ended.call0()?;
            }
        }
        py.check_signals()?;
    }
    let none = || (None, Some("it was not trained".to_owned()), 0, 0.0, false);
    Ok(found.into_iter().map(|found| found.unwrap_or_else(none)).collect())
}
