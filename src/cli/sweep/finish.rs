//! What is made of a sweep when it is over: the leaderboard, the best model, an ensemble.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tinytrain::data::{Dataset, TargetsRef};
use tinytrain::engine::Device;
use tinytrain::model::{Ensemble, Model, Partner};
use tinytrain::output::Destination;
use tinytrain::sweep::{Candidates, Fit, Member, Sources};
use tinytrain::train::{Run, engine, evaluate, evaluate_values, load_model};
use tinytrain::{Error, Result};

use super::folder::Folder;
use super::leaderboard::{self, Ranked, ranked};
use super::page;
use super::planned::{Common, Planned};
use crate::cli::text::{loss, percent};

const LEADERBOARD: &str = "leaderboard.csv";
const PAGE: &str = "sweep.html";
const BEST: &str = "best.safetensors";
const ENSEMBLE: &str = "ensemble.safetensors";

/// Of how many of the best members an ensemble is picked at least.
const CANDIDATES: usize = 50;

/// A sweep that is over.
pub struct Finish<'a> {
    pub members: &'a [Member],
    pub device: &'a Device,
    pub common: &'a Common,
    pub sources: &'a mut Sources,
}

/// What was made of it.
pub struct Finished {
    /// The members with a score, the best first.
    pub ranked: Vec<Ranked>,
    /// The model of the best.
    pub best: Option<PathBuf>,
    /// The ensemble, if one was wanted.
    pub ensemble: Option<Picked>,
    /// Members that have failed.
    pub failed: usize,
}

/// Networks by their places, or members by their numbers, each with how often it was picked.
type Picks = Vec<(usize, u32)>;

/// An ensemble.
pub struct Picked {
    path: PathBuf,
    /// Members, each with how often it was picked.
    members: Picks,
    of_classes: bool,
    validation: Fit,
    /// Of the test rows, if there are any: accuracy and loss of classes, or RMSE and R2 of values.
    test: Option<[f64; 2]>,
}

/// Writes what an interrupted sweep leaves: the members so far, and the model of the best, if it has one.
///
/// # Errors
/// Those of the files.
pub fn interrupted(folder: &Folder) -> Result<()> {
    let (ranked, _) = standings(folder)?;
    ranked.first().map_or(Ok(None), |first| best(folder, first)).map(drop)
}

/// Writes the members down in the order of their scores; these, and how many have failed.
fn standings(folder: &Folder) -> Result<(Vec<Ranked>, usize)> {
    folder.write(LEADERBOARD, &leaderboard::csv(&folder.records)?)?;
    let ranked = ranked(&folder.records);
    let failed = folder.records.iter().filter(|record| record.end == "failed").count();
    let of_classes = ranked.iter().any(|ranked| ranked.record.accuracy.is_some());
    folder.write(PAGE, &page::page(&ranked, failed, &page::curves(&folder.history()?, of_classes)))?;
    Ok((ranked, failed))
}

/// Copies the model of a member, if it has one here.
fn best(folder: &Folder, first: &Ranked) -> Result<Option<PathBuf>> {
    let Some(name) = &first.record.model else { return Ok(None) };
    let (from, path) = (folder.file(name), folder.file(BEST));
    let bytes = std::fs::read(&from).map_err(|source| Error::Read { path: from, source })?;
    Destination::check(&path)?.write(&bytes)?;
    Ok(Some(path))
}

