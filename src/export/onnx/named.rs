//! One input per column, with its name: numbers, and categories as text.

use super::COLUMNS;
use super::graph::{Attribute, Graph};
use super::proto::{FLOAT, STRING, ValueInfoProto};
use crate::data::{Classes, ColumnEncoding, MISSING, Schema, Transform};
use crate::export::outline::Outline;
use crate::model::Model;

/// The domain of the operator that looks up texts, and its version.
pub(super) const DOMAIN: (&str, i64) = ("ai.onnx.ml", 2);

/// Adds the nodes that make the rows, [batch, columns], of the columns; returns these inputs.
pub(super) fn inputs(graph: &mut Graph, model: &Model, outline: &Outline<'_>) -> Vec<ValueInfoProto> {
    let schema = model.data_schema.schema.clone().unwrap_or_default();
    let (mut inputs, mut numbers) = (Vec::new(), Vec::new());
    for (index, column) in outline.columns.iter().enumerate() {
        let encoding = match &model.transform {
            Transform::Columns(encoding) => Some(&encoding.columns[index]),
            Transform::Bytes | Transform::None => None,
        };
        let (kind, number, text) = match encoding {
            Some(ColumnEncoding::Category { categories, .. }) => {
                let (texts, indices) = texts(categories, &schema).into_iter().unzip();
                let attributes = vec![
                    Attribute::Strings("keys_strings", texts),
                    Attribute::Floats("values_floats", indices),
                    Attribute::Float("default_float", -1.0),
                ];
                let number = graph.add_with("LabelEncoder", &[&column.name], attributes);
                if let Some(node) = graph.nodes.last_mut() {
                    node.domain = DOMAIN.0.to_owned();
                }
                (STRING, number, "a category; a missing one is the empty text")
            }
            _ => (FLOAT, column.name.clone(), "a number; NaN if it is missing"),
        };
        inputs.push(super::tensor(&column.name, kind, Some(1), text));
        numbers.push(number);
    }
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    graph.node("Concat", &numbers, vec![Attribute::Int("axis", 1)], COLUMNS);
    inputs
}

/// The texts of known categories, each with its index, and the markers of missing values, with NaN.
fn texts(categories: &Classes, schema: &Schema) -> Vec<(String, f32)> {
    let names = categories.names().iter();
    // As other programs write numbers and booleans.
    let numbers = names.clone().map(|name| format!("{name}.0"));
    let truths = ["True", "true", "TRUE", "1", "1.0", "False", "false", "FALSE", "0", "0.0"];
    let candidates = names.cloned().chain(numbers).chain(truths.map(str::to_owned));
    let known = candidates.filter_map(|text| categories.find(&text).map(|index| (text, index as f32)));
    let mut texts: Vec<(String, f32)> = known.collect();
    let mut markers = vec![String::new()];
    if !categories.are_exact() {
        let usual = MISSING.iter().filter(|_| !schema.replaces_missing);
        markers.extend(usual.flat_map(|marker| in_any_case(marker)));
        markers.extend(schema.missing.iter().cloned());
    }
    texts.extend(markers.into_iter().map(|marker| (marker, f32::NAN)));
    let mut seen = std::collections::HashSet::new();
    texts.retain(|(text, _)| seen.insert(text.clone()));
    texts
}

/// A short word of ASCII letters in all mixtures of upper and lower case.
fn in_any_case(word: &[u8]) -> Vec<String> {
    word.iter().fold(vec![String::new()], |begun, letter| {
        let letters = [letter.to_ascii_lowercase(), letter.to_ascii_uppercase()].map(char::from);
        let with = |letter: char| begun.iter().map(move |text| format!("{text}{letter}"));
        letters.into_iter().flat_map(with).collect()
    })
}
