//! A run, as the page watches it.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tinytrain::engine::{Device, EngineKind};
#[cfg(feature = "gpu")]
use tinytrain::gpu::{Adapter, DeviceKind, adapters_async};
#[cfg(feature = "gpu")]
use tinytrain::kernels::MOST_BUFFERS;
use tinytrain::{Epoch, Event, Reader, Run, Score, Summary, TrainSettings};
use wasm_bindgen::prelude::*;

use crate::errors::{Result, of_library, thrown};
use crate::images::Images;
use crate::model::Model;
use crate::settings;
use crate::table::Table;

/// A network in training.
#[wasm_bindgen]
pub struct Trainer {
    state: State,
    engine: String,
    device: String,
    notes: Vec<String>,
    network: String,
    told: VecDeque<Value>,
    rows: usize,
    total: Option<usize>,
    loss: f64,
    accuracy: f64,
    epoch: usize,
    epochs: usize,
    steps: u64,
}

enum State {
    Going(Box<Run>),
    Ended(Box<Summary>),
    /// After an error.
    Failed,
}

#[wasm_bindgen]
impl Trainer {
    /// A network for images. `settings` is JSON with the program's names; `device` is `auto`, `gpu` or `cpu`.
    #[wasm_bindgen(js_name = forImages)]
    pub async fn for_images(images: &Images, settings: String, device: String) -> Result<Trainer> {
        let [reader, test] = images.readers()?;
        Self::begin(reader, Some(test), &settings::read(&settings)?, &device).await
    }

    /// A network for a table.
    #[wasm_bindgen(js_name = forTable)]
    pub async fn for_table(table: &mut Table, settings: String, device: String) -> Result<Trainer> {
        let reader = table.reader()?;
        Self::begin(reader, None, &settings::read(&settings)?, &device).await
    }

    /// What trains: `cpu`, or the name of an adapter.
    pub fn engine(&self) -> String {
        self.engine.clone()
    }

    /// What trains, with the number of its threads; empty before the first step.
    pub fn device(&self) -> String {
        self.device.clone()
    }

    /// What was refused, and why.
    pub fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The network in words, such as 784-300-100-10; empty before the first step.
    pub fn network(&self) -> String {
        self.network.clone()
    }

    /// Trains for about so many milliseconds, or to the end of an epoch. Gives what has happened since the last call, as JSON.
    pub async fn advance(&mut self, milliseconds: f64) -> Result<String> {
        let begun = js_sys::Date::now();
        let mut ended = Vec::new();
        while let State::Going(run) = &mut self.state {
            match run.next_async().await {
                Ok(Some(event)) => {
                    self.steps = run.steps();
                    if matches!(event, Event::Started(_)) {
                        self.notes.extend_from_slice(run.refused());
                    }
                    let is_epoch = matches!(event, Event::Epoch { .. });
                    self.take(event, &mut ended);
                    if is_epoch || js_sys::Date::now() - begun >= milliseconds {
                        break;
                    }
                }
                Ok(None) => self.end().await?,
                Err(error) => {
                    self.state = State::Failed;
                    return Err(of_library(error));
                }
            }
        }
        let done = match &self.state {
            State::Going(_) => Value::Null,
            State::Ended(summary) => json!({
                "end": format!("{:?}", summary.end).to_lowercase(),
                "kept": summary.kept,
                "warning": summary.warning.as_ref().map(ToString::to_string),
                "epochs": summary.epochs.iter().map(of_epoch).collect::<Value>(),
            }),
            State::Failed => return Err(thrown("the run has failed")),
        };
        Ok(json!({
            "steps": self.steps,
            "epoch": self.epoch,
            "most_epochs": self.epochs,
            "rows": self.rows,
            "total": self.total,
            "loss": self.loss,
            "accuracy": self.accuracy,
            "epochs": ended,
            "notes": self.told.drain(..).collect::<Vec<_>>(),
            "done": done,
        })
        .to_string())
    }

    /// The weights of the first `units` units of the first layer, unit after unit, as they are now; nothing before the first step.
    #[wasm_bindgen(js_name = firstLayer)]
    pub async fn first_layer(&mut self, units: usize) -> Result<Vec<f32>> {
        let model = self.current().await?;
        let Some(layer) = model.as_ref().and_then(|model| model.parameters.layers.first()) else {
            return Ok(Vec::new());
        };
        let unit = |unit: usize| (0..layer.inputs).map(move |input| [input, unit]);
        let places = (0..units.min(layer.outputs)).flat_map(unit);
        Ok(places.map(|[input, unit]| layer.weights[input * layer.outputs + unit]).collect())
    }

    /// The model that is kept, as the program would save it; before the first epoch has ended, the one that there is.
    pub async fn model(&mut self) -> Result<Model> {
        let kept = match &self.state {
            State::Ended(summary) => Some(summary.model.clone()),
            State::Going(run) => run.kept().map(|(_, model)| (**model).clone()),
            State::Failed => None,
        };
        match kept {
            Some(model) => Ok(Model::new(model)),
            None => match self.current().await? {
                Some(model) => Ok(Model::new(model)),
                None => Err(thrown("nothing has been trained yet")),
            },
        }
    }

    /// Stops the run: the next calls of `advance` bring it to its end, with the model that it has.
    pub fn stop(&mut self) {
        if let State::Going(run) = &mut self.state {
            run.stop();
        }
    }
}

