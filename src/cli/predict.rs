//! `tinytrain predict`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::data::{
    self, Features, Format as TableFormat, ImageForm, ReadOptions, Reader, Selection, Target, data_paths,
    image_form, images_in, is_image, read_image,
};
use crate::engine::predicts_soon;
use crate::model::Model;
use crate::prediction_lines::{Form, Lines};
use crate::threads::{available, in_order};
use crate::train::{OutputDecoder, Predictions, Predictor, apply_threshold};
use crate::{Error, Result};
use clap::Args;

use super::devices::DeviceChoice;
use super::model_choice::ModelChoice;
use super::output::{shown, warn, wrote};
use super::output_place::{destination, ending_of};
use super::{args, table_options};
use crate::report::text::{counted, shell_word, unknown_cells};

/// Predict with a model.
///
/// Writes one line per row: the class and the probability of each class, each label of 0 or 1 and its probability,
/// or the values. Columns are matched by name, in any order, or by position if there are no names. Labels are not
/// needed. Files of any size are read and written row by row.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinytrain predict --model model.safetensors new.csv --out predictions.csv\n  \
                        tinytrain predict --model model.safetensors --invert digit.png"
)]
pub struct Options {
    /// Model file, or the folder of a run or sweep.
    #[arg(long, value_name = "FILE-or-DIR")]
    model: PathBuf,
    #[command(flatten)]
    which: ModelChoice,
    /// Tables, IDX files, or PNG and JPEG images of any size for a model of images, or folders of them; `-` is a table on
    /// standard input.
    ///
    /// The images of a folder and of the folders in it are predicted in the order of their names, which are in the column
    /// `file`.
    #[arg(value_name = "FILE-or-DIR", required = true)]
    files: Vec<PathBuf>,
    /// File for the predictions. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Output format: CSV with a header, or one JSON object per line.
    #[arg(long, value_enum, default_value_t = Form::Csv)]
    format: Form,
    /// Column to copy in front of each prediction: a name or index.
    #[arg(long, value_name = "COLUMN", value_parser = args::column, allow_hyphen_values = true)]
    id: Option<String>,
    /// Swap light and dark in images.
    ///
    /// Models of MNIST expect light digits on black.
    #[arg(long)]
    invert: bool,
    /// Refuse images that would have to be resized or turned grey.
    #[arg(long)]
    strict: bool,
    /// Predict the second of two classes from this probability on. [default: the more probable class]
    #[arg(long, hide_short_help = true, value_name = "X", value_parser = args::probability, allow_hyphen_values = true)]
    threshold: Option<f64>,
    /// Predict each image from N distorted copies, by the mean of their probabilities.
    ///
    /// The distortions are half as large as the ones of --augment in training.
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = args::copies, allow_hyphen_values = true)]
    augment_test: Option<usize>,
    #[command(flatten)]
    device: DeviceChoice,
    /// Maximum number of threads. Does not affect results. [default: one per core, at most 8 to read and write]
    #[arg(long, short = 'j', value_name = "N", value_parser = args::threads, allow_hyphen_values = true)]
    threads: Option<usize>,
    #[command(flatten)]
    written: table_options::DialectOptions,
}

/// Predicts and prints.
///
/// # Errors
/// Errors of the model, the data, the device and the output.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let (model, model_file) = options.which.load(&options.model)?;
    let out = options.out.as_deref().map(|path| destination("--out", path)).transpose()?;
    let files = expanded(&options.files)?;
    let data = files.iter().map(|file| (file.as_path(), "which holds the data"));
    let model_file = [(model_file.as_path(), "which is the model")];
    data_paths::spare_files("--out", options.out.as_deref(), data.chain(model_file))?;
    options.out.as_deref().map_or(Ok(()), |out| refuse_name(options.format, out))?;
    // The number of rows is unknown; reading and writing this number takes longer than opening a GPU.
    const ROWS: usize = 100_000;
    let device = options.device.find(predicts_soon(&model.network, ROWS))?;
    let (lines, reading) = (Lines::new(options.format, &model), OutputDecoder::new(&model));
    let predictor = Predictor::of_copies(&model, &device, options.threads, options.augment_test)?;
    let mut work = Work { options, files: &files, model: &model, predictor, lines, reading };
    let written = match out {
        // Failed predictions leave no partial file.
        Some(out) => out.write_with(|file| work.all(file)),
        None => work.all(io::stdout()),
    };
    let unknown = unknown_cells(
        work.predictor.unknown_cells(),
        model.data_schema.schema.as_ref(),
        "the predicted rows",
    );
    unknown.iter().for_each(|line| warn(line));
    written?;
    options.out.as_deref().into_iter().for_each(wrote);
    Ok(())
}

