//! What a model file says about the rows that its network takes, as entries of its metadata.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Network;
use super::entry_forms::{are_different, entry, image_form, list, sides};
use super::transform_entries::is_of_floats;
use crate::data::{Classes, Column, ImageForm, Schema, TargetScale, Transform};

const CLASSES: &str = "classes";
const LABEL_TYPE: &str = "label_type";
const COLUMNS: &str = "columns";
const POSITIONS: &str = "positions";
const FILE_COLUMNS: &str = "file_columns";
const TARGET: &str = "target";
const TARGET_POSITION: &str = "target_position";
const VALUES: &str = "values";
const VALUE_POSITIONS: &str = "value_positions";
const WEIGHT: &str = "weight";
const WEIGHT_POSITION: &str = "weight_position";
const DROP_MISSING_TARGET: &str = "drop_missing_target";
const DATES: &str = "dates";
const ZONES: &str = "time_zones";
const FOLD_LABELS: &str = "fold_labels";
const IMAGE: &str = "image";
const MISSING: &str = "missing_values";
const ONLY_MISSING: &str = "only_missing_values";
const DECIMAL: &str = "decimal";
const TARGET_CENTER: &str = "target_center";
const TARGET_WIDTH: &str = "target_width";

/// All of them: other entries of a file say how the network was trained.
pub(super) const KEYS: [&str; 21] = [
    CLASSES,
    LABEL_TYPE,
    COLUMNS,
    POSITIONS,
    FILE_COLUMNS,
    TARGET,
    TARGET_POSITION,
    VALUES,
    VALUE_POSITIONS,
    WEIGHT,
    WEIGHT_POSITION,
    FOLD_LABELS,
    DROP_MISSING_TARGET,
    DATES,
    ZONES,
    IMAGE,
    MISSING,
    ONLY_MISSING,
    DECIMAL,
    TARGET_CENTER,
    TARGET_WIDTH,
];

/// The meaning of a network's inputs and outputs: columns, classes, values, images.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSchema {
    /// The classes of the outputs.
    pub classes: Classes,
    /// Where the inputs stand in a table, if they come from one.
    pub schema: Option<Schema>,
    /// The form of a row, if it is an image.
    pub image: Option<ImageForm>,
    /// How the outputs of a network become the values that it predicts, if not as they are.
    pub target_scale: Option<TargetScale>,
}

impl DataSchema {
    /// A schema of numbered classes, with nothing else known.
    pub fn numbered(classes: usize) -> Self {
        Self { classes: Classes::numbered(classes), schema: None, image: None, target_scale: None }
    }

    /// The names of the values that a network predicts: of their columns, or numbers.
    pub fn value_names(&self, outputs: usize) -> Vec<String> {
        let columns = self.schema.as_ref().map_or(&[][..], |schema| &schema.values);
        let name = |index: usize| columns.get(index).and_then(|column| column.name.clone());
        (0..outputs).map(|index| name(index).unwrap_or_else(|| format!("value{index}"))).collect()
    }

