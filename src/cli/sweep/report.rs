//! Output of a sweep while it runs: saved files and printed lines.

use crate::sweep::{
    Event, FinishedMember, Folder, Member, Models, RankedMember, Record, SavedEnsemble, SweepResult,
    TrainedModel, TrialPlan, TrialStatus, as_saved, by_score,
};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::data::Dataset;
use crate::engine::Device;
use crate::error::{Error, Result};
use crate::train::Score;
use indicatif::FormattedDuration;
use serde_json::{Value, json};

use super::options::Options;
use super::setup::{PreparedSweep, TrialSource};
use crate::cli::output::{Console, Look};
use crate::report::leaderboard::{
    chosen_value, common_settings, leaderboard, other_metric, score_text, settings_text,
};
use crate::report::text::{self, counted, grouped, loss, percent, seconds, shell_word};

/// Number of best members printed at the end.
const PRINTED: usize = 10;

/// Number of validation rows below which a warning is printed: the accuracy of 200 rows has a standard error
/// of 1.5 points at 95 %.
const FEW_ROWS: usize = 200;

/// Handles the events of a sweep.
pub struct Report<'a> {
    options: &'a Options,
    prepared: &'a PreparedSweep,
    planned: HashMap<usize, &'a TrialPlan>,
    members: HashMap<usize, &'a Member>,
    console: Console,
    start: Instant,
    /// Time at which training of members began.
    began: Instant,
    of_classes: bool,
    /// Members in training, by number: the epoch, and the best score so far.
    running: HashMap<usize, (usize, Option<Score>)>,
    /// Members dropped by a stage of halving that are not saved yet.
    dropped: Vec<FinishedMember>,
    /// Best score of the finished members.
    best: Option<Score>,
    /// Number of members; `None` if only time ends the sweep.
    all: Option<usize>,
}

impl<'a> Report<'a> {
    /// Creates an empty report of a `prepared` sweep.
    pub fn new(options: &'a Options, prepared: &'a PreparedSweep, console: Console, start: Instant) -> Self {
        let PreparedSweep { planned, members, .. } = prepared;
        Self {
            planned: planned.iter().map(|planned| (planned.number, planned)).collect(),
            of_classes: members.iter().all(|member| member.config.loss.classifies()),
            members: members.iter().map(|member| (member.number, member)).collect(),
            console,
            start,
            began: Instant::now(),
            running: HashMap::new(),
            dropped: Vec::new(),
            best: None,
            all: options.are_counted().then_some(members.len()),
            options,
            prepared,
        }
    }

