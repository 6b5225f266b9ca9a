//! `tinytrain predict`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use tinytrain::data::{
    Dictionary, Features, Format as Written, ReadOptions, Reader, Selection, Target, is_png, read_png,
};
use tinytrain::engine::{DeviceRequest, find_device};
use tinytrain::model::Model;
use tinytrain::output::Destination;
use tinytrain::train::{Predictions, Predictor, load_model};
use tinytrain::{Error, Result};

use super::output::{Unwritable, warn};
use super::prediction_lines::{Form, Lines};
use super::text::unknown_cells;
use super::{args, places, table_options};

/// Predict rows with a saved network.
///
/// For every row the name of its class, and the probability of every class. Columns are found by their names, in any
/// order, or by position where there are no names; labels are not needed and not looked at. Files of any size are read
/// and written row by row.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinytrain predict --model model.safetensors new.csv --out predictions.csv\n  \
                        tinytrain predict --model model.safetensors --invert digit.png"
)]
pub struct Options {
    /// The model, as `tinytrain train` saved it.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Tables, IDX files of images, or, for a model of images, PNG files of any size, grey or coloured; `-` is a table on
    /// standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Where the predictions go. [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How predictions are written: a table with a header, or one JSON object a line.
    #[arg(long, value_enum, default_value_t = Form::Csv)]
    format: Form,
    /// Column of a table that is carried along, in front of the prediction: its name or its index.
    #[arg(long, value_name = "COLUMN", value_parser = args::column, allow_hyphen_values = true)]
    id: Option<String>,
    /// Read PNG files with light and dark swapped: models of MNIST know light figures on black.
    #[arg(long)]
    invert: bool,
    /// What computes: auto, cpu, gpu, vulkan, gl, metal, dx12, or the name or index of a device as
    /// `tinytrain devices` lists it.
    #[arg(long, default_value = "auto", value_parser = args::device, allow_hyphen_values = true)]
    device: DeviceRequest,
    /// Have a GPU's kernels check every index, count every loop, and begin with cleared memory.
    #[arg(long)]
    checked: bool,
    #[command(flatten)]
    written: table_options::Written,
}

/// Predicts and prints.
///
/// # Errors
/// Those of the model, the data, the device and the output.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let model = load_model(&options.model)?;
    let out = options.out.as_deref().map(Destination::check).transpose()?;
    let files = options.files.iter().map(|file| (file.as_path(), "which holds the data"));
    let model_file = [(options.model.as_path(), "which is the model")];
    places::spare_files("--out", options.out.as_deref(), files.chain(model_file))?;
    let device = find_device(&options.device)?.opened(args::opening(options.checked));
    let lines = Lines::new(options.format, &model);
    let mut work =
        Work { options, model: &model, predictor: Predictor::new(&model, &device)?, lines, text: Vec::new() };
    let written = match out {
        // What ends early leaves no part of a file.
        Some(out) => out
            .write_with(|file| {
                let mut file = io::BufWriter::new(file);
                work.all(&mut |bytes| file.write_all(bytes).map_err(Failure::Output))?;
                file.flush().map_err(Failure::Output)
            })
            .map_err(|failure| match failure {
                Failure::Output(source) => Error::Write { path: out.path().to_owned(), source }.into(),
                Failure::Other(error) => error.into(),
            }),
        None => {
            let mut stdout = io::BufWriter::new(io::stdout().lock());
            let written = work.all(&mut |bytes| stdout.write_all(bytes).map_err(Failure::Output));
            written.and_then(|()| stdout.flush().map_err(Failure::Output)).map_err(|failure| match failure {
                Failure::Output(source) => Unwritable(source).into(),
                Failure::Other(error) => error.into(),
            })
        }
    };
    if work.predictor.unknown_cells() > 0 {
        warn(&unknown_cells(work.predictor.unknown_cells(), "the predicted rows"));
    }
    written
}

