//! Folders of images: one folder per class, with its name.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::ImageForm;
use crate::error::{Error, Result};

/// Endings of the names of images.
const ENDINGS: [&str; 3] = ["png", "jpg", "jpeg"];

/// The conversion of images in folders, one folder per class: images of any size take this form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// Height and width; `None` for the size of the first image.
    pub size: Option<(usize, usize)>,
    /// Whether images have colours rather than grey values.
    pub colour: bool,
}

impl From<ImageForm> for ImageOptions {
    fn from(form: ImageForm) -> Self {
        Self { size: Some((form.height, form.width)), colour: form.colour }
    }
}

/// The entries of a folder, ordered by name; without hidden ones.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let fault = |source| Error::Read { path: folder.to_owned(), source };
    let paths =
        fs::read_dir(folder).map_err(fault)?.map(|entry| entry.map(|entry| entry.path()).map_err(fault));
    let mut paths = paths.collect::<Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b".")));
    paths.sort();
    Ok(paths)
}

/// Whether the name of a file ends like a PNG or JPEG file.
pub(crate) fn has_image_name(path: &Path) -> bool {
    let is_ending = |ending: &OsStr| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known));
    path.extension().is_some_and(is_ending)
}

/// The folders of the classes in a folder, if at least one of its folders contains an image file.
///
/// # Errors
/// [`Error::Read`].
pub(crate) fn class_folders(folder: &Path) -> Result<Option<Vec<PathBuf>>> {
    let folders: Vec<PathBuf> = entries(folder)?.into_iter().filter(|path| path.is_dir()).collect();
    for folder in &folders {
        if entries(folder)?.iter().any(|path| has_image_name(path)) {
            return Ok(Some(folders));
        }
    }
    Ok(None)
}