    /// Prints the settings of training.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn begin(&mut self, folder: &Folder) -> Result<()> {
        let PreparedSweep { notices, tried, device, .. } = self.prepared;
        notices.iter().for_each(|notice| self.console.notice(notice));
        let scores = folder.records.iter().filter_map(Record::score);
        self.best = scores.min_by(|a, b| by_score(Some(a), Some(b)));
        if self.options.train.verbose
            && let TrialSource { space: Some(space), origin, .. } = tried
        {
            self.console.notice(&format!("the space, {origin}:"));
            for (name, values) in space.settings() {
                self.console.notice(&format!("  {name} = {values}"));
            }
        }
        let ended = folder.records.len();
        let rows = self.members.values().next().and_then(|member| member.data[0].training().rows());
        let place = match device {
            Device::Cpu => "the CPU engine".to_owned(),
            Device::Gpu(adapter) => format!("{} ({})", adapter.name, adapter.backend),
        };
        if self.options.is_json() {
            return self.console.object(&[
                ("event", "start".into()),
                ("members", self.members.len().into()),
                ("ended", ended.into()),
                ("rows", rows.into()),
                ("device", place.into()),
                ("folder", folder.path().to_string_lossy().into()),
            ]);
        }
        if self.options.train.quiet {
            return Ok(());
        }
        let data = self.members.values().next().map(|member| &member.data[0]);
        let held_out = data.and_then(|data| data.validation()).map_or(0, Dataset::rows);
        if (1..FEW_ROWS).contains(&held_out) {
            self.console.warn(&format!(
                "{held_out} validation rows decide the ranks, so the best trial may be best by chance; use --folds 5 to use all rows"
            ));
        }
        let members = self
            .all
            .map_or("as many trials as time allows".to_owned(), |all| counted(all as u64, "trial", "trials"));
        let trained = grouped(rows.unwrap_or(0) as u64);
        let each = if device.is_cpu() { ", one trial per thread" } else { ", small ones together" };
        self.console.line(&format!("{members} on {trained} training rows, on {place}{each}"))?;
        if ended > 0 {
            self.console.line(&format!(
                "{} finished before and not trained again",
                counted(ended as u64, "trial was", "trials were")
            ))?;
        }
        Ok(())
    }

    /// Saves and prints the results of an event; `rows` are the number of trained rows and of all rows.
    ///
    /// # Errors
    /// If nothing can be written.
    pub fn take(&mut self, event: Event, folder: &mut Folder, rows: [u64; 2]) -> anyhow::Result<()> {
        match event {
            Event::Tick => {}
            Event::Epoch { member, epoch, is_kept, .. } => {
                let is_tested = self.members.get(&member).is_some_and(|member| member.is_tested);
                let entry = self.running.entry(member).or_default();
                entry.0 = epoch.epoch;
                if is_kept {
                    entry.1 = if is_tested { epoch.test.clone() } else { epoch.validation.clone() };
                }
            }
            Event::Halved { left, .. } => {
                self.end_dropped(folder)?;
                let line = counted(left as u64, "trial continues", "trials continue");
                if self.options.is_json() {
                    self.console.object(&[("event", "halved".into()), ("left", left.into())])?;
                } else if !self.options.train.quiet {
                    self.console.line(&line)?;
                }
            }
            Event::FinishedMember(ended) => {
                self.running.remove(&ended.member);
                match ended.status {
                    TrialStatus::Dropped(_) => self.dropped.push(*ended),
                    _ => self.end_member(&ended, folder)?,
                }
            }
        }
        let (running, planned, of_classes) = (&self.running, &self.planned, self.of_classes);
        let left = self.options.total_time.map(|time| time.saturating_sub(self.start.elapsed()));
        let (ended, all, elapsed) = (folder.records.len(), self.all, self.began.elapsed());
        if !self.options.is_json() {
            self.console.progress().bar.lines(|| {
                let leaders = leaders(folder, running, planned, of_classes);
                [pace(ended, all, rows, left, elapsed)].into_iter().chain(leaders).collect()
            });
        }
        Ok(())
    }

    fn end_member(&mut self, ended: &FinishedMember, folder: &mut Folder) -> anyhow::Result<()> {
        let Some((record, models)) = self.record(ended)? else { return Ok(()) };
        folder.add(record, ended, &models)?;
        folder.records.last().map_or(Ok(()), |record| self.tell(record))
    }

    /// Saves dropped members together, so that a resumed sweep finds all of them or none.
    fn end_dropped(&mut self, folder: &mut Folder) -> anyhow::Result<()> {
        let (dropped, first) = (std::mem::take(&mut self.dropped), folder.records.len());
        let mut records = Vec::new();
        for ended in &dropped {
            records.extend(self.record(ended)?.map(|(record, models)| (record, ended, models)));
        }
        folder.add_dropped(records)?;
        folder.records[first..].iter().try_for_each(|record| self.tell(record))
    }

    /// Returns the record and models to save of a finished member; `None` for an unknown member.
    fn record(&self, ended: &FinishedMember) -> Result<Option<(Record, Models)>> {
        let both = (self.planned.get(&ended.member), self.members.get(&ended.member));
        let (Some(planned), Some(member)) = both else { return Ok(None) };
        let line = self.prepared.common.line(planned)?;
        let record = Record::from_finished(ended, &planned.own, &line, member.is_tested, self.of_classes);
        let models = self.models(ended, member, &record)?;
        Ok(Some((record, models)))
    }

    /// Prints a finished member.
    fn tell(&mut self, record: &Record) -> anyhow::Result<()> {
        let score = record.score();
        let is_best = score
            .as_ref()
            .is_some_and(|score| self.best.as_ref().is_none_or(|best| score.is_better_than(best)));
        if is_best {
            self.best = score;
        }
        if self.options.is_json() {
            let mut fields = vec![("event", "member".into())];
            let value = serde_json::to_value(record)?;
            fields.extend(
                value.as_object().into_iter().flatten().map(|(name, value)| (&**name, value.clone())),
            );
            self.console.object(&fields)?;
        } else if !self.options.train.quiet && !self.console.progress().bar.is_seen() {
            let mark = if is_best { "  * best so far" } else { "" };
            self.console.line(&format!("{}{mark}", member_line(record)))?;
        }
        Ok(())
    }

    /// Returns the models to save of a member: its model; if trained on folds, the models of all folds when
    /// an ensemble is wanted.
    fn models(&self, ended: &FinishedMember, member: &Member, record: &Record) -> Result<Models> {
        let mut runs = ended.runs.iter();
        let bytes = |run: &TrainedModel| as_saved(&run.model, &self.prepared.names).to_bytes();
        let mut models = Models::default();
        if !member.is_tested {
            models.whole = runs.next().filter(|_| record.score().is_some()).map(bytes).transpose()?;
        } else if self.options.ensemble.is_some() && record.is_done() {
            models.of_folds = runs.map(bytes).collect::<Result<_>>()?;
        }
        Ok(models)
    }

    /// Removes the table of leaders.
    pub fn clear(&mut self) {
        self.console.progress().bar.clear();
    }

    /// Prints the results of the sweep.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn end(
        &self,
        folder: &Folder,
        ranked: &[RankedMember],
        failed: usize,
        finished: SweepResult,
    ) -> anyhow::Result<()> {
        let SweepResult { best_member, best, ensemble } = finished;
        let time = self.start.elapsed();
        if folder.records.is_empty() {
            anyhow::bail!(Error::Config(
                "--total-time: too short: no trial has finished; allow more time".to_owned()
            ));
        }
        if ranked.is_empty() {
            return Err(Error::NoMember { path: folder.file("results.jsonl") }.into());
        }
        let first = ranked.iter().find(|ranked| Some(ranked.record.member) == best_member);
        if self.options.is_json() {
            let mut fields = vec![
                ("event", "summary".into()),
                ("members", folder.records.len().into()),
                ("failed", failed.into()),
                ("best_member", first.map(|first| first.record.member).into()),
                ("accuracy", first.and_then(|first| first.record.accuracy).into()),
                ("loss", first.and_then(|first| first.record.loss).into()),
                ("model", best.as_ref().map(|path| path.to_string_lossy().into_owned()).into()),
            ];
            if let Some(ensemble) = &ensemble {
                fields.push(("ensemble", ensemble_json(ensemble)));
            }
            fields.extend([
                ("folder", folder.path().to_string_lossy().into()),
                ("seconds", Value::from(time.as_secs_f64())),
            ]);
            return Ok(self.console.object(&fields)?);
        }
        if !self.options.train.quiet {
            common_settings(ranked).map_or(Ok(()), |line| self.console.line(&line))?;
            for (number, line) in leaderboard(ranked, PRINTED, false).lines().iter().enumerate() {
                // The best trial comes after the names of the columns.
                self.console.line_with(if number == 1 { Look::Best } else { Look::Plain }, line)?;
            }
        }
        if failed > 0 {
            self.console
                .notice(&format!("{} failed; see results.jsonl", counted(failed as u64, "trial", "trials")));
        }
        if let Some(RankedMember { record, .. }) = first {
            let model = best.map(|path| format!(", model {}", shell_word(&path))).unwrap_or_default();
            self.console.line(&format!("best: trial {}, {}{model}", record.member, figures(record)))?;
        }
        if let Some(ensemble) = ensemble {
            self.console.line(&ensemble_text(&ensemble))?;
        }
        let members = counted(folder.records.len() as u64, "trial", "trials");
        self.console.notice(&format!(
            "{members} in {}, saved in {}",
            seconds(time),
            shell_word(folder.path())
        ));
        Ok(())
    }
}

