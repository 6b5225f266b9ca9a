//! Folders of images: one folder per class, with its name.

use std::path::{Path, PathBuf};

use super::{Form, Reader, State};
use crate::data::columns::classes::MOST_LABELS;
use crate::data::columns::labels::Label;
use crate::data::dataset::{Features, reserve};
use crate::data::images::ImageForm;
use crate::data::images::file::{image_form, read_image};
use crate::data::images::folders::{ImageOptions, class_folders, entries};
use crate::data::reading::options::ReadOptions;
use crate::data::reading::table::Table;
use crate::error::{Error, Place, Result};
use crate::memory::check_memory;
use crate::threads::{available, in_order};

impl Reader {
    /// Reads all images of the folders in `folder`, each of which names a class.
    pub(crate) fn image_folders(folder: &Path, options: &ReadOptions) -> Result<Self> {
        let (mut files, mut table) = (Vec::new(), Table::default());
        for (class, class_folder) in class_folders(folder)?.unwrap_or_default().into_iter().enumerate() {
            let images = entries(&class_folder)?;
            if images.is_empty() {
                return Err(Error::data(
                    class_folder,
                    Place::default(),
                    "PNG or JPEG images of a class",
                    "none",
                ));
            }
            if class == MOST_LABELS {
                let expected = format!("at most {MOST_LABELS} folders, one for each class");
                return Err(Error::data(folder, Place::default(), expected, "more"));
            }
            let text = class_folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            table.names.push(Label { text, row: files.len() as u64 + 1 });
            table.numbers.resize(files.len() + images.len(), class as u32);
            files.extend(images);
        }
        let Some(first) = files.first() else {
            let expected = "folders of PNG or JPEG images, one for each class";
            return Err(Error::data(folder, Place::default(), expected, "none"));
        };
        let ImageOptions { size, colour, .. } = options.images;
        let (height, width) = match size {
            Some(size) => size,
            None => image_form(first).map(|form| (form.height, form.width))?,
        };
        let form = ImageForm { height, width, colour };
        let inputs = form.values();
        let name = folder.to_owned();
        check_memory(files.len() as u128 * inputs as u128, &format!("{}: all images", name.display()))?;
        let mut pixels = Vec::new();
        reserve(&mut pixels, files.len() * inputs, &name)?;
        let threads = options.threads.unwrap_or_else(available);
        in_order(
            threads,
            |file: &PathBuf| read_image(file, form, false),
            |image| {
                pixels.extend(image);
                Ok(())
            },
            |push| {
                // After an unreadable image, later images are not needed.
                let _ = files.iter().all(push);
                Ok(())
            },
        )?;
        table.features = Features::Bytes(pixels);
        table.classify();
        let reader = Self::empty(name, inputs, Form::Images(Some(form)), State::Complete);
        Ok(Self { table, known_rows: Some(files.len()), threads: options.threads, ..reader })
    }
}
