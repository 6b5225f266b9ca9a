//! What is made of a sweep when it is over: the leaderboard, the best model, an ensemble.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use tinytrain::data::Dataset;
use tinytrain::engine::Device;
use tinytrain::model::Model;
use tinytrain::output::Destination;
use tinytrain::sweep::{
    BEST, Chosen, ENSEMBLE, Fit, Folder, LEADERBOARD, Member, PAGE, Picking, Picks, Ranked, Sources, best,
    csv, one_model,
};
use tinytrain::train::{Config, evaluate, evaluate_values, load_model};
use tinytrain::{Error, Result};

use super::leaderboard::command;
use super::page;
use super::planned::{Common, Planned};
use crate::cli::output::warn;
use crate::cli::text::{counted, loss, percent, shell_word};

/// A sweep that is over.
pub struct Finish<'a> {
    pub members: &'a [Member],
    pub device: &'a Device,
    pub common: &'a Common,
    pub sources: &'a mut Sources,
    /// Whether somebody wants to see how far it is.
    pub is_seen: bool,
    /// Whether nobody has interrupted it.
    pub goes_on: &'a dyn Fn() -> bool,
}

/// What was made of it.
pub struct Finished {
    /// The members with a score, the best first.
    pub ranked: Vec<Ranked>,
    /// The best of them.
    pub best_member: Option<usize>,
    /// Its model.
    pub best: Option<PathBuf>,
    /// The ensemble, if one was wanted.
    pub ensemble: Option<Picked>,
    /// Members that have failed.
    pub failed: usize,
}

/// An ensemble.
pub struct Picked {
    path: PathBuf,
    /// Members, each with how often it was picked.
    members: Picks,
    of_classes: bool,
    /// Whether they were picked by the rows that their folds held out, not by those that validate.
    is_out_of_fold: bool,
    /// Of the rows by which they were picked.
    fit: Fit,
    /// Of the test rows, if there are any: accuracy and loss of classes, or RMSE and R2 of values.
    test: Option<[f64; 2]>,
}

/// What the training on all rows gave, by the numbers of the members.
#[derive(Default)]
pub struct Refit {
    /// As they are saved.
    pub models: BTreeMap<usize, Model>,
    /// Why there is no model.
    pub failed: BTreeMap<usize, String>,
}

/// Writes what an interrupted sweep leaves: the members so far, and the model of the best, if it has one.
///
/// # Errors
/// Those of the files.
pub fn interrupted(folder: &Folder, are_on_folds: bool) -> Result<()> {
    let (ranked, _) = standings(folder, are_on_folds)?;
    best(&ranked, are_on_folds).map_or(Ok(None), |first| copied(folder, first)).map(drop)
}

/// Writes the members down in the order of their scores; these, and how many have failed.
fn standings(folder: &Folder, are_on_folds: bool) -> Result<(Vec<Ranked>, usize)> {
    folder.write(LEADERBOARD, &csv(&folder.records, command)?)?;
    let (page, ranked, failed) = page::standing(folder, are_on_folds)?;
    folder.write(PAGE, &page)?;
    Ok((ranked, failed))
}

/// Copies the model of a member, if it has one here.
fn copied(folder: &Folder, first: &Ranked) -> Result<Option<PathBuf>> {
    let Some(name) = &first.record.model else { return Ok(None) };
    let (from, path) = (folder.file(name), folder.file(BEST));
    let bytes = std::fs::read(&from).map_err(|source| Error::Read { path: from, source })?;
    Destination::check(&path)?.write(&bytes)?;
    Ok(Some(path))
}

impl<'b> Finish<'b> {
    /// Writes all files that a sweep leaves when it is over.
    ///
    /// # Errors
    /// Those of the models, the device and the files; [`Error::NotRefit`] if members were trained on folds and none gave a model on
    /// all rows; [`Error::Interrupted`].
    pub fn finish(&mut self, folder: &Folder, picks: Option<usize>, planned: &[Planned]) -> Result<Finished> {
        let are_on_folds = self.common.base.folds.is_some();
        let (ranked, failed) = standings(folder, are_on_folds)?;
        let first = best(&ranked, are_on_folds);
        let best_member = first.map(|first| first.record.member);
        let mut finished = Finished { ranked, best_member, best: None, ensemble: None, failed };
        match self.common.base.folds {
            Some(_) => self.finish_folds(&mut finished, folder, picks, planned)?,
            None => {
                finished.best = finished.ranked.first().map_or(Ok(None), |first| copied(folder, first))?;
                if let Some(picks) = picks
                    && let Some(chosen) = self.picking(folder, &finished.ranked, picks).by_validation()?
                {
                    let of_member = |(number, picks): (usize, u32)| {
                        let record = folder.records.iter().find(|record| record.member == number);
                        let name = record.and_then(|record| record.model.as_ref());
                        name.map(|name| Ok((load_model(&folder.file(name))?, picks)))
                    };
                    let networks = chosen.members().into_iter().filter_map(of_member);
                    finished.ensemble = self.save(folder, &chosen, networks.collect::<Result<_>>()?)?;
                }
            }
        }
        Ok(finished)
    }

