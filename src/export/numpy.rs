//! NPZ: every array of a model under a name.

use super::npz::{self, Array};
use super::outline::{Coding, Made, Member, Outline, Output};
use crate::data::NumericScaling;
use crate::error::Result;
use crate::model::{FREQUENCIES, MIXED};

/// The file.
pub(super) fn file(outline: &Outline<'_>) -> Result<Vec<u8>> {
    let mut arrays = columns(outline);
    for (number, member) in (1..).zip(&outline.networks) {
        let of_network = network(member).into_iter();
        arrays.extend(of_network.map(|(name, array)| (format!("network{number}.{name}"), array)));
    }
    match &outline.output {
        Output::Probabilities { classes } => {
            arrays.push(("classes".to_owned(), Array::Texts(classes.to_vec())));
        }
        Output::Values { names, scale } => {
            arrays.push(("values".to_owned(), Array::Texts(names.clone())));
            let parts = scale.iter().flat_map(|scale| [("center", &scale.center), ("width", &scale.width)]);
            arrays.extend(parts.map(|(part, values)| (format!("values.{part}"), numbers(values.clone()))));
        }
    }
    npz::file(&arrays)
}

fn numbers(values: Vec<f64>) -> Array {
    Array::Numbers(vec![values.len()], values)
}

fn floats(shape: &[usize], values: &[f32]) -> Array {
    Array::Floats(shape.to_vec(), values.to_vec())
}

/// What is done to each column: arrays of all columns, NaN where one has no such number, and arrays of single columns, counted
/// from 1.
fn columns(outline: &Outline<'_>) -> Vec<(String, Array)> {
    let columns = &outline.columns;
    let text = |of: &dyn Fn(usize) -> String| Array::Texts((0..columns.len()).map(of).collect());
    let affine = |part: usize| {
        let of_column = columns.iter().map(|column| match &column.coding {
            Coding::Number {
                map: NumericScaling::Affine { center, width } | NumericScaling::Clipped { center, width },
                ..
            } => [*center, *width][part],
            _ => f64::NAN,
        });
        numbers(of_column.collect())
    };
    let fills = columns.iter().map(|column| match &column.coding {
        Coding::Number { fill, .. } => *fill,
        _ => f64::NAN,
    });
    let missing = columns.iter().map(|column| u8::from(column.coding.knows_missing()));
    let mut arrays = vec![
        ("columns".to_owned(), text(&|index| columns[index].name.clone())),
        ("columns.coding".to_owned(), text(&|index| columns[index].coding.name().to_owned())),
        ("columns.center".to_owned(), affine(0)),
        ("columns.width".to_owned(), affine(1)),
        ("columns.fill".to_owned(), numbers(fills.collect())),
        ("columns.missing".to_owned(), Array::Bytes(vec![columns.len()], missing.collect())),
    ];
    for (number, column) in (1..).zip(columns) {
        if let Coding::Number { map: NumericScaling::Normal(quantiles), .. } = &column.coding {
            arrays.push((format!("column{number}.quantiles"), numbers(quantiles.clone())));
        }
        if let Some(categories) = column.coding.categories() {
            arrays.push((format!("column{number}.categories"), Array::Texts(categories.to_vec())));
        }
    }
    arrays
}

fn network(member: &Member<'_>) -> Vec<(String, Array)> {
    let mut arrays = vec![("share".to_owned(), numbers(vec![member.share]))];
    let made = member.made();
    if !made.is_empty() {
        let kinds = made.iter().map(|(placed, _)| placed.column.to_string()).collect();
        arrays.push(("input_layer".to_owned(), Array::Texts(kinds)));
    }
    for (placed, made) in &made {
        let name = |part: &str| format!("input{}.{part}", placed.number + 1);
        match made {
            Made::Number | Made::OneHot { .. } => {}
            Made::Periodic { frequencies, phases, mixing, bias } => arrays.extend([
                (name("frequencies"), floats(&[FREQUENCIES], frequencies)),
                (name("phases"), floats(&[FREQUENCIES], phases)),
                (name("mixing"), floats(&[MIXED, FREQUENCIES], mixing)),
                (name("bias"), floats(&[MIXED], bias)),
            ]),
            Made::Embedding { categories, size, rows } => {
                arrays.push((name("embedding"), floats(&[*categories, *size], rows)));
            }
        }
    }
    if !member.scale().is_empty() {
        arrays.push(("input_scale".to_owned(), floats(&[member.scale().len()], member.scale())));
    }
    let activations = member.layers().map(|(_, activation)| activation.to_owned()).collect();
    arrays.push(("activations".to_owned(), Array::Texts(activations)));
    for (number, (layer, _)) in (1..).zip(member.layers()) {
        arrays
            .push((format!("layer{number}.weights"), floats(&[layer.inputs, layer.outputs], &layer.weights)));
        arrays.push((format!("layer{number}.bias"), floats(&[layer.outputs], &layer.bias)));
    }
    arrays
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::samples;

    #[test]
    fn arrays_have_names_and_shapes() {
        let model = samples::ensemble();
        let outline = Outline::from_model(&model);
        let arrays: Vec<(String, Array)> =
            columns(&outline).into_iter().chain(network(&outline.networks[1])).collect();
        let array = |name: &str| &arrays.iter().find(|(it, _)| it == name).unwrap().1;
        assert_eq!(array("column3.quantiles"), &numbers(vec![0.0, 1.0, 1.0, 5.0]));
        assert_eq!(array("columns.missing"), &Array::Bytes(vec![6], vec![0, 1, 0, 0, 0, 1]));
        assert_eq!(array("share"), &numbers(vec![0.75]));
        for (name, shape) in [
            ("layer1.weights", &[19, 4][..]),
            ("layer12.bias", &[2]),
            ("input2.mixing", &[3, 16]),
            ("input7.embedding", &[3, 5]),
            ("input_scale", &[19]),
        ] {
            let Array::Floats(found, values) = array(name) else { panic!("{name}") };
            assert_eq!((&found[..], values.len()), (shape, shape.iter().product()), "{name}");
        }
        assert!(file(&outline).unwrap().starts_with(b"PK"));
    }
}
