//! Shards of a sweep, which several machines have trained, put together.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::folder::{FileRows, Folder};
use crate::error::{Error, Result};

/// Which part of a sweep is trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// The number of the shard, from 1.
    pub index: usize,
    /// The number of shards.
    pub count: usize,
}

impl Shard {
    /// Whether a member is one of it.
    pub fn has(self, member: usize) -> bool {
        member % self.count == self.index - 1
    }
}

impl FromStr for Shard {
    type Err = Error;

    /// Reads `2/8`, for example.
    fn from_str(text: &str) -> Result<Self> {
        let numbers = text.split_once('/').map(|(index, count)| (index.parse(), count.parse()));
        match numbers {
            Some((Ok(index), Ok(count))) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => {
                let text = "expected I/N with whole numbers, I from 1 to N, such as 2/8";
                Err(Error::Config(text.to_owned()))
            }
        }
    }
}

/// Opens the folders of shards, to be read.
///
/// # Errors
/// Those of the folders; [`Error::Config`] for one that is named twice.
pub fn open_shards(paths: &[PathBuf]) -> Result<Vec<Folder>> {
    let mut places = HashSet::new();
    let opened = paths.iter().map(|path| {
        if !places.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())) {
            let path = path.display();
            let text = format!("{path} is named twice; name each shard once");
            return Err(Error::Config(text));
        }
        Folder::open_to_read(path)
    });
    opened.collect()
}

/// Checks whether each member is in one of these folders alone, and there are some.
///
/// # Errors
/// [`Error::Config`] for the first that is in two, or where there is none.
pub fn check_apart(shards: &[Folder]) -> Result<()> {
    let mut known = HashSet::new();
    for shard in shards {
        if let Some(record) = shard.records.iter().find(|record| !known.insert(record.member)) {
            let (path, member) = (shard.path().display(), record.member);
            let text = format!("{path}: trial {member} is in another folder, too; name each shard once");
            return Err(Error::Config(text));
        }
    }
    match known.len() {
        0 => {
            let text = "no trial is finished in these folders; train the shards first";
            Err(Error::Config(text.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Makes the folder of a sweep with the members of all shards, with their epochs and models, as if this `command` had trained them on
/// these rows.
///
/// # Errors
/// Those of the folders, and of [`check_apart`].
pub fn merge(shards: &[Folder], out: &Path, command: &[String], rows: Option<FileRows>) -> Result<Folder> {
    check_apart(shards)?;
    let mut folder = Folder::create(out, command, rows)?;
    shards.iter().try_for_each(|shard| folder.take(shard))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{Models, Record};

    #[test]
    fn shards_become_one_sweep_with_all_members_and_models() {
        let place = tempfile::tempdir().unwrap();
        let shard = |name: &str, members: &[usize]| {
            let mut folder =
                Folder::create(&place.path().join(name), &["--seeds=1".to_owned()], None).unwrap();
            for member in members {
                let text = format!(r#"{{"member":{member},"end":"done","accuracy":0.5,"loss":{member}.5}}"#);
                let record: Record = serde_json::from_str(&text).unwrap();
                let models = Models { whole: Some(vec![*member as u8; 3]), of_folds: Vec::new() };
                folder.add(record, None, &models).unwrap();
            }
            folder
        };
        let shards = [shard("a", &[0, 2]), shard("b", &[1])];
        let merged = merge(&shards, &place.path().join("m"), &["--seeds=1".to_owned()], None).unwrap();
        drop(merged);
        let merged = Folder::open(&place.path().join("m")).unwrap();
        let members: Vec<usize> = merged.records.iter().map(|record| record.member).collect();
        assert_eq!((members, merged.command().unwrap()), (vec![0, 2, 1], vec!["--seeds=1".to_owned()]));
        for record in &merged.records {
            let model = merged.file(record.model.as_deref().unwrap());
            assert_eq!(std::fs::read(model).unwrap(), [record.member as u8; 3]);
        }
        let twice = [shard("c", &[0]), shard("d", &[3, 0])];
        let error = merge(&twice, &place.path().join("n"), &[], None).unwrap_err().to_string();
        assert!(error.ends_with("trial 0 is in another folder, too; name each shard once"), "{error}");
        assert!(merge(&[shard("e", &[])], &place.path().join("o"), &[], None).is_err());
    }
}