    /// The schema as metadata: lists are JSON.
    pub(super) fn entries(&self) -> Vec<(String, String)> {
        let mut entries = Vec::new();
        if !self.classes.is_empty() {
            entries.push((CLASSES, Value::from(self.classes.names().to_vec()).to_string()));
            entries.extend(self.classes.label_type().map(|label_type| (LABEL_TYPE, label_type.to_string())));
        }
        if let Some(Schema {
            columns,
            inputs,
            target,
            values,
            weight,
            folds_labels,
            drops_missing_target,
            replaces_missing,
            dates,
            zones,
            categories: _,
            missing,
            decimal,
        }) = &self.schema
        {
            // Which are categories the encoding says.
            let names: Option<Vec<&str>> = inputs.iter().map(|input| input.name.as_deref()).collect();
            entries.extend(names.map(|names| (COLUMNS, Value::from(names).to_string())));
            let positions: Vec<usize> = inputs.iter().map(|input| input.position).collect();
            entries.push((POSITIONS, Value::from(positions).to_string()));
            entries.push((FILE_COLUMNS, columns.to_string()));
            if !values.is_empty() {
                let names: Option<Vec<&str>> = values.iter().map(|value| value.name.as_deref()).collect();
                entries.extend(names.map(|names| (VALUES, Value::from(names).to_string())));
                let positions: Vec<usize> = values.iter().map(|value| value.position).collect();
                entries.push((VALUE_POSITIONS, Value::from(positions).to_string()));
            }
            if !missing.is_empty() {
                entries.push((MISSING, Value::from(missing.clone()).to_string()));
            }
            entries.extend(decimal.map(|mark| (DECIMAL, char::from(mark).to_string())));
            if !dates.is_empty() {
                entries.push((DATES, json!(dates).to_string()));
            }
            if !zones.is_empty() {
                entries.push((ZONES, json!(zones).to_string()));
            }
            let flags = [
                (FOLD_LABELS, folds_labels),
                (DROP_MISSING_TARGET, drops_missing_target),
                (ONLY_MISSING, replaces_missing),
            ];
            entries.extend(
                flags.into_iter().filter(|(_, is_set)| **is_set).map(|(key, _)| (key, true.to_string())),
            );
            let columns = [(target, TARGET, TARGET_POSITION), (weight, WEIGHT, WEIGHT_POSITION)];
            for (column, name_key, position_key) in columns {
                if let Some(Column { name, position }) = column {
                    entries.extend(name.clone().map(|name| (name_key, name)));
                    entries.push((position_key, position.to_string()));
                }
            }
        }
        if let Some(TargetScale { center, width }) = &self.target_scale {
            let list = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
            entries.extend([(TARGET_CENTER, list(center)), (TARGET_WIDTH, list(width))]);
        }
        entries.extend(self.image.map(|form| (IMAGE, sides(form))));
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// What metadata say of a network, and of what becomes its inputs; an error names the entry that cannot be.
    pub(super) fn read(
        metadata: &BTreeMap<String, String>,
        transform: &Transform,
        network: &Network,
    ) -> Result<Self, &'static str> {
        let (inputs, outputs) = (transform.columns(network.columns()), network.outputs());
        let of_classes = network.loss().of_classes();
        let label_type =
            metadata.get(LABEL_TYPE).map(|text| text.parse().map_err(|_| LABEL_TYPE)).transpose()?;
        let classes = match list(metadata, CLASSES)? {
            _ if !of_classes => Classes::numbered(0),
            None => return Err(CLASSES),
            Some(names) => {
                let classes = Classes::typed(names, label_type);
                classes.filter(|classes| classes.len() == outputs).ok_or(CLASSES)?
            }
        };
        let image = metadata.get(IMAGE).map(|text| image_form(text, inputs).ok_or(IMAGE)).transpose()?;
        let numbers = |key: &'static str, is_fine: fn(&f64) -> bool| {
            let Some(text) = metadata.get(key) else { return Ok(None) };
            let values: Option<Vec<f64>> = text.split(',').map(|value| value.parse().ok()).collect();
            let values = values.filter(|values| values.len() == outputs && values.iter().all(is_fine));
            values.map(Some).ok_or(key)
        };
        let (center, width) = (
            numbers(TARGET_CENTER, |value| is_of_floats(*value))?,
            numbers(TARGET_WIDTH, |value| is_of_floats(*value) && *value > 0.0)?,
        );
        let target_scale = match (center, width) {
            (None, None) => None,
            (Some(center), Some(width)) => Some(TargetScale { center, width }),
            (Some(_), None) => return Err(TARGET_WIDTH),
            (None, Some(_)) => return Err(TARGET_CENTER),
        };
        let Some(positions) = list::<usize>(metadata, POSITIONS)? else {
            return Ok(Self { classes, schema: None, image, target_scale });
        };
        let columns: usize = entry(metadata, FILE_COLUMNS).ok_or(FILE_COLUMNS)?;
        let dates: Vec<(usize, usize)> = list(metadata, DATES)?.unwrap_or_default();
        // The parts of a date stand in one column.
        let are_parts = |(first, parts): &(usize, usize)| {
            let of_date = first.checked_add(*parts).and_then(|end| positions.get(*first..end));
            (3..=4).contains(parts) && of_date.is_some_and(|of| of.iter().all(|position| *position == of[0]))
        };
        if !dates.iter().all(are_parts) || !dates.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0) {
            return Err(DATES);
        }
        let zones: Vec<(usize, Option<String>)> = list(metadata, ZONES)?.unwrap_or_default();
        if !zones.iter().all(|(first, _)| dates.iter().any(|(date, _)| date == first)) {
            return Err(ZONES);
        }
        let is_later_part =
            |input: usize| dates.iter().any(|(first, parts)| input > *first && input - first < *parts);
        let own: Vec<usize> =
            (0..).zip(&positions).filter(|(input, _)| !is_later_part(*input)).map(|(_, at)| *at).collect();
        let are_there = positions.iter().all(|position| *position < columns);
        if positions.len() != inputs || !are_there || !are_different(&own) {
            return Err(POSITIONS);
        }
        let names = |key, count: usize| match list::<String>(metadata, key)? {
            Some(names) if names.len() != count || !are_different(&names) => Err(key),
            names => Ok(names),
        };
        let input_names = list::<String>(metadata, COLUMNS)?;
        if input_names.as_ref().is_some_and(|names| names.len() != inputs) {
            return Err(COLUMNS);
        }
        let column = |(index, position): (usize, &usize)| Column {
            name: input_names.as_ref().map(|names| names[index].clone()),
            position: *position,
        };
        let inputs = positions.iter().enumerate().map(column).collect();
        let values = match list::<usize>(metadata, VALUE_POSITIONS)? {
            None => Vec::new(),
            Some(positions) => {
                let are_there = positions.iter().all(|position| *position < columns);
                if positions.len() != outputs || !are_there || !are_different(&positions) {
                    return Err(VALUE_POSITIONS);
                }
                let names = names(VALUES, outputs)?;
                let names: Vec<Option<String>> =
                    names.map_or_else(|| vec![None; outputs], |names| names.into_iter().map(Some).collect());
                names.into_iter().zip(positions).map(|(name, position)| Column { name, position }).collect()
            }
        };
        let column = |name, position_key: &'static str| match metadata.get(position_key) {
            None => Ok::<_, &'static str>(None),
            Some(_) => {
                let position = entry(metadata, position_key).filter(|position| *position < columns);
                let name = metadata.get(name).cloned();
                Ok(Some(Column { name, position: position.ok_or(position_key)? }))
            }
        };
        let (target, weight) = (column(TARGET, TARGET_POSITION)?, column(WEIGHT, WEIGHT_POSITION)?);
        let flag =
            |key: &'static str| metadata.get(key).map_or(Ok(false), |text| text.parse().map_err(|_| key));
        let (folds_labels, drops_missing_target) = (flag(FOLD_LABELS)?, flag(DROP_MISSING_TARGET)?);
        let missing = list(metadata, MISSING)?.unwrap_or_default();
        let decimal = match metadata.get(DECIMAL).map(String::as_str) {
            None => None,
            Some(".") => Some(b'.'),
            Some(",") => Some(b','),
            Some(_) => return Err(DECIMAL),
        };
        let schema = Schema {
            columns,
            inputs,
            target,
            values,
            weight,
            folds_labels,
            drops_missing_target,
            dates,
            zones,
            categories: transform.categories(),
            missing,
            replaces_missing: flag(ONLY_MISSING)?,
            decimal,
        };
        // A part of a date may be called as another column is.
        let names: Vec<String> = schema.read_columns().into_iter().filter_map(|column| column.name).collect();
        if !are_different(&names) {
            return Err(COLUMNS);
        }
        Ok(Self { classes, schema: Some(schema), image, target_scale })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let column = |name: &str, position| Column { name: Some(name.to_owned()), position };
        let named = Schema {
            columns: 5,
            inputs: vec![column("b \"x\"", 3), column("a", 1)],
            target: Some(column("kind", 4)),
            values: Vec::new(),
            weight: Some(column("count", 2)),
            folds_labels: true,
            drops_missing_target: true,
            dates: Vec::new(),
            zones: Vec::new(),
            categories: Vec::new(),
            missing: vec!["none, or \"0\"".to_owned()],
            replaces_missing: true,
            decimal: Some(b','),
        };
        let plain = Schema {
            columns: 2,
            inputs: [0, 1].map(|position| Column { name: None, position }).to_vec(),
            target: None,
            values: Vec::new(),
            weight: None,
            folds_labels: false,
            drops_missing_target: false,
            dates: Vec::new(),
            zones: Vec::new(),
            categories: Vec::new(),
            missing: Vec::new(),
            replaces_missing: false,
            decimal: None,
        };
        let network = Network::classifier(&[2, 2]).unwrap();
        let classes = Classes::named(["no", "yes"].map(String::from).to_vec()).unwrap();
        let form = ImageForm { height: 1, width: 2, colour: false };
        for (schema, image) in [(Some(named), None), (Some(plain), None), (None, Some(form)), (None, None)] {
            let target_scale =
                schema.is_some().then(|| TargetScale { center: vec![0.1, -2e30], width: vec![1e-7, 3.0] });
            let data_schema = DataSchema { classes: classes.clone(), schema, image, target_scale };
            let metadata: BTreeMap<String, String> = data_schema.entries().into_iter().collect();
            assert!(metadata.keys().all(|key| KEYS.contains(&key.as_str())));
            assert_eq!(DataSchema::read(&metadata, &Transform::None, &network), Ok(data_schema));
        }
        let nothing = DataSchema::read(&BTreeMap::new(), &Transform::None, &network);
        assert_eq!(nothing, Err(CLASSES));
    }

    #[test]
    fn entries_that_do_not_fit_are_named() {
        let whole = [
            (CLASSES, "[\"a\",\"b\"]"),
            (COLUMNS, "[\"x\",\"y\"]"),
            (POSITIONS, "[0,1]"),
            (FILE_COLUMNS, "3"),
            (TARGET_POSITION, "2"),
            (IMAGE, "1x2"),
        ];
        let read = |changed: Option<(&str, &str)>| {
            let entries = whole.iter().copied().chain(changed);
            let metadata = entries.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            DataSchema::read(&metadata, &Transform::None, &Network::classifier(&[2, 2]).unwrap())
        };
        assert!(read(None).is_ok());
        for (key, value) in [
            (CLASSES, "[\"a\"]"),
            (CLASSES, "[\"a\",\"a\"]"),
            (CLASSES, "a,b"),
            (COLUMNS, "[\"x\"]"),
            (POSITIONS, "[0]"),
            (POSITIONS, "[0,3]"),
            (POSITIONS, "[1,1]"),
            (COLUMNS, "[\"x\",\"x\"]"),
            (FILE_COLUMNS, "x"),
            (TARGET_POSITION, "3"),
            (WEIGHT_POSITION, "3"),
            (FOLD_LABELS, "maybe"),
            (DATES, "[[0,4]]"),
            (DATES, "[[0,18446744073709551615]]"),
            (DATES, "[0]"),
            (IMAGE, "2x2"),
            (IMAGE, "28"),
            (MISSING, "NA"),
            (DECIMAL, ":"),
            (TARGET_CENTER, "1,2"),
            (TARGET_WIDTH, "1,0"),
            (TARGET_WIDTH, "1,inf"),
            (TARGET_WIDTH, "1"),
        ] {
            let found = read(Some((key, value)));
            // One without the other.
            let named = if (key, value) == (TARGET_CENTER, "1,2") { TARGET_WIDTH } else { key };
            assert_eq!(found, Err(named), "{value}");
        }
    }

    #[test]
    fn the_form_of_images_is_read_as_it_was_written() {
        for (text, inputs, found) in [
            ("28x3", 84, Some((28, 3, false))),
            ("28x3x3", 252, Some((28, 3, true))),
            ("3x3", 9, Some((3, 3, false))),
            ("28x3x3", 84, None),
            ("28x28", 783, None),
            ("x3", 3, None),
            ("28x28x4", 3136, None),
        ] {
            let form = image_form(text, inputs);
            assert_eq!(form.map(|form| (form.height, form.width, form.colour)), found, "{text}");
            assert!(form.is_none_or(|form| sides(form) == text));
        }
    }
}
