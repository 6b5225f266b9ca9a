//! Description of a model by `tinytrain inspect --model`.

use crate::data::{ColumnEncoding, Encoding, NumericScaling, Transform};
use crate::model::{Ensemble, EnsembleMember, InputColumn, InputLayer, Model};
use serde_json::{Value, json};

use super::data_text::data_line;
use crate::report::text::{SHOWN, Table, column_name, counted, rounded, short};

/// Returns the description as fields of a JSON object.
pub fn model_fields(model: &Model) -> Vec<(&'static str, Value)> {
    let columns = model.data_schema.schema.as_ref().map_or(&[][..], |schema| &schema.inputs);
    let column = |index: usize, code: &ColumnEncoding, made: &[Vec<InputColumn>]| {
        let mut object = match code {
            ColumnEncoding::Number {
                map: NumericScaling::Clipped { center, width },
                fill,
                has_indicator,
            } => {
                json!({ "type": "number", "center": center, "width": width, "clipped": true, "fill": fill, "missing": has_indicator })
            }
            ColumnEncoding::Number { map: NumericScaling::Affine { center, width }, fill, has_indicator } => {
                json!({ "type": "number", "center": center, "width": width, "fill": fill, "missing": has_indicator })
            }
            ColumnEncoding::Number { map: NumericScaling::Normal(quantiles), fill, has_indicator } => {
                json!({ "type": "number", "quantiles": quantiles, "fill": fill, "missing": has_indicator })
            }
            ColumnEncoding::Category { categories, has_missing } => {
                json!({ "type": "categories", "categories": categories.names(), "missing": has_missing })
            }
        };
        object["name"] = columns.get(index).map(column_name).into();
        let made = &made[index];
        object["inputs"] = match &made[..] {
            [] => code.inputs(),
            made => made.iter().map(|column| column.inputs()).sum(),
        }
        .into();
        if let Some(column) = made.first() {
            object["layer"] = column.to_string().into();
        }
        object
    };
    let encoded = match &model.transform {
        Transform::Columns(Encoding { columns, .. }) => {
            let made = inputs_of(model, columns);
            columns.iter().enumerate().map(|(index, code)| column(index, code, &made)).collect()
        }
        Transform::Bytes | Transform::None => Value::Null,
    };
    let settings = model.settings.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
    vec![
        ("network", model.network.to_string().into()),
        ("parameters", model.network.parameter_count().into()),
        ("loss", model.network.loss().to_string().into()),
        ("ensemble", model.ensemble.as_ref().map(networks).into()),
        ("scaling", model.transform.to_string().into()),
        ("columns", encoded),
        ("classes", model.data_schema.classes.names().to_vec().into()),
        ("settings", Value::Object(settings.collect())),
    ]
}

/// Returns the other networks of an ensemble.
fn networks(ensemble: &Ensemble) -> Value {
    let member = |member: &EnsembleMember| {
        let parameters = member.network.parameter_count();
        json!({ "network": member.network.to_string(), "parameters": parameters, "picks": member.picks })
    };
    let partners: Vec<Value> = ensemble.partners.iter().map(member).collect();
    json!({ "picks": ensemble.picks, "partners": partners })
}

/// Returns the description in lines for people.
pub fn model_text(model: &Model) -> Vec<String> {
    let partners = model.ensemble.iter().flat_map(|ensemble| &ensemble.partners);
    let all = partners.map(|member| member.network.parameter_count()).sum::<usize>();
    let parameters = counted((model.network.parameter_count() + all) as u64, "parameter", "parameters");
    let mut lines = vec![
        format!("{}, {parameters}, loss {}", model.description(), model.network.loss()),
        data_line(&model.transform, &model.data_schema, None).replacen("rows still read, ", "", 1),
    ];
    if let Transform::Columns(Encoding { columns, .. }) = &model.transform {
        let names = model.data_schema.schema.as_ref().map_or(&[][..], |schema| &schema.inputs);
        let rows = columns.iter().enumerate().zip(inputs_of(model, columns)).map(|((index, code), made)| {
            let column = names.get(index).map_or_else(|| index.to_string(), column_name);
            let [becomes, missing] = code_text(code);
            let learnt = match made.first() {
                Some(InputColumn::Embedding { size, .. }) => format!(", an embedding of {size} numbers"),
                Some(InputColumn::Periodic) => ", and three mixtures of waves".to_owned(),
                _ => String::new(),
            };
            let inputs: usize = match &made[..] {
                [] => code.inputs(),
                made => made.iter().map(|column| column.inputs()).sum(),
            };
            vec![column, inputs.to_string(), becomes + &learnt, missing]
        });
        lines.push(String::new());
        lines.extend(Table::new(&["column", ">inputs", "becomes", "missing"], rows).lines());
    }
    if !model.settings.is_empty() {
        lines.push(String::new());
        lines.extend(model.settings.iter().map(|(key, value)| format!("{key}: {value}")));
    }
    lines
}

/// Returns the input layer's inputs for each column, if there is an input layer.
fn inputs_of(model: &Model, columns: &[ColumnEncoding]) -> Vec<Vec<InputColumn>> {
    let mut made = model.network.input_layer().map_or(&[][..], InputLayer::columns).iter().copied();
    let numbers = |code: &ColumnEncoding| {
        1 + usize::from(matches!(code, ColumnEncoding::Number { has_indicator: true, .. }))
    };
    columns.iter().map(|code| made.by_ref().take(numbers(code)).collect()).collect()
}

/// Describes the encoding of a column, and the replacement of missing values.
fn code_text(code: &ColumnEncoding) -> [String; 2] {
    match code {
        ColumnEncoding::Number { map, fill, has_indicator } => {
            let five = |value: f64| short(rounded(value));
            let becomes = match map {
                NumericScaling::Affine { width: 0.0, .. } => "0".to_owned(),
                NumericScaling::Affine { center: 0.0, width: 1.0 } => "as it is".to_owned(),
                NumericScaling::Affine { center, width } => {
                    format!("(value - {}) / {}", five(*center), five(*width))
                }
                NumericScaling::Clipped { width: 0.0, .. } => "0".to_owned(),
                NumericScaling::Clipped { center, width } => {
                    format!("(value - {}) / {}, clipped", five(*center), five(*width))
                }
                NumericScaling::Normal(quantiles) => {
                    format!("normal score among {} quantiles", quantiles.len())
                }
            };
            let also = if *has_indicator { ", and an input that marks missing values" } else { "" };
            [becomes, format!("{}{also}", short(*fill))]
        }
        ColumnEncoding::Category { categories, has_missing } => {
            let becomes = match categories.names() {
                [no, yes] if !has_missing => format!("-1 for {no}, 1 for {yes}"),
                names => {
                    let more = if names.len() > SHOWN { ", ..." } else { "" };
                    format!(
                        "one of {}{more}",
                        names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ")
                    )
                }
            };
            [becomes, if *has_missing { "a separate category" } else { "none of them" }.to_owned()]
        }
    }
}