/// Describes the progress: number of finished members, of all if it is fixed, rows per second, and time left.
fn pace(
    ended: usize,
    all: Option<usize>,
    [rows, of]: [u64; 2],
    left: Option<Duration>,
    elapsed: Duration,
) -> String {
    let rate = rows as f64 / elapsed.as_secs_f64().max(1e-9);
    let rest = |rate: f64| Duration::from_secs_f64((of.saturating_sub(rows) as f64 / rate).min(1e9));
    let by_rate = (rate > 0.0 && all.is_some()).then(|| rest(rate));
    let left = left.into_iter().chain(by_rate).min();
    let left = left.map(|left| format!(", {} left", FormattedDuration(left))).unwrap_or_default();
    let all = all.map(|all| format!(" of {all}")).unwrap_or_default();
    format!("{ended}{all} trials finished, {} rows/s{left}", text::rate(rate))
}

/// Returns the leaders, best first, including members still in training.
fn leaders(
    folder: &Folder,
    running: &HashMap<usize, (usize, Option<Score>)>,
    planned: &HashMap<usize, &TrialPlan>,
    of_classes: bool,
) -> Vec<String> {
    let ended =
        folder.records.iter().filter_map(|record| Some((record.member, record.epochs, record.score()?, "")));
    let going =
        running.iter().filter_map(|(member, (epoch, score))| Some((*member, *epoch, score.clone()?, " ...")));
    let mut all: Vec<(usize, usize, Score, &str)> = ended.chain(going).collect();
    all.sort_by(|a, b| by_score(Some(&a.2), Some(&b.2)).then(a.0.cmp(&b.0)));
    let line = |(member, epoch, score, mark): &(usize, usize, Score, &str)| {
        let settings = planned.get(member).map(|planned| settings_text(&planned.own)).unwrap_or_default();
        let figure = score_text(score, of_classes);
        format!("{member:>5}  {figure}  epoch {epoch}{mark}  {settings}")
    };
    all.iter().take(PRINTED).map(line).collect()
}

