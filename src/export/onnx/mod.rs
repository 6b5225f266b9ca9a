//! ONNX: a graph from the columns of a table, [batch, columns] of 32-bit floats, to probabilities and classes,
//! probabilities of labels, or values.

mod encoding;
mod graph;
mod named;
mod network;
mod proto;

use std::collections::HashSet;

use prost::Message;
use serde_json::{Map, Value, json};

use self::graph::{Attribute, Graph};
use self::proto::{
    DOUBLE, DimensionProto, FLOAT, GraphProto, INT64, ModelProto, OperatorSetIdProto, StringStringEntryProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use super::outline::{Outline, Output};
use crate::data::excerpt::quote;
use crate::error::{Error, Result};
use crate::model::Model;

/// Versions of the format and of the operators.
const IR_VERSION: i64 = 8;
const OPSET: i64 = 17;

/// Names of inputs and outputs.
const COLUMNS: &str = "columns";
const PROBABILITIES: &str = "probabilities";
const CLASS: &str = "class";
const VALUES: &str = "values";

/// The description of a row.
const ROW: &str = "a row of a table, as `columns` in the metadata names it; NaN where a value is missing; of a column of \
                   categories the index in `categories` in the metadata";

/// Makes the file; `is_named` states whether each column is a separate input.
pub(super) fn file(model: &Model, name: &str, is_named: bool) -> Result<Vec<u8>> {
    let outline = &Outline::from_model(model);
    let mut graph = Graph::default();
    let input = if is_named {
        named::inputs(&mut graph, model, outline)
    } else {
        vec![tensor(COLUMNS, FLOAT, Some(outline.columns.len()), ROW)]
    };
    let row = encoding::row(&mut graph, outline, COLUMNS);
    let mut outputs = Vec::new();
    for (number, member) in (1..).zip(&outline.networks) {
        let prefix = if number == 1 { String::new() } else { format!("network{number}.") };
        outputs.push((network::outputs(&mut graph, &prefix, member, &row), member.share));
    }
    let output = match &outline.output {
        Output::Probabilities { .. } => {
            classes(&mut graph, &outputs);
            vec![
                tensor(PROBABILITIES, FLOAT, Some(outline.outputs()), "the probability of each class"),
                tensor(
                    CLASS,
                    INT64,
                    None,
                    "the first of the most probable classes, an index of `classes` in the metadata",
                ),
            ]
        }
        Output::Labels { .. } => {
            let mean = mean(&mut graph, outputs);
            graph.node("Sigmoid", &[&mean], Vec::new(), PROBABILITIES);
            let text = "the probability of each label, as `labels` in the metadata names them";
            vec![tensor(PROBABILITIES, FLOAT, Some(outline.outputs()), text)]
        }
        Output::Values { scale, are_quantiles, .. } => {
            let mut mean = mean(&mut graph, outputs);
            if *are_quantiles {
                let count = graph.integers(&[outline.outputs() as i64]);
                let ascending = vec![Attribute::Int("axis", -1), Attribute::Int("largest", 0)];
                mean = graph.add_with("TopK", &[&mean, &count], ascending);
                graph
                    .nodes
                    .iter_mut()
                    .last()
                    .into_iter()
                    .for_each(|node| node.output.push("order".to_owned()));
            }
            match scale {
                Some(scale) => {
                    let wide = graph.cast(&mean, DOUBLE);
                    let width = graph.doubles(&[scale.width.len()], &scale.width);
                    let center = graph.doubles(&[scale.center.len()], &scale.center);
                    let product = graph.add("Mul", &[&wide, &width]);
                    let sum = graph.add("Add", &[&product, &center]);
                    graph.node("Cast", &[&sum], vec![Attribute::Int("to", FLOAT.into())], VALUES);
                }
                None => graph.node("Identity", &[&mean], Vec::new(), VALUES),
            }
            vec![tensor(
                VALUES,
                FLOAT,
                Some(outline.outputs()),
                "the predicted values, as `values` in the metadata names them",
            )]
        }
    };
    check_names(&graph, &input)?;
    let text = if is_named { "the columns of a table" } else { ROW };
    let operators = [(String::new(), OPSET)]
        .into_iter()
        .chain(is_named.then(|| (named::DOMAIN.0.to_owned(), named::DOMAIN.1)));
    let graph =
        GraphProto { node: graph.nodes, name: name.to_owned(), initializer: graph.constants, input, output };
    let model = ModelProto {
        ir_version: IR_VERSION,
        opset_import: operators.map(|(domain, version)| OperatorSetIdProto { domain, version }).collect(),
        producer_name: env!("CARGO_PKG_NAME").to_owned(),
        producer_version: env!("CARGO_PKG_VERSION").to_owned(),
        doc_string: if is_named { text.to_owned() } else { format!("`{COLUMNS}`: {text}") },
        graph: Some(graph),
        metadata_props: metadata(outline, text),
    };
    if i32::try_from(model.encoded_len()).is_err() {
        let found = model.encoded_len();
        return Err(Error::Config(format!(
            "an ONNX file of at most 2 GB cannot hold a model of {found} bytes"
        )));
    }
    Ok(model.encode_to_vec())
}

/// Checks that no two values have the same name.
///
/// # Errors
/// [`Error::Config`] for an input that has the name of another value.
fn check_names(graph: &Graph, inputs: &[ValueInfoProto]) -> Result<()> {
    let made =
        graph.nodes.iter().flat_map(|node| &node.output).chain(graph.constants.iter().map(|it| &it.name));
    let mut names: HashSet<&String> = made.collect();
    match inputs.iter().find(|input| input.name.is_empty() || !names.insert(&input.name)) {
        None => Ok(()),
        Some(ValueInfoProto { name, .. }) => Err(Error::Config(format!(
            "a graph with named inputs cannot have a column called {}: use --format onnx, or rename the column",
            quote(name.as_bytes())
        ))),
    }
}

/// Adds the probabilities of classes, and the class, from the outputs of networks with their weights.
fn classes(graph: &mut Graph, outputs: &[(String, f64)]) {
    let last = || vec![Attribute::Int("axis", -1)];
    let whole = || vec![Attribute::Int("axis", 1), Attribute::Int("keepdims", 0)];
    if let [(only, _)] = outputs {
        graph.node("Softmax", &[only], last(), PROBABILITIES);
        graph.node("ArgMax", &[only], whole(), CLASS);
        return;
    }
    let of_each =
        outputs.iter().map(|(outputs, share)| (graph.add_with("Softmax", &[outputs], last()), *share));
    let of_each = of_each.collect();
    let mean = mean(graph, of_each);
    graph.node("Identity", &[&mean], Vec::new(), PROBABILITIES);
    graph.node("ArgMax", &[&mean], whole(), CLASS);
}

/// Adds the weighted sum of the networks' outputs.
fn mean(graph: &mut Graph, of_each: Vec<(String, f64)>) -> String {
    if let [(only, _)] = &of_each[..] {
        return only.clone();
    }
    let shares = of_each.into_iter().map(|(value, share)| {
        let share = graph.float(share as f32);
        graph.add("Mul", &[&value, &share])
    });
    let shares: Vec<String> = shares.collect();
    let shares: Vec<&str> = shares.iter().map(String::as_str).collect();
    graph.add("Sum", &shares)
}

/// A value of the shape [batch] or [batch, columns].
fn tensor(name: &str, kind: i32, columns: Option<usize>, text: &str) -> ValueInfoProto {
    let batch = DimensionProto { dim_value: None, dim_param: Some("batch".to_owned()) };
    let columns = columns.map(|count| DimensionProto { dim_value: Some(count as i64), dim_param: None });
    let shape = TensorShapeProto { dim: [batch].into_iter().chain(columns).collect() };
    let kind = TensorTypeProto { elem_type: kind, shape: Some(shape) };
    ValueInfoProto {
        name: name.to_owned(),
        r#type: Some(TypeProto { tensor_type: Some(kind) }),
        doc_string: text.to_owned(),
    }
}

/// The description of a row, and the names of columns, categories, classes and values in JSON.
fn metadata(outline: &Outline<'_>, row: &str) -> Vec<StringStringEntryProto> {
    let categories: Map<String, Value> = outline
        .columns
        .iter()
        .filter_map(|column| Some((column.name.clone(), json!(column.coding.categories()?))))
        .collect();
    let output = match &outline.output {
        Output::Probabilities { classes } => ("classes", json!(classes)),
        Output::Labels { names } => ("labels", json!(names)),
        Output::Values { names, .. } => ("values", json!(names)),
    };
    let entries = [("columns", json!(outline.names())), ("categories", Value::Object(categories)), output];
    let entry = |(key, value): (&str, Value)| StringStringEntryProto {
        key: key.to_owned(),
        value: value.to_string(),
    };
    let row = StringStringEntryProto { key: "row".to_owned(), value: row.to_owned() };
    [row].into_iter().chain(entries.into_iter().map(entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::samples;

    fn read(model: &Model) -> ModelProto {
        ModelProto::decode(&file(model, "m", false).unwrap()[..]).unwrap()
    }

    fn entry<'a>(model: &'a ModelProto, key: &str) -> &'a str {
        model.metadata_props.iter().find(|entry| entry.key == key).map_or("", |entry| &entry.value)
    }

    /// The name, type and shape of a value; 0 is the batch.
    fn info(value: &ValueInfoProto) -> (&str, i32, Vec<i64>) {
        let kind = value.r#type.as_ref().unwrap().tensor_type.as_ref().unwrap();
        let sizes = kind.shape.as_ref().unwrap().dim.iter().map(|size| size.dim_value.unwrap_or(0));
        (&value.name, kind.elem_type, sizes.collect())
    }

    #[test]
    fn every_value_is_made_once_and_before_it_is_read() {
        for model in [
            samples::plain(),
            samples::ensemble(),
            samples::images(),
            samples::labels(),
            samples::quantiles(),
        ] {
            let graph = read(&model).graph.unwrap();
            let mut made: HashSet<&str> = HashSet::from([COLUMNS]);
            assert!(graph.initializer.iter().all(|constant| made.insert(&constant.name)));
            for node in &graph.node {
                assert!(node.input.iter().all(|input| made.contains(input.as_str())), "{node:?}");
                assert!(node.output.iter().all(|output| made.insert(output)), "{node:?}");
            }
            assert!(graph.output.iter().all(|output| made.contains(output.name.as_str())));
            for constant in &graph.initializer {
                let count: i64 = constant.dims.iter().product();
                let size = if constant.data_type == FLOAT { 4 } else { 8 };
                assert_eq!(constant.raw_data.len() as i64, count * size, "{}", constant.name);
            }
        }
    }

    #[test]
    fn columns_may_be_inputs_of_their_own() {
        let model = ModelProto::decode(&file(&samples::plain(), "m", true).unwrap()[..]).unwrap();
        assert_eq!((&model.opset_import[1].domain[..], model.opset_import[1].version), ("ai.onnx.ml", 2));
        let graph = model.graph.unwrap();
        let kinds: Vec<(&str, i32, Vec<i64>)> = graph.input.iter().map(info).collect();
        for (name, kind) in [("0", FLOAT), ("1", FLOAT), ("2", FLOAT), ("3", 8), ("4", 8), ("5", 8)] {
            assert!(kinds.contains(&(name, kind, vec![0, 1])), "{kinds:?}");
        }
        let index = |column: &str, text: &str| {
            let is_it = |node: &&proto::NodeProto| node.op_type == "LabelEncoder" && node.input[0] == column;
            let [texts, indices, none] = &graph.node.iter().find(is_it).unwrap().attribute[..] else {
                panic!()
            };
            let place = texts.strings.iter().position(|it| it == text);
            place.map_or(none.f.unwrap(), |place| indices.floats[place])
        };
        assert_eq!(["no", "yes", "true"].map(|text| index("3", text)), [0.0, 1.0, -1.0]);
        assert_eq!(index("4", "c \"*/ é"), 2.0);
        for missing in ["", "NA", "nA", "?", "#n/a", "NaT", "\\N"] {
            assert!(index("5", missing).is_nan(), "{missing}");
        }
        let mut named = samples::plain();
        let column = |name: &str, position| crate::data::Column { name: Some(name.to_owned()), position };
        let inputs =
            ["a", "b", "c", "d", "e", "class"].into_iter().zip(0..).map(|(name, at)| column(name, at));
        named.data_schema.schema =
            Some(crate::data::Schema { inputs: inputs.collect(), ..Default::default() });
        let error = file(&named, "m", true).unwrap_err().to_string();
        assert!(error.contains("a column called \"class\""), "{error}");
        assert!(file(&named, "m", false).is_ok());
    }

    #[test]
    fn what_goes_in_and_out_is_named() {
        let model = read(&samples::plain());
        let graph = model.graph.as_ref().unwrap();
        assert_eq!((model.ir_version, model.opset_import[0].version, graph.name.as_str()), (8, 17, "m"));
        assert_eq!(info(&graph.input[0]), ("columns", FLOAT, vec![0, 6]));
        assert_eq!(info(&graph.output[0]), ("probabilities", FLOAT, vec![0, 3]));
        assert_eq!(info(&graph.output[1]), ("class", INT64, vec![0]));
        assert!(entry(&model, "row").contains("of a column of categories the index"));
        assert_eq!(entry(&model, "classes"), r#"["0","1","2"]"#);
        assert_eq!(entry(&model, "columns"), r#"["0","1","2","3","4","5"]"#);
        let categories = r#"{"3":["no","yes"],"4":["a","b","c \"*/ é"],"5":["x","y"]}"#;
        assert_eq!(entry(&model, "categories"), categories);
        let operators: HashSet<&str> = graph.node.iter().map(|node| node.op_type.as_str()).collect();
        for operator in
            ["Gemm", "Softmax", "ArgMax", "IsNaN", "LeakyRelu", "Elu", "Selu", "Softplus", "Sigmoid"]
        {
            assert!(operators.contains(operator), "{operator}");
        }

        let model = read(&samples::ensemble());
        let graph = model.graph.as_ref().unwrap();
        assert_eq!(info(&graph.output[0]), ("values", FLOAT, vec![0, 2]));
        assert_eq!(entry(&model, "values"), r#"["0","1"]"#);
        let names: Vec<&str> = graph.initializer.iter().map(|constant| constant.name.as_str()).collect();
        let of_labels = read(&samples::labels());
        assert_eq!(info(&of_labels.graph.as_ref().unwrap().output[0]), ("probabilities", FLOAT, vec![0, 2]));
        assert_eq!(entry(&of_labels, "labels"), r#"["0","1"]"#);
        let of_quantiles = read(&samples::quantiles());
        assert_eq!(info(&of_quantiles.graph.as_ref().unwrap().output[0]), ("values", FLOAT, vec![0, 3]));
        assert_eq!(entry(&of_quantiles, "values"), r#"["value0_q0.1","value0_q0.5","value0_q0.9"]"#);
        for name in ["embedding7", "network2.layer11.weights", "network2.input.scale", "input.frequencies"] {
            assert!(names.contains(&name), "{name}");
        }
    }
}
