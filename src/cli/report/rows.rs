//! Rows of a file, as pictures or as the cells of a table.

use tinytrain::data::{Features, Transform};

use super::judged::Judged;
use super::pixels;
use crate::cli::text::{column_name, short};

/// Columns of a table that are shown.
const MOST_COLUMNS: usize = 60;

/// A row as a picture, if rows are pictures.
pub fn picture(judged: &Judged, row: usize, alternative: &str) -> Option<String> {
    let form = judged.model.meaning.image?;
    let size = form.values();
    let pixels: Vec<u8> = match &judged.read.features {
        Features::Bytes(bytes) => bytes.get(row * size..(row + 1) * size)?.to_vec(),
        // Grey values that are no whole numbers.
        Features::Floats(floats) => {
            floats.get(row * size..(row + 1) * size)?.iter().map(|value| value.round() as u8).collect()
        }
    };
    Some(pixels::of_bytes(form, &pixels, alternative))
}

/// The names of the columns that are shown of a table.
pub fn columns(judged: &Judged) -> Vec<String> {
    let inputs = judged.model.meaning.schema.as_ref().map_or(&[][..], |schema| &schema.inputs);
    inputs.iter().take(MOST_COLUMNS).map(column_name).collect()
}

/// The cells of a row in these columns; empty where they are missing.
pub fn cells(judged: &Judged, row: usize) -> Vec<String> {
    let Some(schema) = &judged.model.meaning.schema else { return Vec::new() };
    let width = schema.inputs.len();
    let value = |column: usize| match &judged.read.features {
        Features::Bytes(bytes) => f32::from(bytes[row * width + column]),
        Features::Floats(floats) => floats[row * width + column],
    };
    let cell = |column: usize| {
        let category = schema.categories.iter().position(|category| *category == column);
        match category {
            Some(category) => {
                let text = judged.read.dictionaries[category].text(value(column) as u32);
                text.unwrap_or_default().to_owned()
            }
            None if value(column).is_nan() => String::new(),
            None => short(value(column).into()),
        }
    };
    (0..width.min(MOST_COLUMNS)).map(cell).collect()
}

/// Whether rows are pictures of which the first layer of the network sees the pixels.
pub fn sees_pixels(judged: &Judged) -> bool {
    let is_image =
        judged.model.meaning.image.is_some_and(|form| form.height * form.width == judged.rows.data.inputs);
    let is_one_each = match &judged.model.transform {
        Transform::Bytes | Transform::None => true,
        Transform::Columns(encoding) => encoding.inputs() == encoding.columns.len(),
    };
    is_image && is_one_each && judged.model.network.input_layer().is_none()
}
