//! Folders of images: one folder per class, with its name.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::ImageForm;
use crate::error::{Error, Place, Result};

/// Endings of the names of images.
const ENDINGS: [&str; 3] = ["png", "jpg", "jpeg"];

/// Depth to which folders in a folder of images are searched: data sets have folders of parts, with folders of classes.
const DEPTH: usize = 3;

/// The conversion of images.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// Height and width of images in folders, whatever their size; `None` for the size of the first image.
    pub size: Option<(usize, usize)>,
    /// Whether images in folders have colours rather than grey values.
    pub colour: bool,
    /// Whether rows and columns of images in arrays and tables are swapped, as EMNIST stores them. With the schema of a
    /// table, which has the order of the columns, only the form of its images changes.
    pub transpose: bool,
}

impl ImageOptions {
    /// The options that convert images to this form, if there is one.
    pub fn like(form: Option<ImageForm>, transpose: bool) -> Self {
        let size = form.map(|form| (form.height, form.width));
        Self { size, colour: form.is_some_and(|form| form.colour), transpose }
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

/// All images in a folder and the folders in it, ordered by name.
///
/// # Errors
/// [`Error::Read`]; [`Error::Data`] if there are none.
pub fn images_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let images = images_below(folder, DEPTH)?;
    if images.is_empty() {
        let expected = "PNG or JPEG images, in it or in its folders";
        return Err(Error::data(
            folder,
            Place::default(),
            expected,
            "none; name other files, not their folder",
        ));
    }
    Ok(images)
}

fn images_below(folder: &Path, depth: usize) -> Result<Vec<PathBuf>> {
    let mut images = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() && depth > 0 {
            images.extend(images_below(&path, depth - 1)?);
        } else if has_image_name(&path) {
            images.push(path);
        }
    }
    Ok(images)
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
