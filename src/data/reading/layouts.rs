//! Folders without data: their contents, and the path to name instead.

use std::path::{Path, PathBuf};

use crate::data::excerpt::{list_some, printable_name};
use crate::data::images::folders::{entries, has_image_name};
use crate::error::Result;

/// Depth to which folders below a folder are searched.
const DEPTH: usize = 3;

/// Maximum number of entries examined per folder.
const MOST_ENTRIES: usize = 100;

/// Image formats that are not read, by file extension.
const IMAGES: [&str; 5] = ["gif", "bmp", "webp", "tif", "tiff"];

/// Describes a folder without data, and the path to name instead. `holds_data` is true for folders that contain data.
///
/// # Errors
/// If the folder cannot be read.
pub(crate) fn what_is_there(folder: &Path, holds_data: &impl Fn(&Path) -> bool) -> Result<String> {
    let all = entries(folder)?;
    let all: Vec<PathBuf> = all.into_iter().take(MOST_ENTRIES).collect();
    let below = below(folder, holds_data, DEPTH);
    if let Some(first) = below.first() {
        let train = below.iter().find(|found| is_called(found, &["train"])).unwrap_or(first);
        let test = below.iter().find(|found| *found != train && is_called(found, &["test", "val", "t10k"]));
        let test = test.map_or_else(String::new, |test| format!(" and --test {}", test.display()));
        return Ok(format!("data in {}; use --data {}{test}", train.display(), train.display()));
    }
    let files: Vec<&PathBuf> = all.iter().filter(|path| path.is_file()).collect();
    let images = files.iter().find(|file| is_called(file, &["images"]) && is_called(file, &["train"]));
    let images =
        images.or_else(|| files.iter().find(|file| is_called(file, &["images-idx3", "images.idx3"])));
    let is_table = |file: &&&PathBuf| {
        let name = name(file);
        [".csv", ".tsv", ".npz", ".data"].iter().any(|end| name.contains(end))
    };
    let named = images.or_else(|| files.iter().find(|file| is_table(file) && is_called(file, &["train"])));
    if let Some(file) = named.or_else(|| files.iter().find(is_table)) {
        return Ok(format!("files with other names; use --data {}", file.display()));
    }
    if let Some(image) = other_image(folder, DEPTH) {
        return Ok(format!(
            "images in other formats, such as {}; convert them to PNG, in one folder for each class",
            image.display()
        ));
    }
    if all.iter().any(|path| has_image_name(path)) {
        return Ok("images, but no folder for each class".to_owned());
    }
    let names: Vec<String> = all
        .iter()
        .map(|path| printable_name(path.file_name().unwrap_or_default().as_encoded_bytes()))
        .collect();
    Ok(if names.is_empty() {
        "none of them".to_owned()
    } else {
        format!("none of them, only {}", list_some(names.into_iter()))
    })
}

/// The folders below a folder that contain data.
fn below(folder: &Path, holds_data: &impl Fn(&Path) -> bool, depth: usize) -> Vec<PathBuf> {
    let folders = entries(folder).unwrap_or_default().into_iter().filter(|path| path.is_dir());
    let mut found = Vec::new();
    for folder in folders.take(MOST_ENTRIES) {
        if holds_data(&folder) {
            found.push(folder);
        } else if depth > 1 {
            found.extend(below(&folder, holds_data, depth - 1));
        }
    }
    found
}

/// An image below a folder in a format that is not read.
fn other_image(folder: &Path, depth: usize) -> Option<PathBuf> {
    let all = entries(folder).unwrap_or_default();
    let is_image = |path: &&PathBuf| {
        let ending = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_lowercase();
        IMAGES.contains(&ending.as_str())
    };
    all.iter().find(is_image).cloned().or_else(|| {
        let folders = all.iter().filter(|path| depth > 1 && path.is_dir());
        folders.take(MOST_ENTRIES).find_map(|folder| other_image(folder, depth - 1))
    })
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// Whether the name of a file or folder contains one of these words.
fn is_called(path: &Path, words: &[&str]) -> bool {
    words.iter().any(|word| name(path).contains(word))
}
