//! The metadata of a model file: everything but tensors, as one JSON object.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Network;
use super::checks::{Fault, check_encoding, check_schema, expect, fits, is_of_floats};
use crate::data::{Classes, ImageForm, ImageOptions, Schema, TargetScale, Transform};

/// The version of the format. A program reads only files of its own version.
const FORMAT: u32 = 1;

/// The device and schedule of a training: sums in the same order give the same bits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The device.
    pub device: String,
    /// The division of a step into dispatches, on a GPU.
    pub schedule: Option<String>,
}

/// The meaning of a network's inputs and outputs: columns, classes, values, images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSchema {
    /// The classes of the outputs.
    pub classes: Classes,
    /// The places of the inputs in a table, if they come from one.
    pub schema: Option<Schema>,
    /// The form of a row, if it is an image.
    pub image: Option<ImageForm>,
    /// Whether arrays and tables store images with rows and columns swapped.
    #[serde(default)]
    pub transposed: bool,
    /// The scaling from the outputs of a network to predicted values, if any.
    pub target_scale: Option<TargetScale>,
}

/// The JSON object.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Metadata {
    /// [`FORMAT`].
    pub format: u32,
    /// The network, followed by the others of an ensemble.
    pub networks: Vec<Network>,
    /// The number of times that an ensemble contains each network; empty for a single network.
    pub picks: Vec<u32>,
    pub transform: Transform,
    pub data: DataSchema,
    pub origin: Option<Origin>,
    pub settings: BTreeMap<String, String>,
    /// Names of further tensors: the state of an optimizer, the parameters of a kept model.
    pub states: Vec<String>,
    /// The progress of an unfinished run.
    pub progress: Option<Value>,
}

impl Metadata {
    pub fn new(networks: Vec<Network>, transform: Transform, data: DataSchema) -> Self {
        let settings = BTreeMap::new();
        let (picks, origin, states, progress) = (Vec::new(), None, Vec::new(), None);
        Self { format: FORMAT, networks, picks, transform, data, origin, settings, states, progress }
    }

    /// Reads the object. [`Metadata::check`] follows once tensors complete it.
    pub fn read(text: &str) -> Result<Self, Fault> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let fault = |error: serde_json::Error| ("metadata of a model".to_owned(), error.to_string());
        let Format { format } = serde_json::from_str(text).map_err(fault)?;
        expect(format == FORMAT, format!("a model file of format {FORMAT}"), format)?;
        let mut metadata: Self = serde_json::from_str(text).map_err(fault)?;
        if let Some(schema) = &mut metadata.data.schema {
            schema.categories = metadata.transform.categories();
        }
        Ok(metadata)
    }

    /// Checks that all entries are consistent.
    pub fn check(&self) -> Result<(), Fault> {
        let Self { networks, picks, transform, .. } = self;
        let are_picked = picks.len() == networks.len() && picks.iter().any(|count| *count > 0);
        let is_single = picks.is_empty() && networks.len() == 1;
        let expected = format!("how often each of {} networks was picked", networks.len());
        expect(is_single || are_picked, expected, picks)?;
        let shape = |network: &Network| (network.columns(), network.outputs(), network.loss().of_classes());
        let first = shape(&networks[0]);
        if let Transform::Columns(encoding) = transform {
            check_encoding(encoding)?;
            expect(
                encoding.inputs() == first.0,
                format!("{} inputs in its encoding", first.0),
                encoding.inputs(),
            )?;
        }
        for network in networks {
            expect(
                shape(network) == first,
                "networks with the same inputs and outputs",
                network.to_string(),
            )?;
            let fits = fits(network.input_layer(), transform);
            expect(fits, "an input layer for the columns of its encoding", network.to_string())?;
        }
        for (name, number) in self.states.iter().zip(0..) {
            let is_own = !self.states[..number].contains(name) && !name.starts_with("network");
            expect(is_own, "different names of states", name)?;
        }
        self.data.check(transform, &networks[0])
    }
}

impl DataSchema {
    /// A schema of numbered classes without further information.
    pub fn numbered(classes: usize) -> Self {
        let classes = Classes::numbered(classes);
        Self { classes, schema: None, image: None, transposed: false, target_scale: None }
    }

    /// The options that read images as in training.
    pub fn image_options(&self) -> ImageOptions {
        ImageOptions::like(self.image, self.transposed)
    }

    /// The names of the values that a network predicts: names of their columns, or numbers; of quantiles with their levels.
    pub fn value_names(&self, network: &Network) -> Vec<String> {
        let columns = self.schema.as_ref().map_or(&[][..], |schema| &schema.values);
        let name = |index: usize| columns.get(index).and_then(|column| column.name.clone());
        let of = |index: usize| name(index).unwrap_or_else(|| format!("value{index}"));
        match network.loss().levels() {
            Some(levels) => {
                (0..network.outputs()).map(|output| format!("{}_q{}", of(0), levels.level(output))).collect()
            }
            None => (0..network.outputs()).map(of).collect(),
        }
    }

