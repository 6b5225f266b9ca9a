//! A model: what it is, what it predicts, how good it is.

use std::io::Cursor;
use std::path::Path;

use serde_json::{Value, json};
use tinytrain::data::{Dataset, Features, Selection, Split, Target, Transform};
use tinytrain::engine::Device;
use tinytrain::prediction_lines::{Form as LineForm, Lines};
use tinytrain::train::{
    Metric, OutputDecoder, Predictor, Shuffling, TESTED_ROWS, TrainedRows, evaluate, importances, measures,
    read_dataset_for,
};
use tinytrain::{Error, Form, ReadOptions, Reader, export};
use wasm_bindgen::prelude::*;

use crate::errors::{Result, of_library, thrown};
use crate::table::{Table, name_of};

/// Shuffles of a column.
const REPEATS: usize = 10;

/// A trained model, on the processor.
#[wasm_bindgen]
pub struct Model {
    model: tinytrain::Model,
    /// Made when something is predicted first.
    predictor: Option<Predictor>,
}

#[wasm_bindgen]
impl Model {
    /// Reads a model file.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        let model = tinytrain::Model::from_bytes(bytes, Path::new("model.safetensors"));
        Ok(Model::new(model.map_err(of_library)?))
    }

    /// What the model is, as JSON: network, inputs, classes or values, settings.
    pub fn describe(&self) -> String {
        let model = &self.model;
        let of_classes = model.network.loss().of_classes();
        let columns = model
            .data_schema
            .schema
            .as_ref()
            .map(|schema| schema.read_columns().iter().map(name_of).collect::<Vec<_>>());
        let values = if of_classes { Vec::new() } else { model.data_schema.value_names(&model.network) };
        json!({
            "network": model.network.to_string(),
            "parameters": model.network.parameter_count(),
            "inputs": model.transform.columns(model.network.columns()),
            "outputs": model.network.outputs(),
            "task": if of_classes { "classification" } else { "regression" },
            "classes": model.data_schema.classes.names(),
            "values": values,
            "columns": columns,
            "image": model.data_schema.image.map(|form| [form.height, form.width]),
            "loss": model.network.loss().to_string(),
            "settings": model.settings,
        })
        .to_string()
    }

    /// The model file, as the program writes it.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        self.model.to_bytes().map_err(of_library)
    }

    /// The model as ONNX.
    pub fn onnx(&self) -> Result<Vec<u8>> {
        export(&self.model, Form::Onnx, "model").map_err(of_library)
    }

    /// The probability of each class, or the values, for one row of numbers as they stand in a file: of an image its bytes.
    pub fn probabilities(&mut self, inputs: &[f32]) -> Result<Vec<f32>> {
        let features = match self.model.transform {
            Transform::Bytes => Features::Bytes(inputs.iter().map(|value| *value as u8).collect()),
            Transform::Columns(_) | Transform::None => Features::Floats(inputs.to_vec()),
        };
        let predictor = self.predictor()?;
        predictor.check_inputs(Path::new("the row"), inputs.len()).map_err(of_library)?;
        let predictions = predictor.predict(features, &[]).map_err(of_library)?;
        let probabilities = predictions.probabilities.iter().map(|share| *share as f32);
        Ok(probabilities.chain(predictions.values).collect())
    }

    /// Predicts a table without labels: `predictions.csv` as the program writes it.
    #[wasm_bindgen(js_name = predictCsv)]
    pub fn predict_csv(&mut self, csv: Vec<u8>) -> Result<Vec<u8>> {
        let schema = self.model.data_schema.schema.clone();
        let columns = Selection { target: Target::Absent, schema, ..Selection::default() };
        let mut reader = reader(csv, columns)?;
        let (lines, decoder) = (Lines::new(LineForm::Csv, &self.model), OutputDecoder::new(&self.model));
        let predictor = self.predictor()?;
        predictor.check_inputs(reader.name(), reader.inputs()).map_err(of_library)?;
        let mut text = lines.header(false, None).unwrap_or_default();
        let mut before = 0;
        while reader.wait_for_rows().map_err(of_library)? {
            if before == 0 {
                predictor.refuse_header(&reader).map_err(of_library)?;
            }
            let block = reader.take_block();
            let outputs = predictor.outputs(block.features, reader.dictionaries()).map_err(of_library)?;
            if let Some(number) = outputs.iter().position(|output| !output.is_finite()) {
                let sample = 1 + before + (number / decoder.outputs()) as u64;
                return Err(of_library(Error::NonFinitePrediction { path: reader.name().into(), sample }));
            }
            before += (outputs.len() / decoder.outputs()) as u64;
            lines.append(None, &decoder.predictions(outputs), &[], &mut text);
        }
        Ok(text)
    }

    /// How good the model is on a table with labels or values, as JSON.
    #[wasm_bindgen(js_name = evaluateCsv)]
    pub fn evaluate_csv(&self, csv: Vec<u8>) -> Result<String> {
        let schema = self.model.data_schema.schema.clone();
        let reader = reader(csv, Selection { schema, ..Selection::default() })?;
        let (rows, unknown) = read_dataset_for(&self.model, reader).map_err(of_library)?;
        let mut found = self.measured(&rows)?;
        found["unknown_cells"] = unknown.count().into();
        Ok(found.to_string())
    }

    /// How good the model is on a table, as JSON: on the rows that were held out for testing when the model was trained on it, else on all.
    pub fn evaluate(&self, table: &mut Table) -> Result<String> {
        let (rows, are_held_out) = self.rows(table)?;
        let mut found = self.measured(&rows)?;
        found["held_out"] = are_held_out.into();
        Ok(found.to_string())
    }

    /// How much the model depends on each column of a table, as JSON: on the rows that were held out for testing when the model was
    /// trained on it, else on all.
    pub fn importance(&self, table: &mut Table) -> Result<String> {
        let model = &self.model;
        let Some(schema) = model.data_schema.schema.as_ref().filter(|_| model.data_schema.image.is_none())
        else {
            return Err(thrown("expected a model of a table, found one of images"));
        };
        let (rows, are_held_out) = self.rows(table)?;
        let metric = if model.network.loss().classifies() { Metric::Accuracy } else { Metric::R2 };
        let shuffling = Shuffling { metric, repeats: REPEATS, seed: 1, threads: None };
        let (value, found) =
            importances(model, &rows, &Device::Cpu, &shuffling, &mut |_, _| Ok(())).map_err(of_library)?;
        let columns = found.iter().map(|found| {
            json!({
                "column": name_of(&schema.inputs[found.column]),
                "importance": found.mean,
                "deviation": found.deviation,
            })
        });
        Ok(json!({
            "samples": rows.rows(),
            "held_out": are_held_out,
            "metric": metric.name(),
            "value": value,
            "repeats": REPEATS,
            "columns": columns.collect::<Value>(),
        })
        .to_string())
    }
}

