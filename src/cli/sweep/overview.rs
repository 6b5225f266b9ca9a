//! What `tinytrain runs` tells of a sweep.

use std::path::{Path, PathBuf};
use tinytrain::sweep::{Folder, Record, best, ranked};

use serde_json::Value;
use tinytrain::Result;

use super::drawing::figure;
use crate::cli::text::counted;
use tinytrain::runs::FolderLock;

/// A sweep as its folder tells, while it may go on.
pub struct Overview {
    /// The folder.
    pub path: PathBuf,
    /// Whether it goes on now.
    pub is_running: bool,
    /// Those of all members that have ended.
    pub epochs: usize,
    /// Those of all members that have ended.
    pub seconds: f64,
    /// Of the best member.
    pub score: String,
    best: Option<Record>,
    members: u64,
    failed: u64,
}

impl Overview {
    /// Reads it.
    ///
    /// # Errors
    /// Those of the folder.
    pub fn of(path: &Path) -> Result<Self> {
        let folder = Folder::look_at(path)?;
        let best = best(&ranked(&folder.records), folder.is_on_folds()?).map(|best| best.record.clone());
        Ok(Self {
            path: path.to_owned(),
            is_running: FolderLock::is_taken(path),
            epochs: folder.records.iter().map(|record| record.epochs).sum(),
            seconds: folder.records.iter().fold(0.0, |sum, record| sum + record.seconds),
            score: best.as_ref().map_or_else(|| "no member".to_owned(), figure),
            best,
            members: folder.records.len() as u64,
            failed: folder.records.iter().filter(|record| record.end == "failed").count() as u64,
        })
    }

    /// How many members have ended, and the settings of the best.
    pub fn details(&self) -> Vec<String> {
        let mut details = vec![counted(self.members, "member", "members")];
        details.extend((self.failed > 0).then(|| format!("{} failed", self.failed)));
        if let Some(best) = &self.best {
            details.push(format!("best {}:", best.member));
            details.extend(best.settings.keys().map(|name| format!("{name} {}", best.setting(name))));
        }
        details
    }

    /// All of it for a machine.
    pub fn object(&self) -> Vec<(&str, Value)> {
        let best = self.best.as_ref();
        vec![
            ("sweep", self.path.display().to_string().into()),
            ("state", if self.is_running { "running" } else { "sweep" }.into()),
            ("members", self.members.into()),
            ("failed", self.failed.into()),
            ("epochs", self.epochs.into()),
            ("best_member", best.map(|best| best.member).into()),
            ("accuracy", best.and_then(|best| best.accuracy).into()),
            ("loss", best.and_then(|best| best.loss).into()),
            ("seconds", self.seconds.into()),
            ("settings", serde_json::json!(best.map(|best| &best.settings))),
        ]
    }
}
