//! `tinytrain sweep --from`: trials of other sweeps on the same rows.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Parser;
use toml::Table;

use super::options::Options;
use crate::cli::config_file;
use crate::error::{Error, Result};
use crate::sweep::{FileRows, Folder, Record, TrialPlan, may_differ};

/// Options that affect neither the rows nor the meaning of a score; [`Folder::check_rows`] compares the files.
const OTHERS: [&str; 9] =
    ["data", "validation", "test", "out", "profile", "device", "threads", "schedule", "bounds-checks"];

/// Trials of other sweeps.
pub struct Imports {
    /// Sweeps with the trials to be copied; empty if they have been.
    others: Vec<(Folder, Vec<Record>)>,
    /// Records of the trials.
    records: Vec<Record>,
}

impl Imports {
    /// Returns the trials of the folders of `--from`, or the copies of a `resumed` sweep.
    ///
    /// # Errors
    /// Errors of the folders; [`Error::Config`] for a sweep whose trials are not comparable.
    pub fn open(options: &Options, resumed: Option<&Folder>) -> Result<Self> {
        let copied = resumed.into_iter().flat_map(|folder| &folder.records);
        let records: Vec<Record> = copied.filter(|record| record.from.is_some()).cloned().collect();
        if !records.is_empty() {
            return Ok(Self { others: Vec::new(), records });
        }
        let mut found = HashSet::new();
        let mut open = |path: &PathBuf| {
            let folder = Folder::open_unlocked(path)?;
            compare(options, &folder)?;
            if let (Some(_), Some(folds)) = (options.ensemble, options.train.folds) {
                folder.check_fold_models(folds)?;
            }
            // Sweeps may have taken over the same trial.
            let is_new = |record: &&Record| found.insert(record.arguments.clone());
            let records = folder.to_import().filter(is_new).cloned().collect();
            Ok((folder, records))
        };
        let others = options.from.iter().map(&mut open).collect::<Result<Vec<_>>>()?;
        let records = others.iter().flat_map(|(_, records)| records).cloned().collect();
        Ok(Self { others, records })
    }

    /// Returns the plans of the trials, with numbers from `first`.
    ///
    /// # Errors
    /// [`Error::Config`] for a record without a command line.
    pub fn plan(&self, first: usize) -> Result<Vec<TrialPlan>> {
        let plan = |(number, record): (usize, &Record)| {
            let line = config_file::Line::try_parse_from(&record.arguments);
            let options = line.map_err(|error| Error::Config(error.to_string()))?.options.options;
            let (own, settings) = (record.settings.clone(), options.training.settings);
            Ok(TrialPlan { number, own, settings, is_packed: false })
        };
        (first..).zip(&self.records).map(plan).collect()
    }

    /// Copies the trials into the folder of this sweep, with numbers from `first`.
    ///
    /// # Errors
    /// Errors of the folders; [`Error::Config`] for other rows.
    pub fn copy(&self, first: usize, folder: &mut Folder, rows: &FileRows) -> Result<()> {
        if self.others.is_empty() {
            return Ok(());
        }
        for (other, _) in &self.others {
            if !other.has_rows(rows)? {
                let path = other.path().display();
                return Err(Error::Config(format!(
                    "--from {path}: expected a sweep on the same rows (--data)"
                )));
            }
        }
        folder.import(&self.others, first)
    }
}

/// Checks that another sweep held out the same rows and judged its trials in the same way.
fn compare(options: &Options, other: &Folder) -> Result<()> {
    let train = &options.train;
    let is_split = train.validation.is_none()
        || train.folds.is_some()
        || train.training.settings.test_fraction.is_some();
    let of = |options: &Options| -> Result<Table> {
        let mut table = config_file::table(&options.train)?;
        table.insert("seed".to_owned(), (options.seed() as i64).into());
        let counts = |name: &str| !may_differ(name) && !OTHERS.contains(&name);
        table.retain(|name, _| counts(name) && (is_split || name != "seed"));
        Ok(table)
    };
    let (own, began) = (of(options)?, of(&Options::stored(other)?)?);
    let Some(name) = own.keys().chain(began.keys()).find(|name| own.get(*name) != began.get(*name)) else {
        return Ok(());
    };
    let path = other.path().display();
    let why = if name == "seed" { ", which decides the held-out rows without --validation FILE" } else { "" };
    Err(Error::Config(format!("--from {path}: expected a sweep with the same --{name}{why}")))
}
