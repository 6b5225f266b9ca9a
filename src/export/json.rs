//! JSON: one object, lists of numbers on lines of their own.

use serde::Serialize;

use super::outline::{Coding, Column, Made, Member, Outline, Output};
use crate::data::NumericScaling;

/// What is written: fields keep their order.
enum Tree {
    /// A number, a text, a truth value, or a list of those, on one line.
    Line(String),
    List(Vec<Tree>),
    Object(Vec<(&'static str, Tree)>),
}

/// The file.
pub(super) fn file(outline: &Outline<'_>) -> String {
    let tree = Tree::Object(vec![
        ("format", line(&"tinytrain model")),
        ("version", line(&1)),
        ("columns", Tree::List(outline.columns.iter().map(column).collect())),
        ("networks", Tree::List(outline.networks.iter().map(network).collect())),
        ("output", output(&outline.output)),
    ]);
    let mut text = String::new();
    tree.write(0, &mut text);
    text + "\n"
}

/// A value on one line. 32-bit floats have as many digits as tell them from all others.
fn line(value: &impl Serialize) -> Tree {
    // Numbers, texts and lists of them have a form in JSON always.
    Tree::Line(serde_json::to_string(value).unwrap_or_default())
}

/// A matrix, a row a line.
fn matrix(values: &[f32], columns: usize) -> Tree {
    Tree::List(values.chunks_exact(columns).map(|row| line(&row)).collect())
}

fn column(column: &Column<'_>) -> Tree {
    let mut fields = vec![("name", line(&column.name)), ("coding", line(&column.coding.name()))];
    if let Coding::Number { map, fill, .. } = &column.coding {
        match map {
            NumericScaling::Affine { center, width } | NumericScaling::Clipped { center, width } => {
                fields.extend([("center", line(center)), ("width", line(width))]);
            }
            NumericScaling::Normal(quantiles) => fields.push(("quantiles", line(quantiles))),
        }
        fields.push(("fill", line(fill)));
    }
    fields.extend(column.coding.categories().map(|categories| ("categories", line(&categories))));
    if matches!(column.coding, Coding::Number { .. } | Coding::OneHot { .. } | Coding::Index { .. }) {
        fields.push(("missing", line(&column.coding.knows_missing())));
    }
    Tree::Object(fields)
}

fn network(member: &Member<'_>) -> Tree {
    let mut fields = vec![("share", line(&member.share))];
    let made = member.made();
    if !made.is_empty() {
        fields.push(("input_layer", Tree::List(made.iter().map(|(_, made)| input(made)).collect())));
    }
    if !member.scale().is_empty() {
        fields.push(("input_scale", line(&member.scale())));
    }
    let layers = member.layers().map(|(layer, activation)| {
        Tree::Object(vec![
            ("inputs", line(&layer.inputs)),
            ("outputs", line(&layer.outputs)),
            ("activation", line(&activation)),
            ("weights", matrix(&layer.weights, layer.outputs)),
            ("bias", line(&layer.bias)),
        ])
    });
    fields.push(("layers", Tree::List(layers.collect())));
    Tree::Object(fields)
}

fn input(made: &Made<'_>) -> Tree {
    Tree::Object(match made {
        Made::Number => vec![("kind", line(&"number"))],
        Made::Periodic { frequencies, phases, mixing, bias } => vec![
            ("kind", line(&"periodic")),
            ("frequencies", line(frequencies)),
            ("phases", line(phases)),
            ("mixing", matrix(mixing, frequencies.len())),
            ("bias", line(bias)),
        ],
        Made::OneHot { categories } => vec![("kind", line(&"one-hot")), ("categories", line(categories))],
        Made::Embedding { size, rows, .. } => {
            vec![("kind", line(&"embedding")), ("rows", matrix(rows, *size))]
        }
    })
}

fn output(output: &Output<'_>) -> Tree {
    Tree::Object(match output {
        Output::Probabilities { classes } => {
            vec![("kind", line(&"probabilities")), ("classes", line(classes))]
        }
        Output::Values { names, scale } => {
            let mut fields = vec![("kind", line(&"values")), ("names", line(names))];
            if let Some(scale) = scale {
                fields.extend([("center", line(&scale.center)), ("width", line(&scale.width))]);
            }
            fields
        }
    })
}

impl Tree {
    /// Appends the text, of which lines begin two spaces to the right for every level.
    fn write(&self, level: usize, text: &mut String) {
        let (brackets, items): (_, Vec<(String, &Tree)>) = match self {
            Tree::Line(line) => return text.push_str(line),
            Tree::List(items) => (["[", "]"], items.iter().map(|item| (String::new(), item)).collect()),
            Tree::Object(fields) => {
                (["{", "}"], fields.iter().map(|(name, field)| (format!("\"{name}\": "), field)).collect())
            }
        };
        text.push_str(brackets[0]);
        let count = items.len();
        for (index, (name, item)) in items.into_iter().enumerate() {
            text.push_str(&format!("\n{:width$}{name}", "", width = 2 * (level + 1)));
            item.write(level + 1, text);
            if index + 1 < count {
                text.push(',');
            }
        }
        if count > 0 {
            text.push_str(&format!("\n{:width$}", "", width = 2 * level));
        }
        text.push_str(brackets[1]);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::export::samples;
    use crate::model::Model;

    fn read(model: &Model) -> serde_json::Value {
        serde_json::from_str(&file(&Outline::from_model(model))).unwrap()
    }

    #[test]
    fn every_number_reads_back_as_it_was() {
        let model = samples::plain();
        let read = read(&model);
        let clipped = json!({
            "name": "1", "coding": "clipped", "center": 1.0, "width": 2.0, "fill": 2.5, "missing": true
        });
        let one_hot = json!({ "name": "5", "coding": "one-hot", "categories": ["x", "y"], "missing": true });
        assert_eq!((&read["columns"][1], &read["columns"][5]), (&clipped, &one_hot));
        let layers = &read["networks"][0]["layers"];
        assert_eq!(
            [&layers[0], &layers[4], &layers[5], &layers[11]].map(|layer| &layer["activation"]),
            ["relu", "gelu-exact", "gelu-tanh", "identity"]
        );
        for (layer, of_model) in layers.as_array().unwrap().iter().zip(&model.parameters.layers) {
            let rows: Vec<Vec<f64>> = serde_json::from_value(layer["weights"].clone()).unwrap();
            let rows: Vec<f32> = rows.concat().into_iter().map(|weight| weight as f32).collect();
            assert_eq!(rows, of_model.weights);
        }
        assert_eq!(read["output"], json!({ "kind": "probabilities", "classes": ["0", "1", "2"] }));
    }

    #[test]
    fn networks_have_their_shares_and_input_layers() {
        let read = read(&samples::ensemble());
        let shares: Vec<f64> =
            (0..2).map(|index| read["networks"][index]["share"].as_f64().unwrap()).collect();
        assert_eq!(shares, [0.25, 0.75]);
        let layer = read["networks"][1]["input_layer"].as_array().unwrap();
        let kinds: Vec<&str> = layer.iter().map(|column| column["kind"].as_str().unwrap()).collect();
        let expected = ["periodic", "periodic", "number", "number", "number", "one-hot", "embedding"];
        assert_eq!(kinds, expected);
        assert_eq!(layer[1]["mixing"][2].as_array().unwrap().len(), 16);
        assert_eq!(layer[6]["rows"][2].as_array().unwrap().len(), 5);
        assert_eq!(
            (&read["output"]["center"], &read["columns"][4]["coding"]),
            (&json!([1.5, -2.0]), &json!("index"))
        );
    }
}
