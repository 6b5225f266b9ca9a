//! Rows with the worst predictions: images as images, rows of tables with their cells.

use png::{BitDepth, ColorType, Encoder, EncodingError};

use super::evaluated_run::EvaluatedRun;
use super::html::table;
use super::svg::escaped;
use super::text::{Align, Table, column_name, counted, percent, short};
use crate::data::{Features, ImageForm};
use crate::step::Levels;

/// Maximum number of rows shown, and of columns of a table.
const MOST: usize = 24;
const MOST_COLUMNS: usize = 60;

/// Mispredicted rows: a sentence, the names of cells, and for each row its number and its cells.
struct Mistakes {
    sentence: String,
    header: Vec<&'static str>,
    rows: Vec<(usize, Vec<String>)>,
}

/// Returns the section of a page.
pub fn mistakes(evaluated: &EvaluatedRun) -> String {
    let Mistakes { sentence, header, rows } =
        if evaluated.errors.is_some() { of_values(evaluated) } else { of_classes(evaluated) };
    let html = format!("<h3>Worst mistakes</h3>\n<p>{sentence}</p>\n");
    if rows.is_empty() {
        return html;
    }
    let Some(form) = evaluated.model.data_schema.image else {
        let schema = evaluated.model.data_schema.schema.as_ref();
        let columns = schema.map_or(&[][..], |schema| &schema.inputs).iter().take(MOST_COLUMNS);
        let names = header.into_iter().map(str::to_owned).chain(columns.map(column_name)).collect();
        let rows = rows.into_iter().map(|(row, first)| [first, cells(evaluated, row)].concat());
        return html
            + &table("Worst mistakes, with what the rows hold", &Table::alike(names, Align::Right, rows));
    };
    let item = |(row, cells): &(usize, Vec<String>)| {
        let texts: Vec<String> =
            header.iter().zip(cells).map(|(name, cell)| format!("{name} {cell}")).collect();
        let text = texts.iter().map(|text| escaped(text)).collect::<Vec<String>>().join("<br>");
        format!("<li>{}<span>{text}</span></li>\n", image(evaluated, form, *row, &texts[..2].join(", ")))
    };
    format!("{html}<ul class=\"images\">\n{}</ul>\n", rows.iter().map(item).collect::<String>())
}

/// Returns wrongly predicted rows, in ascending order of the probability of their true class.
fn of_classes(evaluated: &EvaluatedRun) -> Mistakes {
    let (labels, predictions) = (evaluated.rows.data.labels(), &evaluated.predictions.classes);
    let mut wrong: Vec<usize> = (0..labels.len()).filter(|row| labels[*row] != predictions[*row]).collect();
    let all = counted(wrong.len() as u64, "row is", "rows are");
    let own = |row: &usize| evaluated.probability(*row, labels[*row]);
    wrong.sort_by(|a, b| own(a).total_cmp(&own(b)).then(a.cmp(b)));
    let name = |class: u32| evaluated.model.data_schema.classes.name(class).to_owned();
    let row = |row: usize| {
        let classes = [labels[row], predictions[row]];
        let [own, predicted] = classes.map(|class| percent(evaluated.probability(row, class)));
        let [class, prediction] = classes.map(name);
        (row, vec![evaluated.rows.number(row).to_string(), class, prediction, predicted, own])
    };
    Mistakes {
        sentence: format!(
            "{all} misclassified. Those whose own class has the lowest probability come first; rows are numbered as in the file, without the header, like in <code>eval --errors</code>."
        ),
        header: vec!["row", "class", "predicted", "p(predicted)", "p(class)"],
        rows: wrong.into_iter().take(MOST).map(row).collect(),
    }
}

/// Returns rows with the largest errors of values; several targets are compared in the units of their
/// scaling.
fn of_values(evaluated: &EvaluatedRun) -> Mistakes {
    let (columns, values) = evaluated.values();
    let names = evaluated.model.data_schema.value_names(&evaluated.model.network);
    let predicted = &evaluated.predictions.values;
    let scale = evaluated.model.data_schema.target_scale.as_ref();
    let width = |column: usize| scale.map_or(1.0, |scale| scale.width[column].max(f64::MIN_POSITIVE));
    let error = |at: usize| f64::from(predicted[at]) - f64::from(values[at]);
    let distance = |at: &usize| error(*at).abs() / width(at % columns);
    // Of quantiles only the one nearest to the median may be near the value.
    let only = evaluated.model.network.loss().levels().map(Levels::middle);
    let is_measured = |at: &usize| only.is_none_or(|only| at % columns == only);
    // The target of a row with the largest error.
    let worst = |row: usize| {
        let places = (row * columns..(row + 1) * columns).filter(is_measured);
        places.max_by(|a, b| distance(a).total_cmp(&distance(b)))
    };
    let mut places: Vec<usize> = (0..values.len() / columns.max(1)).filter_map(worst).collect();
    places.sort_by(|a, b| distance(b).total_cmp(&distance(a)).then(a.cmp(b)));
    let row = |at: usize| {
        let numbers = [values[at].into(), predicted[at].into(), error(at)].map(short);
        let first = [evaluated.rows.number(at / columns).to_string(), names[at % columns].clone()];
        (at / columns, [first.as_slice(), &numbers].concat())
    };
    Mistakes {
        sentence: "These predictions are furthest from the true values. Rows are numbered as in the file, without the header.".to_owned(),
        header: vec!["row", "target", "value", "predicted", "error"],
        rows: places.into_iter().take(MOST).map(row).collect(),
    }
}

/// Returns the cells of a row of a table; missing cells are empty.
fn cells(evaluated: &EvaluatedRun, row: usize) -> Vec<String> {
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

/// Returns a row as an image, or as its text if it cannot be written, which happens only for images without
/// pixels.
fn image(evaluated: &EvaluatedRun, form: ImageForm, row: usize, text: &str) -> String {
    let (size, text) = (form.values(), escaped(text));
    let pixels = bytes(evaluated.read.features.rows(size, &[row as u32]));
    match png_file(form, &pixels) {
        Ok(file) => format!(
            "<img width=\"{}\" height=\"{}\" alt=\"{text}\" src=\"data:image/png;base64,{}\">",
            form.width,
            form.height,
            base64(&file)
        ),
        Err(_) => text,
    }
}

/// Returns the values of images as bytes.
pub(super) fn bytes(features: Features) -> Vec<u8> {
    match features {
        Features::Bytes(bytes) => bytes,
        // Grey values that are not whole numbers.
        Features::Floats(floats) => floats.into_iter().map(|value| value.round() as u8).collect(),
    }
}

/// Returns a PNG file with these pixels.
pub(super) fn png_file(form: ImageForm, pixels: &[u8]) -> Result<Vec<u8>, EncodingError> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, form.width as u32, form.height as u32);
    encoder.set_color(if form.colour { ColorType::Rgb } else { ColorType::Grayscale });
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}

/// Encodes bytes by RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place > group.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }
}