/// What went wrong: the output, or anything else.
enum Failure {
    Output(io::Error),
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Other(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

/// Takes what is to be written.
type Sink<'a> = dyn FnMut(&[u8]) -> std::result::Result<(), Failure> + 'a;

/// Predictions on their way.
struct Work<'a> {
    options: &'a Options,
    model: &'a Model,
    predictor: Predictor,
    lines: Lines,
    /// Lines that are not written yet; its memory is used again.
    text: Vec<u8>,
}

impl Work<'_> {
    fn all(&mut self, write: &mut Sink<'_>) -> std::result::Result<(), Failure> {
        let images = self.options.files.iter().map(|file| is_png(file)).collect::<Result<Vec<bool>>>()?;
        let names_files = self.options.files.len() > 1 || images.contains(&true);
        // Nothing is written before something is predicted.
        let mut header = self.lines.header(names_files, self.options.id.as_deref());
        let write = &mut |bytes: &[u8]| {
            if let Some(header) = header.take() {
                write(&header)?;
            }
            write(bytes)
        };
        for (file, is_image) in self.options.files.iter().zip(images) {
            let name = names_files.then_some(file.as_path());
            if is_image {
                let features = self.image(file)?;
                let predictions = self.predict(file, 0, features, &[])?;
                self.write(name, &predictions, &[], write)?;
            } else {
                self.rows(file, name, write)?;
            }
        }
        Ok(())
    }

    /// A file of rows, block by block.
    fn rows(
        &mut self,
        file: &Path,
        name: Option<&Path>,
        write: &mut Sink<'_>,
    ) -> std::result::Result<(), Failure> {
        let columns = Selection {
            target: Target::Absent,
            schema: self.model.meaning.schema.clone(),
            id: self.options.id.clone(),
            ..Selection::default()
        };
        let format: Written = self.options.written.format();
        let mut reader =
            Reader::open_unlabelled(file, &ReadOptions { columns, format, ..ReadOptions::default() })?;
        self.predictor.check_inputs(reader.name(), reader.inputs())?;
        let mut rows = 0;
        while reader.next_block()? {
            let block = reader.take_block();
            let predictions = self.predict(reader.name(), rows, block.features, reader.dictionaries())?;
            let outputs = self.model.network.outputs();
            rows += (predictions.classes.len() + predictions.values.len() / outputs) as u64;
            self.write(name, &predictions, &block.ids, write)?;
        }
        Ok(())
    }

    /// Predicts a block of a file before which `rows` others stand, and checks that the network could.
    fn predict(
        &mut self,
        path: &Path,
        rows: u64,
        features: Features,
        dictionaries: &[Dictionary],
    ) -> Result<Predictions> {
        let predictions = self.predictor.predict(features, dictionaries)?;
        let outputs = self.model.network.outputs();
        let probability = predictions.probabilities.iter().position(|probability| !probability.is_finite());
        let number = probability.or_else(|| predictions.values.iter().position(|value| !value.is_finite()));
        match number {
            Some(number) => {
                let sample = rows + 1 + (number / outputs) as u64;
                Err(Error::NonFinitePrediction { path: path.to_owned(), sample })
            }
            None => Ok(predictions),
        }
    }

    /// A picture as the model's images are.
    fn image(&self, file: &Path) -> Result<Features> {
        let inputs = self.model.network.columns();
        let square = (inputs.isqrt().pow(2) == inputs).then_some((inputs.isqrt(), inputs.isqrt()));
        let is_image = self.model.transform == tinytrain::data::Transform::Bytes;
        let Some((height, width)) = self.model.meaning.image.or(square.filter(|_| is_image)) else {
            let text = format!(
                "{}: expected a table, found a PNG file; the model is not one of images",
                file.display()
            );
            return Err(Error::Config(text));
        };
        Ok(Features::Bytes(read_png(file, height, width, self.options.invert)?))
    }

    fn write(
        &mut self,
        file: Option<&Path>,
        predictions: &Predictions,
        ids: &[String],
        write: &mut Sink<'_>,
    ) -> std::result::Result<(), Failure> {
        self.text.clear();
        self.lines.append(file.map(Path::to_string_lossy).as_deref(), predictions, ids, &mut self.text);
        write(&self.text)
    }
}
