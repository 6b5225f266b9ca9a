//! Rows of a file, as pictures or as the cells of a table, and the weights of the first layer as pictures: PNG in base64.

use std::fmt::Write;

use crate::data::{Features, ImageForm, Transform};
use crate::model::Layer;
use png::{BitDepth, ColorType, Encoder, EncodingError};

use super::evaluated_run::EvaluatedRun;
use super::html::escaped;
use super::text::{column_name, short};

/// Columns of a table that are shown.
const MOST_COLUMNS: usize = 60;

/// A row as a picture, if rows are pictures.
pub fn picture(evaluated: &EvaluatedRun, row: usize, alternative: &str) -> Option<String> {
    let form = evaluated.model.data_schema.image?;
    let size = form.values();
    let pixels: Vec<u8> = match &evaluated.read.features {
        Features::Bytes(bytes) => bytes.get(row * size..(row + 1) * size)?.to_vec(),
        // Grey values that are no whole numbers.
        Features::Floats(floats) => {
            floats.get(row * size..(row + 1) * size)?.iter().map(|value| value.round() as u8).collect()
        }
    };
    Some(of_bytes(form, &pixels, alternative))
}

/// The names of the columns that are shown of a table.
pub fn columns(evaluated: &EvaluatedRun) -> Vec<String> {
    let inputs = evaluated.model.data_schema.schema.as_ref().map_or(&[][..], |schema| &schema.inputs);
    inputs.iter().take(MOST_COLUMNS).map(column_name).collect()
}

/// The cells of a row in these columns; empty where they are missing.
pub fn cells(evaluated: &EvaluatedRun, row: usize) -> Vec<String> {
    let Some(schema) = &evaluated.model.data_schema.schema else { return Vec::new() };
    let width = schema.inputs.len();
    let value = |column: usize| match &evaluated.read.features {
        Features::Bytes(bytes) => f32::from(bytes[row * width + column]),
        Features::Floats(floats) => floats[row * width + column],
    };
    let cell = |column: usize| {
        let category = schema.categories.iter().position(|category| *category == column);
        match category {
            Some(category) => {
                let text = evaluated.read.dictionaries[category].text(value(column) as u32);
                text.unwrap_or_default().to_owned()
            }
            None if value(column).is_nan() => String::new(),
            None => short(value(column).into()),
        }
    };
    (0..width.min(MOST_COLUMNS)).map(cell).collect()
}

/// Whether rows are pictures of which the first layer of the network sees the pixels.
fn sees_pixels(evaluated: &EvaluatedRun) -> bool {
    let is_image = evaluated
        .model
        .data_schema
        .image
        .is_some_and(|form| form.height * form.width == evaluated.rows.data.inputs);
    let is_one_each = match &evaluated.model.transform {
        Transform::Bytes | Transform::None => true,
        Transform::Columns(encoding) => encoding.inputs() == encoding.columns.len(),
    };
    is_image && is_one_each && evaluated.model.network.input_layer().is_none()
}

/// Units that are shown.
const MOST_UNITS: usize = 64;

/// The section; nothing where rows are no pictures.
pub fn weights(evaluated: &EvaluatedRun) -> String {
    let (Some(ImageForm { height, width, .. }), true) =
        (evaluated.model.data_schema.image, sees_pixels(evaluated))
    else {
        return String::new();
    };
    let Some(layer) = evaluated.model.parameters.layers.first() else { return String::new() };
    let shown = longest(layer, MOST_UNITS);
    let which = match layer.outputs {
        units if units > MOST_UNITS => {
            format!("the {MOST_UNITS} of {units} units with the longest weights, the longest first")
        }
        units => format!("all {units} units"),
    };
    let mut html = format!(
        "<h3>First layer</h3>\n<p>Weights of {which}: orange above 0, blue below, each by its own greatest.</p>\n\
         <ul class=\"units\">\n"
    );
    for unit in shown {
        let image = signed(height, width, &of_unit(layer, unit), &format!("weights of unit {}", unit + 1));
        // Writing into a string cannot fail.
        let _ = writeln!(html, "<li>{image}<span>{}</span></li>", unit + 1);
    }
    html + "</ul>\n"
}

/// The `most` units of a layer with the largest weight norms.
fn longest(layer: &Layer, most: usize) -> Vec<usize> {
    let length =
        |unit: usize| of_unit(layer, unit).iter().map(|weight| f64::from(*weight).powi(2)).sum::<f64>();
    let mut units: Vec<(f64, usize)> = (0..layer.outputs).map(|unit| (length(unit), unit)).collect();
    units.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    units.into_iter().take(most).map(|(_, unit)| unit).collect()
}

/// The weights that lead to a unit.
fn of_unit(layer: &Layer, unit: usize) -> Vec<f32> {
    layer.weights.iter().skip(unit).step_by(layer.outputs).copied().collect()
}

/// A picture of values from 0 to 255, pixel by pixel and row by row.
fn of_bytes(form: ImageForm, pixels: &[u8], alternative: &str) -> String {
    let color = if form.colour { ColorType::Rgb } else { ColorType::Grayscale };
    image(form.height, form.width, pixels, color, alternative)
}

/// A picture of numbers around 0: white is 0, blue below, orange above; the furthest from 0 has the full colour.
fn signed(height: usize, width: usize, numbers: &[f32], alternative: &str) -> String {
    let most = numbers.iter().fold(f32::MIN_POSITIVE, |most, number| most.max(number.abs()));
    let pixel = |number: &f32| {
        let share = number / most;
        let full: [f32; 3] = if share < 0.0 { [0.0, 90.0, 180.0] } else { [210.0, 90.0, 0.0] };
        full.map(|full| (255.0 + (full - 255.0) * share.abs()).round() as u8)
    };
    let pixels: Vec<u8> = numbers.iter().flat_map(pixel).collect();
    image(height, width, &pixels, ColorType::Rgb, alternative)
}

/// The image as an HTML element; its alternative text where it cannot be encoded, which only happens to images without pixels.
fn image(height: usize, width: usize, pixels: &[u8], color: ColorType, alternative: &str) -> String {
    let alternative = escaped(alternative);
    match file(height, width, pixels, color) {
        Ok(file) => format!(
            "<img width=\"{width}\" height=\"{height}\" alt=\"{alternative}\" src=\"data:image/png;base64,{}\">",
            base64(&file)
        ),
        Err(_) => alternative,
    }
}

fn file(height: usize, width: usize, pixels: &[u8], color: ColorType) -> Result<Vec<u8>, EncodingError> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(color);
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word =
            (0..3).fold(0, |word, place| word << 8 | u32::from(group.get(place).copied().unwrap_or(0)));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            // Writing into a string cannot fail.
            let _ = text.write_char(if place > group.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_come_first() {
        let weights = vec![1.0, -3.0, 0.0, 2.0, 0.0, 2.0];
        let layer = Layer { inputs: 2, outputs: 3, weights, bias: vec![0.0; 3] };
        assert_eq!(longest(&layer, 2), [1, 0]);
        assert_eq!(of_unit(&layer, 1), [-3.0, 0.0]);
    }

    #[test]
    fn base64_is_that_of_the_standard() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn pictures_are_png() {
        let form = ImageForm { height: 2, width: 3, colour: false };
        let html = of_bytes(form, &[0, 1, 2, 3, 4, 255], "a \"3\"");
        assert!(html.starts_with(
            "<img width=\"3\" height=\"2\" alt=\"a &quot;3&quot;\" src=\"data:image/png;base64,iVBORw0KGgo"
        ));
        assert_eq!(signed(0, 0, &[], "nothing"), "nothing");
    }
}