impl Finish<'_> {
    /// Writes all files that a sweep leaves when it is over.
    ///
    /// # Errors
    /// Those of the models, the device and the files.
    pub fn finish(&mut self, folder: &Folder, picks: Option<usize>, planned: &[Planned]) -> Result<Finished> {
        let (ranked, failed) = standings(folder)?;
        let best = match ranked.first() {
            Some(first) if first.record.model.is_none() => self.best_on_all(folder, first, planned)?,
            Some(first) => best(folder, first)?,
            None => None,
        };
        let ensemble = match picks {
            Some(picks) => self.ensemble(folder, &ranked, picks)?,
            None => None,
        };
        Ok(Finished { ranked, best, ensemble, failed })
    }

    /// Trains the best member of some that were trained on folds again, on all rows, and saves its model.
    fn best_on_all(
        &mut self,
        folder: &Folder,
        first: &Ranked,
        planned: &[Planned],
    ) -> Result<Option<PathBuf>> {
        let number = first.record.member;
        let planned = planned.iter().find(|planned| planned.number == number);
        let member = self.members.iter().find(|member| member.number == number);
        let Some((planned, member)) = planned.zip(member).filter(|(_, member)| member.is_tested) else {
            // Whoever told of it has its model.
            return Ok(None);
        };
        let data = self.sources.data(&member.config, None)?;
        let mut config = member.config.clone();
        config.threads = self.common.base.training.threads;
        let mut run = Run::shared(config, Arc::clone(&data), self.device.clone())?;
        while run.next()?.is_some() {}
        let path = folder.file(BEST);
        let model = planned.model(&run.summary()?.model, data.training());
        Destination::check(&path)?.write(&model.to_bytes()?)?;
        Ok(Some(path))
    }

    /// Picks an ensemble from the best members whose inputs are made the same way, and saves it.
    fn ensemble(&self, folder: &Folder, ranked: &[Ranked], picks: usize) -> Result<Option<Picked>> {
        let mut groups: Vec<Group> = Vec::new();
        for Ranked { record, .. } in ranked.iter().take(CANDIDATES.max(4 * picks)) {
            let (Some(name), Some(member)) =
                (&record.model, self.members.iter().find(|member| member.number == record.member))
            else {
                continue;
            };
            let model = load_model(&folder.file(name))?;
            let Some(rows) = member.data[0].validation() else { continue };
            let outputs = engine(&model, self.device)?.outputs(&rows.view())?;
            let place = groups.iter().position(|group| group.models[0].transform == model.transform);
            let place = place.unwrap_or_else(|| {
                groups.push(Group { member, models: Vec::new(), numbers: Vec::new(), outputs: Vec::new() });
                groups.len() - 1
            });
            groups[place].models.push(model);
            groups[place].numbers.push(record.member);
            groups[place].outputs.push(outputs);
        }
        let mut best: Option<(Group<'_>, Picks, Fit)> = None;
        for mut group in groups {
            let Some((picked, fit)) = group.pick(picks, self.common.base.training.seed) else { continue };
            if best.as_ref().is_none_or(|(_, _, other)| fit.loss < other.loss) {
                best = Some((group, picked, fit));
            }
        }
        let Some((group, picked, validation)) = best else { return Ok(None) };
        let model = group.together(&picked);
        let path = folder.file(ENSEMBLE);
        Destination::check(&path)?.write(&model.to_bytes()?)?;
        let test = group.member.data[0].test().map(|rows| self.tested(&model, rows)).transpose()?;
        let members = picked.iter().map(|(place, times)| (group.numbers[*place], *times)).collect();
        let of_classes = model.network.loss().of_classes();
        Ok(Some(Picked { path, members, of_classes, validation, test }))
    }

    fn tested(&self, model: &Model, rows: &Dataset) -> Result<[f64; 2]> {
        if model.network.loss().of_classes() {
            let evaluated = evaluate(model, rows, self.device, false)?;
            return Ok([evaluated.evaluation.accuracy(rows.labels()), evaluated.evaluation.loss]);
        }
        let evaluated = evaluate_values(model, rows, self.device)?;
        Ok([evaluated.errors.rmse, evaluated.errors.r2])
    }
}

/// Members whose inputs are made the same way.
struct Group<'a> {
    /// One of them.
    member: &'a Member,
    models: Vec<Model>,
    numbers: Vec<usize>,
    /// Of each for the validation rows.
    outputs: Vec<Vec<f32>>,
}

impl Group<'_> {
    fn pick(&mut self, picks: usize, seed: u64) -> Option<(Picks, Fit)> {
        let rows = self.member.data[0].validation()?;
        let model = &self.models[0];
        let scaled;
        let targets = match (rows.targets.view(), &model.meaning.target_scale) {
            // In the unit of the outputs.
            (TargetsRef::Values { values, columns }, Some(scale)) => {
                scaled = scale.scaled(values);
                TargetsRef::Values { values: &scaled, columns }
            }
            (targets, _) => targets,
        };
        let outputs = std::mem::take(&mut self.outputs);
        Candidates { outputs, columns: model.network.outputs(), targets }.picked(picks, seed)
    }

    /// The networks that were picked as one model.
    fn together(&self, picked: &[(usize, u32)]) -> Model {
        let mut model = self.models[picked[0].0].clone();
        let partner = |(place, picks): &(usize, u32)| {
            let Model { network, parameters, .. } = self.models[*place].clone();
            Partner { picks: *picks, network, parameters }
        };
        let partners = picked[1..].iter().map(partner).collect();
        model.ensemble = Some(Ensemble { picks: picked[0].1, partners });
        model
    }
}

impl Picked {
    /// For programs.
    pub fn to_json(&self) -> Value {
        let members: Vec<Value> =
            self.members.iter().map(|(member, picks)| json!({ "member": member, "picks": picks })).collect();
        let mut object = json!({
            "model": self.path.to_string_lossy(),
            "members": members,
            "loss": self.validation.loss,
        });
        object["accuracy"] = self.of_classes.then_some(self.validation.accuracy).into();
        let names = if self.of_classes { ["test_accuracy", "test_loss"] } else { ["test_rmse", "test_r2"] };
        for (name, index) in names.into_iter().zip(0..) {
            object[name] = self.test.map(|test| test[index]).into();
        }
        object
    }

    /// For people.
    pub fn text(&self) -> String {
        let picks: u32 = self.members.iter().map(|(_, picks)| picks).sum();
        let validation = match self.of_classes {
            true => {
                format!("accuracy {}, loss {}", percent(self.validation.accuracy), loss(self.validation.loss))
            }
            false => format!("loss {}", loss(self.validation.loss)),
        };
        let test = self.test.map(|[first, second]| match self.of_classes {
            true => format!(", test accuracy {}", percent(first)),
            false => format!(", test RMSE {}, R2 {second:.4}", loss(first)),
        });
        format!(
            "ensemble: {picks} picks of {} members, {validation}{}, model {}",
            self.members.len(),
            test.unwrap_or_default(),
            super::word(&self.path)
        )
    }
}