impl Trainer {
    async fn begin(
        reader: Reader,
        test: Option<Reader>,
        settings: &TrainSettings,
        device: &str,
    ) -> Result<Self> {
        let info = settings.inspect(&reader, false, test.is_some());
        let (device, notes) = find(device).await?;
        let (data, config) = settings.prepare(info, reader, None, test).map_err(of_library)?;
        let engine = match &device {
            Device::Cpu => "cpu".to_owned(),
            #[cfg(feature = "gpu")]
            Device::Gpu(adapter) => adapter.name.clone(),
        };
        let epochs = config.epochs;
        let run = Run::new(config, data, device, None).map_err(of_library)?;
        #[cfg(feature = "gpu")]
        let run = run.verified();
        Ok(Self {
            state: State::Going(Box::new(run)),
            engine,
            device: String::new(),
            notes,
            network: String::new(),
            told: VecDeque::new(),
            rows: 0,
            total: None,
            loss: f64::NAN,
            accuracy: f64::NAN,
            epoch: 1,
            epochs,
            steps: 0,
        })
    }

    fn take(&mut self, event: Event, ended: &mut Vec<Value>) {
        match event {
            Event::Started(started) => {
                self.network = started.network.to_string();
                self.engine = match started.engine.engine {
                    EngineKind::Cpu => "cpu".to_owned(),
                    EngineKind::Gpu => started.engine.device.clone(),
                };
                self.device = started.engine.device.clone();
                self.total = started.rows;
                self.epochs = started.epochs;
            }
            Event::Progress { epoch, rows, total, score: Score { loss, accuracy, .. } } => {
                (self.epoch, self.rows, self.total) = (epoch, rows, total);
                (self.loss, self.accuracy) = (loss, accuracy);
            }
            Event::Epoch { epoch, is_kept, .. } => {
                let mut figures = of_epoch(&epoch);
                figures["kept"] = is_kept.into();
                ended.push(figures);
            }
            // That it ends within an epoch is told by how it has ended.
            Event::Interrupted { .. } => {}
            other => self.told.extend(serde_json::to_value(other).ok()),
        }
    }

    /// The model as it is.
    async fn current(&mut self) -> Result<Option<tinytrain::Model>> {
        match &mut self.state {
            State::Going(run) => run.current_async().await.map_err(of_library),
            State::Ended(summary) => Ok(Some(summary.model.clone())),
            State::Failed => Ok(None),
        }
    }

    /// Sums up a run that is over.
    async fn end(&mut self) -> Result<()> {
        if let State::Going(run) = std::mem::replace(&mut self.state, State::Failed) {
            self.state = State::Ended(Box::new(run.summary_async().await.map_err(of_library)?));
        }
        Ok(())
    }
}

/// An epoch as JSON, with numbers; `null` for those that are none.
fn of_epoch(epoch: &Epoch) -> Value {
    let of = |score: &Option<Score>| score.as_ref().map(of_score);
    json!({
        "epoch": epoch.epoch,
        "train": of_score(&epoch.train),
        "validation": of(&epoch.validation),
        "test": of(&epoch.test),
        "seconds": epoch.duration.as_secs_f64(),
        "rows": epoch.rows,
        "rows_per_second": epoch.samples_per_second(),
    })
}

fn of_score(score: &Score) -> Value {
    let mut object = json!({ "loss": score.loss });
    match (&score.values, &score.classes) {
        (Some(values), _) => {
            object["rmse"] = values.rmse.into();
            object["mae"] = values.mae.into();
            object["r2"] = values.r2.into();
        }
        (None, classes) => {
            object["accuracy"] = score.accuracy.into();
            if let Some(classes) = classes {
                object["balanced_accuracy"] = classes.balanced_accuracy.into();
                object["auc"] = classes.auc.into();
            }
        }
    }
    object
}

/// The browser's adapter, if it can run the kernels.
#[cfg(feature = "gpu")]
pub async fn best_adapter() -> Result<Adapter> {
    let found = adapters_async(None).await.into_iter();
    let mut able = found.filter(|adapter| adapter.storage_buffers() >= MOST_BUFFERS);
    able.next().ok_or_else(|| thrown("this browser has no WebGPU adapter"))
}

/// The device of this name, and what is to be said of it.
#[cfg(feature = "gpu")]
async fn find(name: &str) -> Result<(Device, Vec<String>)> {
    if name == "cpu" {
        return Ok((Device::Cpu, Vec::new()));
    }
    let gpu = |adapter| Ok((Device::Gpu(Box::new(adapter)), Vec::new()));
    let cpu = |why: &str| Ok((Device::Cpu, vec![why.to_owned()]));
    match (name, best_adapter().await) {
        ("gpu", found) => gpu(found?),
        ("auto", Ok(adapter)) if adapter.kind != DeviceKind::Software => gpu(adapter),
        ("auto", Ok(_)) => {
            cpu("the browser's WebGPU computes on the processor, where the CPU engine is faster")
        }
        ("auto", Err(_)) => cpu("this browser has no WebGPU adapter"),
        _ => Err(thrown("device: expected auto, gpu or cpu")),
    }
}

/// The device of this name: the CPU engine, all that this module has.
#[cfg(not(feature = "gpu"))]
async fn find(name: &str) -> Result<(Device, Vec<String>)> {
    match name {
        "cpu" => Ok((Device::Cpu, Vec::new())),
        _ => Err(thrown("device: expected cpu")),
    }
}