/// Receives blocks to be written; returns whether more blocks are wanted.
type Push<'a, 'b> = dyn FnMut(Block<'b>) -> bool + 'a;

/// Default maximum number of threads that write lines: more would wait for reading and prediction.
const MOST_THREADS: usize = 8;

/// Rows between the network and the output.
struct Block<'a> {
    /// The file, if lines name it.
    file: Option<&'a Path>,
    /// The file, or its replacement in messages.
    name: PathBuf,
    /// Number of rows of the file before this block.
    before: u64,
    outputs: Vec<f32>,
    /// The copied cell of each row, with `--id`.
    ids: Vec<String>,
}

/// Prediction and output of all files.
struct Work<'a> {
    options: &'a Options,
    files: &'a [PathBuf],
    model: &'a Model,
    predictor: Predictor,
    lines: Lines,
    reading: OutputDecoder,
}

impl Work<'_> {
    /// Predicts all files on this thread, block by block, while other threads format and write earlier
    /// blocks.
    fn all(&mut self, out: impl Write + Send) -> Result<()> {
        let Self { options, files, model, predictor, lines, reading } = self;
        let images = files.iter().map(is_image).collect::<Result<Vec<bool>>>()?;
        let of_images = files.iter().zip(&images).filter(|(_, is_image)| **is_image);
        let pictures: Vec<&PathBuf> = of_images.map(|(file, _)| file).collect();
        let form = pictures.first().map(|first| form_for(model, first)).transpose()?;
        form.map_or(Ok(()), |form| tell_changes(&pictures, form, options.strict))?;
        let names_files = files.len() > 1 || !pictures.is_empty();
        // Nothing is written before the first prediction.
        let mut header = lines.header(names_files, options.id.as_deref());
        let mut out = io::BufWriter::new(out);
        let write = |text: Vec<u8>| {
            let data = [header.take().unwrap_or_default(), text].concat();
            let data = if options.out.is_none() { shown(data) } else { data };
            out.write_all(&data).map_err(Error::Output)
        };
        let (lines, reading) = (&*lines, &*reading);
        let threads = options.threads.unwrap_or_else(|| available().min(MOST_THREADS));
        in_order(
            threads,
            |block| text(lines, reading, options.threshold, block),
            write,
            |push| {
                for (file, is_image) in files.iter().zip(images) {
                    let named = names_files.then_some(file.as_path());
                    let wanted = if let Some(form) = form.filter(|_| is_image) {
                        let pixels = Features::Bytes(read_image(file, form, options.invert)?);
                        let outputs = predictor.outputs(pixels, &[])?;
                        push(Block { file: named, name: file.clone(), before: 0, outputs, ids: Vec::new() })
                    } else {
                        rows(options, model, predictor, file, named, push)?
                    };
                    if !wanted {
                        break;
                    }
                }
                Ok(())
            },
        )?;
        out.flush().map_err(Error::Output)
    }
}

/// Replaces folders by the images in them.
fn expanded(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let of = |file: &PathBuf| if file.is_dir() { images_in(file) } else { Ok(vec![file.clone()]) };
    Ok(files.iter().map(of).collect::<Result<Vec<Vec<PathBuf>>>>()?.concat())
}

