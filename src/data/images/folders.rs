//! Folders of PNG images: one for each class, under its name.

use std::fs;
use std::path::{Path, PathBuf};

use super::ImageForm;
use crate::error::{Error, Result};

/// How PNG images in folders, one for each class, are read: images of any size become this form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// Height and width; nothing is the size of the first image.
    pub size: Option<(usize, usize)>,
    /// Whether they have colours; else they become grey.
    pub colour: bool,
}

impl From<ImageForm> for ImageOptions {
    fn from(form: ImageForm) -> Self {
        Self { size: Some((form.height, form.width)), colour: form.colour }
    }
}

/// What a folder holds, in the order of the names; without what is hidden.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let fault = |source| Error::Read { path: folder.to_owned(), source };
    let paths =
        fs::read_dir(folder).map_err(fault)?.map(|entry| entry.map(|entry| entry.path()).map_err(fault));
    let mut paths = paths.collect::<Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b".")));
    paths.sort();
    Ok(paths)
}

/// The folders of the classes, if a folder holds some, of which at least one has a PNG file.
///
/// # Errors
/// [`Error::Read`].
pub(crate) fn class_folders(folder: &Path) -> Result<Option<Vec<PathBuf>>> {
    let folders: Vec<PathBuf> = entries(folder)?.into_iter().filter(|path| path.is_dir()).collect();
    for folder in &folders {
        let is_png =
            |path: &PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"));
        if entries(folder)?.iter().any(is_png) {
            return Ok(Some(folders));
        }
    }
    Ok(None)
}