/// Returns the line of a finished member.
fn member_line(record: &Record) -> String {
    let settings = settings_text(&record.settings);
    let settings = if settings.is_empty() { String::new() } else { format!(": {settings}") };
    match &record.reason {
        Some(reason) => format!("trial {} failed: {reason}{settings}", record.member),
        None => {
            let end = match record.end.as_str() {
                "dropped" => ", dropped",
                "time" => ", out of time",
                _ => "",
            };
            let epochs = counted(record.epochs as u64, "epoch", "epochs");
            format!("trial {}, {}, {epochs}{end}{settings}", record.member, figures(record))
        }
    }
}

/// Formats the score of a member, the metric that orders trials first.
fn figures(record: &Record) -> String {
    let other = other_metric(record).map(|it| format!("{} {}", it.metric, chosen_value(it)));
    let accuracy = record.accuracy.map(|accuracy| format!("accuracy {}", percent(accuracy)));
    let loss = record.loss.map_or("no loss".to_owned(), |value| format!("loss {}", loss(value)));
    other.into_iter().chain(accuracy).chain([loss]).collect::<Vec<String>>().join(", ")
}

/// Returns an ensemble as JSON.
fn ensemble_json(ensemble: &SavedEnsemble) -> Value {
    let members: Vec<Value> =
        ensemble.members.iter().map(|(member, picks)| json!({ "member": member, "picks": picks })).collect();
    let mut object = json!({
        "model": ensemble.path.to_string_lossy(),
        "members": members,
        "picked_by": if ensemble.is_out_of_fold { "out_of_fold" } else { "validation" },
        "loss": ensemble.fit.loss,
    });
    object["accuracy"] = ensemble.of_classes.then_some(ensemble.fit.accuracy).into();
    let names = if ensemble.of_classes { ["test_accuracy", "test_loss"] } else { ["test_rmse", "test_r2"] };
    for (name, index) in names.into_iter().zip(0..) {
        object[name] = ensemble.test.map(|test| test[index]).into();
    }
    object
}

/// Returns the description of an ensemble.
fn ensemble_text(ensemble: &SavedEnsemble) -> String {
    let picks: u32 = ensemble.members.iter().map(|(_, picks)| picks).sum();
    let figures = match ensemble.of_classes {
        true => format!("accuracy {}, loss {}", percent(ensemble.fit.accuracy), loss(ensemble.fit.loss)),
        false => format!("loss {}", loss(ensemble.fit.loss)),
    };
    let rows = if ensemble.is_out_of_fold { " on out-of-fold rows" } else { "" };
    let test = ensemble.test.map(|[first, second]| match ensemble.of_classes {
        true => format!(", test accuracy {}", percent(first)),
        false => format!(", test RMSE {}, R2 {}", loss(first), loss(second)),
    });
    let members = match &ensemble.members[..] {
        // No mixture has a lower loss.
        [(member, _)] => format!("trial {member} only, as every mixture has a higher loss"),
        members => format!("{picks} picks of {} trials", members.len()),
    };
    format!(
        "ensemble: {members}, {figures}{rows}{}, model {}",
        test.unwrap_or_default(),
        shell_word(&ensemble.path)
    )
}