    /// The same where members were trained on folds: the best of them and those of an ensemble are trained once more, on all rows.
    fn finish_folds(
        &mut self,
        finished: &mut Finished,
        folder: &Folder,
        picks: Option<usize>,
        planned: &[Planned],
    ) -> Result<()> {
        let Some(first) = best(&finished.ranked, true) else { return Ok(()) };
        let chosen = match picks {
            Some(picks) => self.picking(folder, &finished.ranked, picks).by_folds(self.sources)?,
            None => None,
        };
        if picks.is_some() && chosen.is_none() {
            warn("no ensemble: no member was trained to its end on all folds");
        }
        let number = first.record.member;
        if first.record.is_broken_off() {
            warn(&format!(
                "no member was trained to its end on all folds: the best, member {number}, is judged by {} epochs, and trained by its \
                 settings on all rows",
                first.record.epochs
            ));
        }
        // Whoever told of it may have its model.
        let is_refit = first.record.model.is_none();
        let mut numbers: Vec<usize> = is_refit.then_some(number).into_iter().collect();
        numbers.extend(chosen.iter().flat_map(Chosen::members).map(|(member, _)| member));
        let Refit { models, mut failed } = self.on_all_rows(&numbers, planned)?;
        finished.best = match models.get(&number).filter(|_| is_refit) {
            Some(model) => Some(written(folder, BEST, model)?),
            None => copied(folder, first)?,
        };
        if let Some(chosen) = chosen
            && let Some(chosen) = chosen.without(|member| !models.contains_key(&member))
        {
            let of_member = |(member, picks)| Some((models.get(&member)?.clone(), picks));
            let networks = chosen.members().into_iter().filter_map(of_member).collect();
            finished.ensemble = self.save(folder, &chosen, networks)?;
        }
        if finished.best.is_none()
            && finished.ensemble.is_none()
            && let Some(reason) = failed.remove(&number)
        {
            return Err(Error::NotRefit { member: number, reason });
        }
        for (member, reason) in failed {
            warn(&format!("member {member} is left out: training on all rows failed: {reason}"));
        }
        Ok(())
    }

    fn picking<'a>(&self, folder: &'a Folder, ranked: &'a [Ranked], picks: usize) -> Picking<'a>
    where
        'b: 'a,
    {
        let (members, device, goes_on) = (self.members, self.device, self.goes_on);
        let seed = self.common.base.training.settings.seed.unwrap_or(Config::default().seed);
        Picking { members, device, folder, ranked, picks, seed, goes_on }
    }

    /// Saves the networks that were picked.
    fn save(&self, folder: &Folder, chosen: &Chosen, networks: Vec<(Model, u32)>) -> Result<Option<Picked>> {
        let members = chosen.members();
        let Some(model) = one_model(networks) else { return Ok(None) };
        let path = written(folder, ENSEMBLE, &model)?;
        let is_first = |member: &&Member| members.first().is_some_and(|(first, _)| *first == member.number);
        let is_out_of_fold = self.common.base.folds.is_some();
        let data =
            self.members.iter().find(is_first).filter(|_| !is_out_of_fold).map(|member| &member.data[0]);
        let test = data.and_then(|data| data.test()).map(|rows| self.tested(&model, rows)).transpose()?;
        let (of_classes, fit) = (model.network.loss().of_classes(), chosen.fit);
        Ok(Some(Picked { path, members, of_classes, is_out_of_fold, fit, test }))
    }

    fn tested(&self, model: &Model, rows: &Dataset) -> Result<[f64; 2]> {
        if model.network.loss().of_classes() {
            let evaluated = evaluate(model, rows, self.device, false)?;
            return Ok([evaluated.accuracy, evaluated.evaluation.loss]);
        }
        let evaluated = evaluate_values(model, rows, self.device)?;
        Ok([evaluated.errors.rmse, evaluated.errors.r2])
    }
}

/// Writes a model into the folder.
fn written(folder: &Folder, name: &str, model: &Model) -> Result<PathBuf> {
    let path = folder.file(name);
    Destination::check(&path)?.write(&model.to_bytes()?)?;
    Ok(path)
}

impl Picked {
    /// For programs.
    pub fn to_json(&self) -> Value {
        let members: Vec<Value> =
            self.members.iter().map(|(member, picks)| json!({ "member": member, "picks": picks })).collect();
        let mut object = json!({
            "model": self.path.to_string_lossy(),
            "members": members,
            "picked_by": if self.is_out_of_fold { "out_of_fold" } else { "validation" },
            "loss": self.fit.loss,
        });
        object["accuracy"] = self.of_classes.then_some(self.fit.accuracy).into();
        let names = if self.of_classes { ["test_accuracy", "test_loss"] } else { ["test_rmse", "test_r2"] };
        for (name, index) in names.into_iter().zip(0..) {
            object[name] = self.test.map(|test| test[index]).into();
        }
        object
    }

    /// For people.
    pub fn text(&self) -> String {
        let picks: u32 = self.members.iter().map(|(_, picks)| picks).sum();
        let figures = match self.of_classes {
            true => format!("accuracy {}, loss {}", percent(self.fit.accuracy), loss(self.fit.loss)),
            false => format!("loss {}", loss(self.fit.loss)),
        };
        let rows = if self.is_out_of_fold { " on out-of-fold rows" } else { "" };
        let test = self.test.map(|[first, second]| match self.of_classes {
            true => format!(", test accuracy {}", percent(first)),
            false => format!(", test RMSE {}, R2 {second:.4}", loss(first)),
        });
        format!(
            "ensemble: {picks} picks of {}, {figures}{rows}{}, model {}",
            counted(self.members.len() as u64, "member", "members"),
            test.unwrap_or_default(),
            shell_word(&self.path)
        )
    }
}
