//! Networks that are trained together as a sweep of the library, and predict together.

use std::sync::Arc;

use pyo3::prelude::*;
use tinytrain::data::{Targets, TargetsRef};
use tinytrain::engine::{block, find_device_for};
use tinytrain::sweep::{
    Candidates, Event, FinishedMember, Plan, Sources, TrainedModel, TrialPlan, TrialStatus, is_short,
    one_model, plan_on,
};
use tinytrain::train::{Config, engine};
use tinytrain::{Device, DeviceRequest, Epoch, Error, Reader, Sweep, TrainSettings};

use crate::errors::{exception, in_python};
use crate::fit::{GivenRows, Source, source};
use crate::model::Model;
use crate::remote::Remote;
use crate::settings;

/// A network, or the reason of its failure; its epochs; its number of picks; whether its time limit was
/// reached.
type Trained<M = Model> = (Option<M>, Option<String>, usize, u32, bool);

/// Plans a network with each of these settings and the program's defaults for the training rows.
pub(crate) fn planned(
    settings: &[TrainSettings],
    training: &mut Reader,
    validates: bool,
    number: impl Fn(usize) -> usize,
) -> Result<Vec<TrialPlan>, Error> {
    let plan = |(index, settings): (usize, &TrainSettings)| {
        let settings = settings.with_table_defaults(training, validates)?;
        Ok(TrialPlan { number: number(index), settings, own: Default::default(), is_packed: false })
    };
    settings.iter().enumerate().map(plan).collect()
}

/// A running sweep, with the rows by which networks are picked.
struct Job {
    sweep: Sweep,
    ended: Vec<Option<Ended>>,
    /// Settings of each network.
    configs: Vec<Config>,
    validation: Option<tinytrain::Dataset>,
}

/// A network after its training.
pub(crate) struct Ended {
    pub model: Option<Arc<tinytrain::Model>>,
    /// The reason of its failure.
    pub reason: Option<String>,
    pub epochs: usize,
    pub is_late: bool,
}

/// Trains a network with each of these settings, JSON objects, on the same rows, unless networks `trained`
/// elsewhere are given. With validation rows and a number of `picks`, networks are picked this number of
/// times by their validation predictions; otherwise each is picked once. Returns all networks, the picked
/// ones as one model, and whether there are validation rows. `on_ended` is called once for each finished
/// network.
#[pyfunction]
#[pyo3(signature = (rows, settings, *, device="auto", threads=None, repeats=true, validation=None, names=Vec::new(), picks=None, seed=0, trained=None, on_ended=None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn ensemble<'py>(
    py: Python<'py>,
    rows: GivenRows<'py>,
    settings: Vec<String>,
    device: &str,
    threads: Option<usize>,
    repeats: bool,
    validation: Option<GivenRows<'py>>,
    names: Vec<String>,
    picks: Option<usize>,
    seed: u64,
    trained: Option<Vec<Trained<PyRef<'py, Model>>>>,
    on_ended: Option<Bound<'py, PyAny>>,
) -> PyResult<(Vec<Trained>, Option<Model>, bool)> {
    let settings = settings.iter().map(|text| settings::read(text)).collect::<PyResult<Vec<_>>>()?;
    let training = source(rows, &names, repeats, threads)?;
    let validation = validation.map(|rows| source(rows, &names, false, threads)).transpose()?;
    let request: DeviceRequest = device.parse().unwrap_or_default();
    let trained = trained.map(|trained| trained.into_iter().map(Ended::given).collect());
    // Several networks take long, and ending a sweep waits for its threads.
    let mut job = Remote::new(None, true)?;
    let start = move |slot: &mut Option<Job>| {
        let validation = validation.map(Source::reader).transpose()?;
        let job = Job::new(settings, training.reader()?, validation, &request, threads, trained)?;
        let validates = job.validation.is_some();
        if picks.is_some() && !validates {
            let expected = "rows that validate (early_stopping, validation_fraction or eval_set)";
            return Err(Error::setting("n_picks", expected, "none"));
        }
        *slot = Some(job);
        Ok(validates)
    };
    let validates = job.call(py, start)?.map_err(exception)?;
    while let Some(has_ended) =
        job.call(py, |job| job.as_mut().map_or(Ok(None), Job::next))?.map_err(exception)?
    {
        if let Some(on_ended) = on_ended.as_ref().filter(|_| has_ended) {
            on_ended.call0()?;
        }
    }
    let finish = move |job: &mut Option<Job>| job.take().ok_or(Error::Interrupted)?.finish(picks, seed);
    let (trained, model) = job.call(py, finish)?.map_err(exception)?;
    Ok((trained, model, validates))
}

/// Returns whether only the time limit ended a network's training before its last epoch.
fn is_late(run: &TrainedModel, config: &Config) -> bool {
    let count = run.epochs.len();
    let reached = |last: &Epoch| last.validation.as_ref().unwrap_or(&last.train).accuracy;
    let is_reached = config
        .target_accuracy
        .zip(run.epochs.last().map(reached))
        .is_some_and(|(wanted, reached)| reached >= wanted);
    let is_patient = config.patience.is_none_or(|most| count - run.kept.min(count) < most);
    config.max_time.is_some() && count < config.epochs && is_patient && !is_reached
}

