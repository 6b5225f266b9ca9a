//! Arrays in a file each, NPY: the file of inputs and the file of targets of each part of a data set.

use std::path::{Path, PathBuf};

use super::npy::names_targets;
use super::subsets::Subset;
use crate::data::images::folders::entries;
use crate::error::Result;

/// Names of arrays that hold inputs, in small letters.
const INPUTS: [&str; 4] = ["x", "data", "features", "images"];

/// The part of a data set and the rest of the name of a file; `None` for other files.
fn name(path: &Path) -> Option<(Option<Subset>, String)> {
    let is_array = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npy"));
    is_array.then(|| Subset::of_array(&path.file_stem().unwrap_or_default().to_string_lossy()))
}

/// A file of inputs and the file of its targets next to it, if both are there.
pub(crate) fn with_targets(inputs: &Path) -> Result<Option<Vec<PathBuf>>> {
    let Some((subset, _)) = name(inputs).filter(|(_, base)| !names_targets(base)) else { return Ok(None) };
    let is_here = |folder: &&Path| !folder.as_os_str().is_empty();
    let folder = inputs.parent().filter(is_here).unwrap_or(Path::new("."));
    let are_targets =
        |path: &PathBuf| name(path).is_some_and(|(of, base)| of == subset && names_targets(&base));
    let targets = entries(folder)?.into_iter().find(are_targets);
    Ok(targets.map(|targets| {
        vec![inputs.to_owned(), inputs.with_file_name(targets.file_name().unwrap_or_default())]
    }))
}

/// The files of inputs and targets in a folder, for training, validation and testing.
pub(crate) fn pairs_in(folder: &Path) -> Result<[Option<Vec<PathBuf>>; 3]> {
    let files = entries(folder)?;
    let find = |subset: Option<Subset>, fits: &dyn Fn(&str) -> bool| {
        let is_it = |path: &&PathBuf| name(path).is_some_and(|(of, base)| of == subset && fits(&base));
        files.iter().find(is_it).cloned()
    };
    let names_inputs = |base: &str| INPUTS.contains(&base.to_lowercase().as_str());
    let pair = |subset| Some(vec![find(subset, &names_inputs)?, find(subset, &names_targets)?]);
    let training = pair(Some(Subset::Train)).or_else(|| pair(None));
    Ok([training, pair(Some(Subset::Validation)), pair(Some(Subset::Test))])
}