impl Model {
    /// Takes a model of the library.
    pub fn new(model: tinytrain::Model) -> Self {
        Self { model, predictor: None }
    }

    fn predictor(&mut self) -> Result<&mut Predictor> {
        if self.predictor.is_none() {
            self.predictor = Some(Predictor::new(&self.model, &Device::Cpu, None).map_err(of_library)?);
        }
        self.predictor.as_mut().ok_or_else(|| thrown("no predictor"))
    }

    fn measured(&self, rows: &Dataset) -> Result<Value> {
        let found = evaluate(&self.model, rows, &Device::Cpu).map_err(of_library)?;
        let of_all = measures(
            self.model.network.loss(),
            &found.outputs,
            &found.predictions,
            rows.targets.view(),
            &rows.view().counts(),
        );
        let of_all = of_all.iter().filter(|measure| measure.target.is_none()).map(
            |measure| json!({ "name": measure.name, "value": measure.value, "interval": measure.interval }),
        );
        Ok(json!({ "samples": rows.rows(), "loss": found.score.loss, "measures": of_all.collect::<Value>() }))
    }

    /// Rows of a table as inputs: those held out for testing, where the model was trained on the others; and whether it was.
    fn rows(&self, table: &mut Table) -> Result<(Dataset, bool)> {
        let model = &self.model;
        let setting = |name: &str| model.settings.get(name).and_then(|text| text.parse::<f64>().ok());
        let [test, validation] =
            ["test_fraction", "validation_fraction"].map(|name| setting(name).unwrap_or(0.0));
        let seed = model.settings.get("seed").and_then(|seed| seed.parse().ok());
        let mut reader = table.reader()?;
        if let (true, Some(seed)) = (test > 0.0, seed) {
            let split = Split { validation, test, seed, fold: None };
            let [_, rows] = reader.divide(&split).map_err(of_library)?;
            let sum = TrainedRows::from_held_out(&rows).sum.to_string();
            if model.settings.get(TESTED_ROWS) == Some(&sum) {
                let (rows, _) = model.transform.rows(rows, reader.dictionaries()).map_err(of_library)?;
                return Ok((rows, true));
            }
            reader = table.reader()?;
        }
        Ok((read_dataset_for(model, reader).map_err(of_library)?.0, false))
    }
}

/// A table in memory.
fn reader(csv: Vec<u8>, columns: Selection) -> Result<Reader> {
    let options = ReadOptions { columns, ..ReadOptions::default() };
    Reader::from_csv(Path::new("table.csv"), Cursor::new(csv), &options).map_err(of_library)
}