impl Ended {
    /// Returns a network that was trained elsewhere.
    fn given((model, reason, epochs, _, is_late): Trained<PyRef<'_, Model>>) -> Self {
        Self { model: model.map(|model| Arc::clone(model.model())), reason, epochs, is_late }
    }

    /// Returns the outcome of a member with these settings.
    pub(crate) fn new(ended: FinishedMember, config: &Config) -> Self {
        let reason = match &ended.status {
            TrialStatus::Failed(reason) => Some(in_python(reason)),
            _ => None,
        };
        let run = ended.runs.into_iter().next().filter(|_| reason.is_none());
        Self {
            epochs: run.as_ref().map_or(0, |run| run.epochs.len()),
            is_late: run.as_ref().is_some_and(|run| is_late(run, config)),
            model: run.map(|run| run.model),
            reason,
        }
    }
}

impl Job {
    fn new(
        settings: Vec<TrainSettings>,
        mut training: Reader,
        validation: Option<Reader>,
        request: &DeviceRequest,
        threads: Option<usize>,
        trained: Option<Vec<Ended>>,
    ) -> Result<Self, Error> {
        let planned = planned(&settings, &mut training, validation.is_some(), |number| number)?;
        let mut sources = Sources::new(training, validation, None);
        let mut members = sources.members(&planned, None)?;
        let device = find_device_for(request, is_short(&members, threads)?)?;
        plan_on(&device, &mut members)?;
        let validation = members.first().and_then(|member| member.data[0].validation().cloned());
        let ended = match trained {
            Some(trained) => {
                members.clear();
                trained.into_iter().map(Some).collect()
            }
            None => members.iter().map(|_| None).collect(),
        };
        let configs = members.iter().map(|member| member.config.clone()).collect();
        let plan = Plan { device, threads, halving: None, first_stage: 0, deadline: None };
        Ok(Self { sweep: Sweep::new(members, plan), ended, configs, validation })
    }

    /// Waits briefly and returns whether a network has ended; `None` when all have.
    fn next(&mut self) -> Result<Option<bool>, Error> {
        while let Some(event) = self.sweep.next()? {
            match event {
                Event::FinishedMember(ended) => {
                    let number = ended.member;
                    self.ended[number] = Some(Ended::new(*ended, &self.configs[number]));
                    return Ok(Some(true));
                }
                Event::Tick => return Ok(Some(false)),
                Event::Epoch { .. } | Event::Halved { .. } => {}
            }
        }
        Ok(None)
    }

    /// Returns all networks, and the picked ones as one model.
    fn finish(self, picks: Option<usize>, seed: u64) -> Result<(Vec<Trained>, Option<Model>), Error> {
        let (mut trained, mut models) = (Vec::new(), Vec::new());
        for (number, ended) in self.ended.into_iter().enumerate() {
            let reason = || Some("it was not trained".to_owned());
            let Ended { model, reason, epochs, is_late } =
                ended.unwrap_or_else(|| Ended { model: None, reason: reason(), epochs: 0, is_late: false });
            models.extend(model.as_ref().map(|model| (number, (**model).clone())));
            trained.push((model.map(Model::shared), reason, epochs, 0, is_late));
        }
        let Some((_, first)) = models.first() else { return Ok((trained, None)) };
        let is_like = |model: &tinytrain::Model| {
            model.transform == first.transform && model.data_schema == first.data_schema
        };
        if !models.iter().all(|(_, model)| is_like(model)) {
            let text = "networks that predict together have their inputs made the same way: scale, clip, one_hot and embeddings do not vary";
            return Err(Error::Config(text.to_owned()));
        }
        let picked = match (picks, &self.validation) {
            (Some(picks), Some(rows)) => select(&models, rows, picks, seed)?,
            _ => (0..models.len()).map(|place| (place, 1)).collect(),
        };
        for (place, times) in &picked {
            trained[models[*place].0].3 = *times;
        }
        let networks = picked.into_iter().map(|(place, times)| (models[place].1.clone(), times)).collect();
        let validation = self.validation.as_ref().map(Model::sample);
        Ok((trained, one_model(networks).map(|model| Model::new(model).validated_on(validation))))
    }
}

/// Picks networks by validation rows: returns their indices and numbers of picks.
fn select(
    models: &[(usize, tinytrain::Model)],
    rows: &tinytrain::Dataset,
    picks: usize,
    seed: u64,
) -> Result<Vec<(usize, u32)>, Error> {
    let outputs = models.iter().map(|(_, model)| block(engine(model, &Device::Cpu)?.outputs(&rows.view())));
    let outputs = outputs.collect::<Result<Vec<Vec<f32>>, Error>>()?;
    let first = &models[0].1;
    let targets = match (rows.targets.view(), &first.data_schema.target_scale) {
        (TargetsRef::Values { columns, values }, Some(scale)) => {
            Targets::Values { columns, values: scale.scaled(values) }
        }
        _ => rows.targets.clone(),
    };
    let (columns, loss, counts) = (first.network.outputs(), first.network.loss(), rows.view().counts());
    let candidates =
        Candidates { outputs: &outputs, columns, targets: targets.view(), counts: &counts, loss };
    Ok(candidates.select(picks, seed).map(|(picked, _)| picked).unwrap_or_default())
}
