//! Results of a finished sweep: the best model, and an ensemble. Members trained on folds are trained again
//! for them, on all rows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::ensemble::Fit;
use super::folder::{BEST, ENSEMBLE, Folder};
use super::leaderboard::{RankedMember, best};
use super::member::{FinishedMember, Member, TrialStatus};
use super::picking::{EnsembleSelection, Picks, SelectedEnsemble, one_model};
use super::run::{Event, Plan, Sweep};
use super::sources::Sources;
use crate::data::Dataset;
use crate::engine::Device;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::train::{Score, evaluate, load_model};

/// A finished sweep.
pub struct FinishedSweep<'a> {
    /// Folder of the sweep.
    pub folder: &'a Folder,
    /// All members.
    pub members: &'a [Member],
    /// Sources of the members' data.
    pub sources: &'a mut Sources,
    /// Device for training and evaluation.
    pub device: &'a Device,
    /// Most training threads.
    pub threads: Option<usize>,
    /// Description of the data in model files.
    pub names: &'a BTreeMap<String, String>,
    /// Number of picks for an ensemble, if requested.
    pub picks: Option<usize>,
    /// Seed for breaking ties.
    pub seed: u64,
    /// Receives events.
    pub tell: &'a mut dyn FnMut(FinishEvent),
}

/// Events while a sweep is being finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishEvent {
    /// There is no ensemble: no trial finished training on all folds.
    NoEnsemble,
    /// The best member was interrupted before its last epoch.
    BrokenOff {
        /// Number of the member.
        member: usize,
        /// Number of epochs that determine its score.
        epochs: usize,
    },
    /// Progress of training members on all rows.
    Refit {
        /// Number of finished members.
        done: usize,
        /// Number of all members.
        of: usize,
    },
    /// A picked member could not be trained on all rows.
    LeftOut {
        /// Number of the member.
        member: usize,
        /// Readable reason.
        reason: String,
    },
}

/// Results of a sweep.
#[derive(Debug, Default)]
pub struct SweepResult {
    /// Best member.
    pub best_member: Option<usize>,
    /// Model of the best member.
    pub best: Option<PathBuf>,
    /// The ensemble, if requested.
    pub ensemble: Option<SavedEnsemble>,
}

/// A saved ensemble.
#[derive(Debug)]
pub struct SavedEnsemble {
    /// Path of the file.
    pub path: PathBuf,
    /// Members, each with its number of picks.
    pub members: Picks,
    /// Whether it is a classifier.
    pub of_classes: bool,
    /// Whether they were picked by rows held out of their folds instead of validation rows.
    pub is_out_of_fold: bool,
    /// Quality on the rows used for picking.
    pub fit: Fit,
    /// Accuracy and loss, or RMSE and R2, on the test rows, if any.
    pub test: Option<[f64; 2]>,
}

/// Results of training on all rows, by the numbers of the members.
#[derive(Debug, Default)]
pub struct Refit {
    /// Models.
    pub models: BTreeMap<usize, Model>,
    /// Reasons for missing models.
    pub failed: BTreeMap<usize, String>,
}

/// Returns a model as it is saved, with the description of the data in its file.
pub fn as_saved(model: &Model, names: &BTreeMap<String, String>) -> Model {
    let mut model = model.clone();
    model.settings.extend(names.clone());
    // The number of threads does not affect the model.
    model.settings.remove("threads");
    model
}

/// Trains members that were trained on folds again, on all rows, as a sweep does. `on_progress` receives the
/// number of finished members and of all, and may stop the training with an error.
///
/// # Errors
/// Errors of the data, of the threads, and of `on_progress`.
pub fn refit<'a>(
    members: impl Iterator<Item = &'a Member>,
    sources: &mut Sources,
    device: &Device,
    threads: Option<usize>,
    on_progress: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<Refit> {
    let on_all_rows = |member: &Member| {
        let data = vec![sources.data(&member.config, None)?];
        Ok(Member { data, is_tested: false, ..member.clone() })
    };
    let members = members.map(on_all_rows).collect::<Result<Vec<Member>>>()?;
    let device = device.clone();
    let plan = Plan { device, threads, halving: None, first_stage: 0, deadline: None };
    let (all, mut refit) = (members.len(), Refit::default());
    let mut sweep = Sweep::new(members, plan);
    while let Some(event) = sweep.next()? {
        if let Event::FinishedMember(ended) = event {
            let FinishedMember { member, status, runs, .. } = *ended;
            match (status, runs.first()) {
                (TrialStatus::Failed(reason), _) => drop(refit.failed.insert(member, reason)),
                (_, Some(run)) => drop(refit.models.insert(member, Model::clone(&run.model))),
                _ => {}
            }
        }
        on_progress(refit.models.len() + refit.failed.len(), all)?;
    }
    Ok(refit)
}