/// Predicts a file of rows, block by block; returns whether more is wanted.
fn rows<'a>(
    options: &Options,
    model: &Model,
    predictor: &mut Predictor,
    file: &Path,
    named: Option<&'a Path>,
    push: &mut Push<'_, 'a>,
) -> Result<bool> {
    let columns = Selection {
        target: Target::Absent,
        schema: model.data_schema.schema.clone(),
        id: options.id.clone(),
        ..Selection::default()
    };
    let format: TableFormat = options.written.format();
    let images = model.data_schema.image_options();
    let read = ReadOptions { columns, format, images, threads: options.threads, ..ReadOptions::default() };
    let mut reader = Reader::open_unlabelled(file, &read)?;
    reader.table_notices().iter().for_each(|line| warn(line));
    predictor.check_inputs(reader.name(), reader.inputs())?;
    let mut before = 0;
    while reader.wait_for_rows()? {
        if before == 0 {
            predictor.refuse_header(&reader)?;
        }
        let data::Block { features, ids } = reader.take_block();
        let outputs = predictor.outputs(features, reader.dictionaries())?;
        let rows = outputs.len() / model.network.outputs();
        if !push(Block { file: named, name: reader.name().to_owned(), before, outputs, ids }) {
            return Ok(false);
        }
        before += rows as u64;
    }
    Ok(true)
}

/// Returns the lines of a block, if the network could predict its rows.
fn text(lines: &Lines, reading: &OutputDecoder, threshold: Option<f64>, block: Block<'_>) -> Result<Vec<u8>> {
    let mut predictions = reading.predictions(block.outputs);
    threshold.map_or(Ok(()), |threshold| apply_threshold(&mut predictions, threshold))?;
    let Predictions { probabilities, values, .. } = &predictions;
    let probability = probabilities.iter().position(|probability| !probability.is_finite());
    let number = probability.or_else(|| values.iter().position(|value| !value.is_finite()));
    if let Some(number) = number {
        let sample = block.before + 1 + (number / reading.outputs()) as u64;
        return Err(Error::NonFinitePrediction { path: block.name, sample });
    }
    let mut text = Vec::new();
    lines.append(block.file.map(Path::to_string_lossy).as_deref(), &predictions, &block.ids, &mut text);
    Ok(text)
}

/// Returns the form of the model's images, to which image files are converted.
fn form_for(model: &Model, file: &Path) -> Result<ImageForm> {
    let inputs = model.network.columns();
    let square = ImageForm { height: inputs.isqrt(), width: inputs.isqrt(), colour: false };
    let is_image = model.transform == crate::data::Transform::Bytes && square.values() == inputs;
    model.data_schema.image.or(is_image.then_some(square)).ok_or_else(|| {
        let file = file.display();
        Error::Config(format!("{file}: expected a table, found an image; the model is not one of images"))
    })
}

/// Prints once that images differ from the training images, or rejects them.
fn tell_changes(files: &[&PathBuf], wanted: ImageForm, is_strict: bool) -> Result<()> {
    let mut others = Vec::new();
    for file in files {
        let found = image_form(file)?;
        // A model of colour images accepts grey ones.
        if (found.height, found.width) != (wanted.height, wanted.width) || found.colour && !wanted.colour {
            others.push((file.display(), found));
        }
    }
    let Some((file, found)) = others.first() else { return Ok(()) };
    if is_strict {
        let expected = format!("{wanted}, as the model's images are");
        return Err(Error::Config(format!("{file}: expected {expected} (--strict), found {found}")));
    }
    let more = match others.len() - 1 {
        0 => String::new(),
        more => format!(" (and {} more)", counted(more as u64, "file", "files")),
    };
    warn(&format!(
        "{file}{more} has {found}; it is converted to {wanted}, the form of the model's images; use --strict to refuse such files"
    ));
    Ok(())
}

/// Endings of names for formats other than CSV and JSON, and for JSON.
const OTHERS: &str = "parquet arrow feather npz npy safetensors idx xlsx tsv gz zst zip";
const JSON: &str = "json jsonl ndjson";

/// Rejects a file name whose ending contradicts the format.
///
/// # Errors
/// [`Error::Config`].
fn refuse_name(form: Form, out: &Path) -> Result<()> {
    let is_other = ending_of(out, OTHERS).is_some();
    let (what, remedy) = match form {
        Form::Csv if ending_of(out, JSON).is_some() => ("CSV", "; use --format json to write JSON"),
        Form::Csv if is_other => ("CSV", ""),
        Form::Json if is_other => ("JSON", ""),
        _ => return Ok(()),
    };
    let out = shell_word(out);
    Err(Error::Config(format!(
        "--out: expected a file name for {what}, the output format, found {out}{remedy}"
    )))
}
