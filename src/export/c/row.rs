//! C code that converts the columns of a row to numbers.

use std::fmt::Write;

use super::super::intervals::quantiles;
use super::super::outline::{Coding, Outline};
use super::source::array;
use crate::data::NumericScaling;

/// The statements that fill `row` from `columns`.
pub(super) fn statements(outline: &Outline<'_>, constants: &mut String) -> String {
    let mut text = String::new();
    let mut index = 0;
    while let Some(column) = outline.columns.get(index) {
        let place = column.place;
        if let Some((count, is_byte)) = super::run(outline, index) {
            let function = if is_byte { "bytes" } else { "copy" };
            let _ = writeln!(text, "    {function}(columns + {index}, {count}, row + {place});");
            index += count;
            continue;
        }
        text += &statement(&column.coding, index, place, constants);
        index += 1;
    }
    text
}

/// The statement of a column.
fn statement(coding: &Coding<'_>, index: usize, place: usize, constants: &mut String) -> String {
    match coding {
        Coding::Byte | Coding::Plain => String::new(),
        Coding::Number { map, fill, has_indicator } => {
            let mut text = match map {
                NumericScaling::Affine { center, width } | NumericScaling::Clipped { center, width }
                    if *width != 0.0 =>
                {
                    let is_clipped = matches!(map, NumericScaling::Clipped { .. });
                    let function = if is_clipped { "clipped" } else { "scaled" };
                    format!(
                        "    row[{place}] = {function}(columns[{index}], {center:?}, {width:?}, {fill:?});\n"
                    )
                }
                // With a width of 0 the number is 0.
                NumericScaling::Affine { .. } | NumericScaling::Clipped { .. } => {
                    format!("    row[{place}] = 0.0f;\n")
                }
                NumericScaling::Normal(of) => {
                    let of = quantiles(of);
                    array("double", "", &format!("quantiles{index}"), &of, constants);
                    constants.push('\n');
                    format!(
                        "    row[{place}] = normal_score(columns[{index}], quantiles{index}, {}, {fill:?});\n",
                        of.len()
                    )
                }
            };
            if *has_indicator {
                let _ = writeln!(text, "    row[{}] = isnan(columns[{index}]) ? 1.0f : 0.0f;", place + 1);
            }
            text
        }
        Coding::Sign { .. } => {
            format!("    row[{place}] = sign(category(columns[{index}], 2, -1));\n")
        }
        Coding::OneHot { categories, has_missing } => {
            let (count, places) = (categories.len(), coding.numbers());
            let missing = missing(count, *has_missing);
            format!("    one_hot(category(columns[{index}], {count}, {missing}), {places}, row + {place});\n")
        }
        Coding::Index { categories, has_missing } => {
            let count = categories.len();
            let missing = missing(count, *has_missing);
            format!("    row[{place}] = (float)category(columns[{index}], {count}, {missing});\n")
        }
    }
}

/// The category index for missing values: the index after the others, or -1.
fn missing(categories: usize, has_missing: bool) -> String {
    if has_missing { categories.to_string() } else { "-1".to_owned() }
}