impl<'b> FinishedSweep<'b> {
    /// Writes the models of a finished sweep; `ranked` are the members with a score, the best first.
    ///
    /// # Errors
    /// Errors of the models, the device and the files; [`Error::NotRefit`] if members were trained on folds
    /// and none resulted in a model on all rows.
    pub fn finish(&mut self, ranked: &[RankedMember]) -> Result<SweepResult> {
        let Some(first) = best(ranked, self.are_on_folds()) else { return Ok(SweepResult::default()) };
        let mut finished = SweepResult { best_member: Some(first.record.member), ..SweepResult::default() };
        if self.are_on_folds() {
            self.finish_folds(&mut finished, ranked, first)?;
            return Ok(finished);
        }
        finished.best = self.folder.keep_best(&first.record)?;
        if let Some(picks) = self.picks
            && let Some(chosen) = self.picking(ranked, picks).by_validation()?
        {
            let of_member = |(number, picks): (usize, u32)| {
                let record = self.folder.records.iter().find(|record| record.member == number);
                let name = record.and_then(|record| record.model.as_ref());
                name.map(|name| Ok((load_model(&self.folder.model(name)?)?, picks)))
            };
            let networks = chosen.members().into_iter().filter_map(of_member).collect::<Result<_>>()?;
            finished.ensemble = self.save(&chosen, networks)?;
        }
        Ok(finished)
    }

    fn are_on_folds(&self) -> bool {
        self.members.iter().any(|member| member.is_tested)
    }

    /// Implements [`FinishedSweep::finish`] for members trained on folds: the best of them and the members of
    /// an ensemble are trained again, on all rows.
    fn finish_folds(
        &mut self,
        finished: &mut SweepResult,
        ranked: &[RankedMember],
        first: &RankedMember,
    ) -> Result<()> {
        let chosen = match self.picks {
            Some(picks) => self.picking(ranked, picks).by_folds(self.sources)?,
            None => None,
        };
        if self.picks.is_some() && chosen.is_none() {
            (self.tell)(FinishEvent::NoEnsemble);
        }
        let (number, epochs) = (first.record.member, first.record.epochs);
        if first.record.is_broken_off() {
            (self.tell)(FinishEvent::BrokenOff { member: number, epochs });
        }
        let mut numbers = vec![number];
        numbers.extend(chosen.iter().flat_map(SelectedEnsemble::members).map(|(member, _)| member));
        let members = self.members.iter().filter(|member| numbers.contains(&member.number));
        let on_progress = &mut |done, of| {
            (self.tell)(FinishEvent::Refit { done, of });
            Ok(())
        };
        let refit = refit(members, self.sources, self.device, self.threads, on_progress)?;
        let (models, mut failed) = (refit.models, refit.failed);
        let best = models.get(&number).map(|model| as_saved(model, self.names));
        finished.best = best.map(|model| self.write(BEST, &model)).transpose()?;
        if let Some(chosen) = chosen
            && let Some(chosen) = chosen.without(|member| !models.contains_key(&member))
        {
            let of_member = |(member, picks)| Some((as_saved(models.get(&member)?, self.names), picks));
            let networks = chosen.members().into_iter().filter_map(of_member).collect();
            finished.ensemble = self.save(&chosen, networks)?;
        }
        if finished.best.is_none()
            && finished.ensemble.is_none()
            && let Some(reason) = failed.remove(&number)
        {
            return Err(Error::NotRefit { member: number, reason });
        }
        failed.into_iter().for_each(|(member, reason)| (self.tell)(FinishEvent::LeftOut { member, reason }));
        Ok(())
    }

    fn picking<'a>(&self, ranked: &'a [RankedMember], picks: usize) -> EnsembleSelection<'a>
    where
        'b: 'a,
    {
        let Self { members, device, folder, seed, .. } = *self;
        EnsembleSelection { members, device, folder, ranked, picks, seed }
    }

    /// Saves the picked networks.
    fn save(&self, chosen: &SelectedEnsemble, networks: Vec<(Model, u32)>) -> Result<Option<SavedEnsemble>> {
        let members = chosen.members();
        let Some(model) = one_model(networks) else { return Ok(None) };
        let path = self.write(ENSEMBLE, &model)?;
        let is_first = |member: &&Member| members.first().is_some_and(|(first, _)| *first == member.number);
        let is_out_of_fold = self.are_on_folds();
        let data =
            self.members.iter().find(is_first).filter(|_| !is_out_of_fold).map(|member| &member.data[0]);
        let test = data.and_then(|data| data.test()).map(|rows| self.tested(&model, rows)).transpose()?;
        let (of_classes, fit) = (model.network.loss().classifies(), chosen.fit);
        Ok(Some(SavedEnsemble { path, members, of_classes, is_out_of_fold, fit, test }))
    }

    fn tested(&self, model: &Model, rows: &Dataset) -> Result<[f64; 2]> {
        let Score { loss, accuracy, values, .. } = evaluate(model, rows, self.device)?.score;
        Ok(values.map_or([accuracy, loss], |errors| [errors.rmse, errors.r2]))
    }

    fn write(&self, name: &str, model: &Model) -> Result<PathBuf> {
        self.folder.write_bytes(name, &model.to_bytes()?)
    }
}