    /// Checks that all entries match a network and the transform of its inputs.
    fn check(&self, transform: &Transform, network: &Network) -> Result<(), Fault> {
        let (inputs, outputs) = (transform.columns(network.columns()), network.outputs());
        let classes = if network.loss().of_classes() { outputs } else { 0 };
        let quantiles = network.quantiles();
        expect(quantiles == 0 || quantiles == outputs, format!("{quantiles} outputs"), outputs)?;
        expect(self.classes.len() == classes, format!("{classes} classes"), self.classes.names())?;
        if let Some(form @ ImageForm { height, width, .. }) = self.image {
            let pixels = height.checked_mul(width).and_then(|pixels| pixels.checked_mul(form.channels()));
            expect(pixels == Some(inputs), format!("an image of {inputs} values"), form)?;
        }
        if let Some(TargetScale { center, width }) = &self.target_scale {
            let are_fine = center.len() == outputs
                && width.len() == outputs
                && center.iter().chain(width).all(|value| is_of_floats(*value))
                && width.iter().all(|width| *width > 0.0);
            let expected = format!("a target_scale of {outputs} finite centers and positive widths");
            expect(are_fine, expected, (center, width))?;
        }
        self.schema
            .as_ref()
            .map_or(Ok(()), |schema| check_schema(schema, inputs, if quantiles > 0 { 1 } else { outputs }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::data::{Column, ColumnEncoding, Encoding, NumericScaling};
    use crate::model::{InputColumn, InputLayer};

    fn column(name: &str, position: usize) -> Column {
        Column { name: Some(name.to_owned()), position }
    }

    /// A number with an indicator, a date in three inputs, an embedded category; two classes.
    fn metadata() -> Metadata {
        let number = |center, has_indicator| ColumnEncoding::Number {
            map: NumericScaling::Affine { center, width: 2e-9 },
            fill: 0.1,
            has_indicator,
        };
        let categories = Classes::named(["b", "a", "c"].map(str::to_owned).to_vec()).unwrap();
        let category = ColumnEncoding::Category { categories, has_missing: true };
        let columns =
            vec![number(0.1, true), number(0.0, false), number(0.0, false), number(7e30, false), category];
        let transform = Transform::Columns(Encoding { columns, is_numbered: true });
        let mut inputs = vec![InputColumn::Number; 5];
        inputs.push(InputColumn::Embedding { categories: 4, size: 2 });
        let layer = InputLayer::new(inputs, true).unwrap();
        let network = Network::classifier(&[7, 3, 2]).unwrap().with_input_layer(layer).unwrap();
        let day = column("day", 2);
        let schema = Schema {
            columns: 7,
            inputs: vec![column("b \"x\"", 3), day.clone(), day.clone(), day, column("kind", 1)],
            target: Some(column("class", 4)),
            weight: Some(column("count", 5)),
            folds_labels: true,
            dates: vec![(1, 3)],
            zones: vec![(1, Some("UTC".to_owned()))],
            categories: transform.categories(),
            missing: vec!["none, or \"0\"".to_owned()],
            decimal: Some(b','),
            ..Schema::default()
        };
        let classes = Classes::named(["no", "yes"].map(str::to_owned).to_vec()).unwrap();
        let data = DataSchema { classes, schema: Some(schema), ..DataSchema::numbered(0) };
        Metadata::new(vec![network], transform, data)
    }

    fn read(object: &Value) -> Result<Metadata, Fault> {
        let metadata = Metadata::read(&object.to_string())?;
        metadata.check().map(|()| metadata)
    }

    #[test]
    fn metadata_read_back() {
        let written = metadata();
        let read = read(&serde_json::to_value(&written).unwrap()).unwrap();
        assert_eq!(read.networks, written.networks);
        assert_eq!(read.transform, written.transform);
        assert_eq!(read.data, written.data);
    }

    /// Every changed entry is refused, with a message that names it.
    #[test]
    fn entries_that_do_not_fit_are_named() {
        let whole = serde_json::to_value(metadata()).unwrap();
        let network = whole["networks"][0].clone();
        let other = serde_json::to_value(Network::classifier(&[7, 2]).unwrap()).unwrap();
        let image = json!({ "height": 2, "width": 2, "colour": false });
        for (pointer, value, message) in [
            ("/format", json!(2), "a model file of format 1"),
            ("/networks", json!([]), "how often each of 0 networks"),
            ("/networks", json!([network, network]), "how often each of 2 networks"),
            ("/networks", json!([other]), "7 inputs in its encoding"),
            ("/picks", json!([1, 1]), "how often each of 1 networks"),
            ("/picks", json!([0]), "how often each of 1 networks"),
            ("/states", json!(["optimizer1", "optimizer1"]), "different names of states"),
            ("/states", json!(["network2"]), "different names of states"),
            ("/networks/0/inputs", json!(8), "an input layer of 7 inputs before a layer of 8"),
            ("/networks/0/layers", json!([]), "at least one unit"),
            ("/networks/0/layers/0/units", json!(0), "at least one unit"),
            ("/networks/0/layers/0/units", json!(-1), "expected usize"),
            ("/networks/0/layers/0/activation", json!("rely"), "rely"),
            ("/networks/0/layers/0/dropout", json!(1), "dropout"),
            ("/networks/0/layers/1/activation", json!("relu"), "the last layer"),
            ("/networks/0/loss", json!("mse"), "0 classes"),
            (
                "/networks/0/input_layer/columns/5",
                json!({"embedding": {"categories": 4, "size": 0}}),
                "not embedding 4x0",
            ),
            (
                "/networks/0/input_layer/columns/5",
                json!({"one-hot": {"categories": 2}}),
                "an input layer for the columns",
            ),
            ("/transform", json!("byte"), "unknown variant"),
            ("/transform/columns/columns/0/number/map/affine/width", json!(-1.0), "widths of 0 or more"),
            ("/transform/columns/columns/0/number/map/affine/width", json!(null), "null"),
            ("/transform/columns/columns/0/number/map", json!("normal"), "quantiles in ascending order"),
            ("/transform/columns/columns/0/number/fill", json!(1e200), "the range of 32-bit floats"),
            (
                "/transform/columns/columns/4/category/categories/names/0",
                json!("a"),
                "different names of classes",
            ),
            ("/transform/columns/columns", json!([]), "an encoding of columns"),
            ("/data/classes/names", json!(["a"]), "2 classes"),
            ("/data/classes/names", json!(["a", "a"]), "different names of classes"),
            ("/data/classes/label_type", json!("word"), "expected text, boolean"),
            ("/data/image", image, "an image of 5 values"),
            ("/data/target_scale", json!({"center": [1.0, 2.0], "width": [1.0, 0.0]}), "positive widths"),
            ("/data/target_scale", json!({"center": [1.0, 2.0], "width": [1.0]}), "positive widths"),
            ("/data/target_scale", json!({"center": [1.0, 2.0]}), "missing field `width`"),
            ("/data/schema/inputs", json!([]), "5 inputs in a table"),
            ("/data/schema/inputs/0/position", json!(7), "one of 7 columns"),
            ("/data/schema/inputs/0/position", json!(1), "inputs from different columns"),
            ("/data/schema/inputs/0/name", json!("kind"), "different names for all inputs"),
            ("/data/schema/inputs/0/name", json!(null), "different names for all inputs"),
            ("/data/schema/target/position", json!(7), "one of 7 columns"),
            ("/data/schema/weight/position", json!(7), "one of 7 columns"),
            ("/data/schema/values", json!([{"name": "v", "position": 6}]), "2 different columns of values"),
            ("/data/schema/folds_labels", json!("maybe"), "a boolean"),
            ("/data/schema/dates", json!([[0, 4]]), "dates of three or four"),
            ("/data/schema/dates", json!([[0, u64::MAX]]), "dates of three or four"),
            ("/data/schema/dates", json!([0]), "invalid type"),
            ("/data/schema/zones", json!([[0, "UTC"]]), "time_zones of dates"),
            ("/data/schema/missing", json!("NA"), "a sequence"),
            ("/data/schema/decimal", json!(":"), "a decimal mark"),
            ("/origin", json!({}), "device"),
            ("/settings", json!({"seed": 1}), "a string"),
        ] {
            let mut broken = whole.clone();
            *broken.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value.clone();
            let (expected, found) = read(&broken).map(|_| ()).expect_err(&format!("{pointer}: {value}"));
            let text = format!("expected {expected}, found {found}");
            assert!(text.contains(message), "{pointer}: {value}: {text}");
        }
        for pointer in ["", "/networks/0", "/networks/0/layers/0", "/data", "/data/schema", "/data/classes"] {
            let mut broken = whole.clone();
            broken.pointer_mut(pointer).unwrap()["unknown"] = json!(1);
            let (_, found) = read(&broken).map(|_| ()).unwrap_err();
            assert!(found.contains("unknown field `unknown`"), "{pointer}: {found}");
        }
    }
}
