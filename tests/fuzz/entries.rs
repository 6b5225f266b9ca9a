//! A function for each reader that accepts any bytes, shared by the bounded run of `tests/fuzz.rs` and the
//! targets of `cargo fuzz`. A function panics if a guarantee is violated; rejected bytes are not a failure.

use std::cell::RefCell;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use tinytrain::data::{
    Features, Format, ImageForm, ReadOptions, Reader, Scale, Selection, Source, Split, Target, TargetsRef,
    read_image,
};
use tinytrain::engine::Device;
use tinytrain::export::{Form, export};
use tinytrain::ndarray::Array2;
use tinytrain::sweep::{Range, Settings, Space, Values};
use tinytrain::train::{Checkpoint, Config, DataOptions, Run, TrainingData};
use tinytrain::{Error, Model, Result};

/// A reader.
pub struct Entry {
    /// Name of the reader, also of its `cargo fuzz` target.
    pub name: &'static str,
    /// Reads bytes, checks the result, and returns whether they were accepted.
    pub run: fn(&[u8]) -> bool,
    /// Limit of memory for reading: a constant, and bytes per byte of input.
    pub memory: (usize, usize),
}

/// Maximum expansion of a byte of gzip. The expansion of zstd, 32,768 times, is bounded by the number of
/// bytes instead.
const PACKED: usize = 1032;

/// Limit for tables: waiting pieces and blocks, independent of the length; then text, rows, columns and
/// labels, their statistics and the rows as inputs.
const TABLE: (usize, usize) = (48 << 20, 2000);

/// All readers.
pub const ENTRIES: [Entry; 12] = [
    Entry { name: "idx", run: idx, memory: (4 << 20, 100) },
    Entry { name: "idx_packed", run: idx, memory: (16 << 20, 4 * PACKED) },
    Entry { name: "table", run: table, memory: TABLE },
    Entry { name: "gzip", run: packed, memory: (TABLE.0, 64 * PACKED) },
    Entry { name: "zstd", run: packed, memory: (TABLE.0, 64 * PACKED) },
    Entry { name: "npz", run: npz, memory: (TABLE.0, 64 * PACKED) },
    Entry { name: "png", run: image, memory: (4 << 20, 34 * PACKED) },
    Entry { name: "jpeg", run: image, memory: (4 << 20, 34 * PACKED) },
    Entry { name: "model", run: model, memory: (16 << 20, 500) },
    Entry { name: "checkpoint", run: checkpoint, memory: (4 << 20, 100) },
    Entry { name: "resume", run: resume, memory: (64 << 20, 500) },
    Entry { name: "space", run: space, memory: (4 << 20, 1000) },
];

/// Name of files in messages.
const NAME: &str = "f";

/// Checks that an error is one line of a bounded length, without control characters, and has the exit code of
/// bad input.
#[track_caller]
fn check_refusal(error: &Error) {
    let line = error.to_string();
    assert!(!line.chars().any(char::is_control), "{line:?}");
    assert!(line.chars().count() < 1500, "{} characters: {line}", line.chars().count());
    assert_eq!(error.exit_code(), 2, "{line}");
}

/// Returns the result, or `None` after a valid rejection.
#[track_caller]
fn accepted<T>(read: Result<T>) -> Option<T> {
    read.inspect_err(check_refusal).ok()
}

/// Writes bytes to a file, for readers of files only.
fn with_file<T>(bytes: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    thread_local! {
        static FILE: RefCell<Option<NamedTempFile>> = const { RefCell::new(None) };
    }
    FILE.with_borrow_mut(|file| {
        // In memory, if the system has such a folder: a disk would be the slowest part.
        let folder = Some(Path::new("/dev/shm")).filter(|folder| folder.is_dir());
        let folder = folder.map_or_else(std::env::temp_dir, Path::to_owned);
        let file = file.get_or_insert_with(|| NamedTempFile::new_in(folder).expect("a temporary file"));
        std::fs::write(file.path(), bytes).expect("room for a temporary file");
        read(file.path())
    })
}

/// Splits bytes into two files: the first two bytes, little endian, are the length of the first.
pub fn two(bytes: &[u8]) -> (&[u8], &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk() else { return (&[], bytes) };
    rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()))
}

/// Reads labels and images of IDX, from streams and, the images, from a file.
fn idx(bytes: &[u8]) -> bool {
    let (labels, images) = two(bytes);
    let stream = |bytes: &[u8]| Cursor::new(bytes.to_vec());
    let (images_name, labels_name) = (Path::new("i"), Path::new("l"));
    let options = ReadOptions::default();
    let read = Reader::from_idx(images_name, stream(images), labels_name, stream(labels), &options);
    let is_read = check_rows(read, true);
    with_file(images, |path| check_rows(Reader::open_unlabelled(path, &options), false)) || is_read
}

/// Reads and checks all rows of a reader that opens; returns whether they are complete.
fn check_rows(opened: Result<Reader>, is_labelled: bool) -> bool {
    let Some(mut reader) = accepted(opened.and_then(|mut reader| reader.read_to_end().map(|()| reader)))
    else {
        return false;
    };
    let (rows, inputs) = (reader.rows(), reader.inputs());
    assert!(rows > 0 && inputs > 0 && reader.is_complete());
    assert_eq!(reader.total_rows(), Some(rows));
    assert!(reader.schema().is_none() || reader.summaries().len() == inputs);
    if is_labelled {
        check_labelled(&reader);
    } else {
        assert_eq!(reader.take_block().features.len(), rows * inputs);
    }
    true
}

/// Checks rows that have labels, or values to predict.
fn check_labelled(reader: &Reader) {
    let rows = reader.rows();
    let view = reader.view(tinytrain::data::Scaling::AsIs);
    assert_eq!(view.features.len(), rows * reader.inputs());
    if let Features::Floats(values) = view.features {
        assert!(!values.iter().any(|value| value.is_infinite()));
    }
    match view.targets {
        TargetsRef::Classes(labels) => {
            assert_eq!(labels.len(), rows);
            let classes = reader.classes();
            assert!(labels.iter().all(|label| (*label as usize) < classes.len()));
            assert!(classes.names().iter().zip(0..).all(|(name, class)| classes.find(name) == Some(class)));
        }
        TargetsRef::Values { columns, values } => {
            assert_eq!(values.len(), rows * columns);
            assert!(values.iter().all(|value| value.is_finite()));
        }
    }
    assert!(view.weights.is_empty() || view.weights.len() == rows);
    assert!(view.weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0));
}

/// Returns options of a table and of its encoding from three bytes.
fn table_options([first, second, third]: [u8; 3]) -> (ReadOptions, DataOptions) {
    let is = |byte: u8, bit: u32| byte >> bit & 1 == 1;
    let column = |wanted: bool, index: &str| wanted.then(|| index.to_owned());
    let target = match first & 7 {
        0 | 1 => Target::Auto,
        2 => Target::Column("0".to_owned()),
        3 => Target::Column("-1".to_owned()),
        4 => Target::Values(vec!["0".to_owned()]),
        5 => Target::Values(vec!["b".to_owned(), "-1".to_owned()]),
        6 => Target::Column("class".to_owned()),
        _ => Target::Absent,
    };
    let columns = Selection {
        target,
        infer_values: is(first, 3),
        refuse_missing: is(first, 4) && is(first, 5),
        categorical: column(is(first, 6), "1").into_iter().collect(),
        exclude: column(is(first, 7), "2").into_iter().collect(),
        id: column(second & 7 == 7, "1"),
        weight: column(second & 7 == 6, "1"),
        group: column(second & 7 == 5, "1"),
        time: column(second & 7 == 4, "1"),
        ..Selection::default()
    };
    let format = Format {
        header: [None, None, Some(true), Some(false)][usize::from(second >> 3 & 3)],
        delimiter: [None, None, None, None, Some(b';'), Some(b'\t'), Some(b' '), Some(b',')]
            [usize::from(second >> 5)],
        decimal: [None, None, Some(b','), Some(b'.')][usize::from(third & 3)],
        row_limit: if is(third, 2) { 200 } else { Format::default().row_limit },
        missing: column(is(third, 3), "-99").into_iter().collect(),
        replaces_missing: is(third, 5),
    };
    let read = ReadOptions {
        columns,
        format,
        threads: Some(1 + usize::from(is(third, 4))),
        timed: false,
        ..ReadOptions::default()
    };
    let share = if is(third, 5) { 0.3 } else { 0.0 };
    let data = DataOptions {
        scale: Scale::ALL[usize::from(third >> 6 & 3)],
        split: Split { validation: share, ..Split::default() },
        standardise_targets: is(third, 5),
        ..DataOptions::default()
    };
    (read, data)
}

/// Reads a table in any dialect: three bytes of options, then its text.
fn table(bytes: &[u8]) -> bool {
    let Some((settings, text)) = bytes.split_first_chunk() else { return false };
    let (options, data) = table_options(*settings);
    let open = || Reader::from_csv(Path::new(NAME), Cursor::new(text.to_vec()), &options);
    let is_labelled = options.columns.target != Target::Absent;
    if !check_rows(open(), is_labelled) {
        return false;
    }
    // Preparation for training.
    let prepared =
        is_labelled.then(|| open().and_then(|reader| TrainingData::new(reader, None, None, &data)));
    if let Some(data) = prepared.and_then(accepted) {
        let view = data.view();
        if let Features::Floats(values) = view.features {
            assert!(values.iter().all(|value| value.is_finite()));
        }
        assert_eq!(view.features.len(), view.len() * view.inputs);
    }
    true
}

/// Reads a compressed table.
fn packed(bytes: &[u8]) -> bool {
    check_rows(Reader::from_csv(Path::new(NAME), Cursor::new(bytes.to_vec()), &ReadOptions::default()), true)
}

/// Reads an archive of arrays as a table.
fn npz(bytes: &[u8]) -> bool {
    with_file(bytes, |path| {
        check_rows(Reader::open(&Source::Csv { path: path.to_owned() }, &ReadOptions::default()), true)
    })
}

/// Reads an image.
fn image(bytes: &[u8]) -> bool {
    let sizes = [(7, 5, false), (1, 40, true)];
    with_file(bytes, |path| {
        sizes.map(|(height, width, invert)| {
            let image = accepted(read_image(path, ImageForm { height, width, colour: invert }, invert));
            image.map(|image| assert_eq!(image.len(), height * width * if invert { 3 } else { 1 })).is_some()
        })
    }) == [true; 2]
}

/// Reads a model, writes and reads it again, uses and exports it.
fn model(bytes: &[u8]) -> bool {
    let path = PathBuf::from(NAME);
    let Some(model) = accepted(Model::from_bytes(bytes, &path)) else { return false };
    let again = model.to_bytes().expect("what was read can be written");
    assert_eq!(Model::from_bytes(&again, &path).expect("what was written can be read"), model);
    for form in [Form::Onnx, Form::OnnxNamed, Form::C] {
        accepted(export(&model, form, "m"));
    }
    let columns = model.transform.columns(model.network.columns());
    for value in [0.0, 1.0, -1e30] {
        let rows = Array2::from_elem((2, columns), value);
        match model.predict(&rows) {
            Ok(predicted) => {
                assert!(predicted.classes.iter().all(|class| (*class as usize) < model.network.outputs()));
                assert!(predicted.probabilities.iter().all(|share| (0.0..=1.0).contains(share)));
                assert!(predicted.values.iter().all(|value| value.is_finite()));
            }
            Err(Error::NonFinitePrediction { .. }) => {}
            Err(error) => check_refusal(&error),
        }
    }
    for target in [Target::Auto, Target::Absent] {
        let columns = Selection { schema: model.data_schema.schema.clone(), target, ..Selection::default() };
        let options = ReadOptions { columns, threads: Some(1), ..ReadOptions::default() };
        let text = "a,b,kind\n1,x,no\n2,y,yes\n";
        let is_labelled = options.columns.target != Target::Absent;
        check_rows(Reader::from_csv(Path::new(NAME), Cursor::new(text), &options), is_labelled);
    }
    true
}

/// Reads a checkpoint, writes and reads it again.
fn checkpoint(bytes: &[u8]) -> bool {
    let path = PathBuf::from(NAME);
    let Some(checkpoint) = accepted(Checkpoint::from_bytes(bytes, &path)) else { return false };
    let again = checkpoint.to_bytes().expect("what was read can be written");
    let read = Checkpoint::from_bytes(&again, &path).expect("what was written can be read");
    // NaN in the optimizer state is not equal to itself.
    assert_eq!(read.to_bytes().ok(), Some(again));
    true
}

/// Returns the run that [`resume`] continues, before its first event.
pub fn run_to_resume() -> Run {
    let rows = (0..60).map(|row| format!("{},{},{}\n", row % 7, row * row % 11, row % 2));
    let text: String = ["a,b,class\n".to_owned()].into_iter().chain(rows).collect();
    let options = ReadOptions { threads: Some(1), ..ReadOptions::default() };
    let reader = Reader::from_csv(Path::new("run.csv"), Cursor::new(text), &options).expect("a table");
    let optimizer = tinytrain::OptimizerKind::Adam.defaults();
    let split = Split { validation: 0.2, ..Split::default() };
    let data = DataOptions { split, ..DataOptions::default() };
    let config = Config {
        hidden: vec![4],
        epochs: 3,
        batch_size: 16,
        threads: Some(1),
        optimizer,
        data,
        ..Config::default()
    };
    let data = TrainingData::new(reader, None, None, &data).expect("rows to train on");
    Run::new(config, data, Device::Cpu, None).expect("settings of a run")
}

/// Continues a run from a checkpoint to its end.
fn resume(bytes: &[u8]) -> bool {
    let Some(checkpoint) = accepted(Checkpoint::from_bytes(bytes, Path::new(NAME))) else { return false };
    let mut run = run_to_resume();
    let ended = run.resume(checkpoint).and_then(|()| {
        while run.next()?.is_some() {}
        run.summary()
    });
    match ended {
        Ok(summary) => assert!(summary.kept <= summary.epochs.len() && summary.epochs.len() <= 3),
        Err(Error::NonFiniteLoss { .. } | Error::NonFiniteModel { .. } | Error::NonFiniteTest { .. }) => {}
        Err(error) => {
            check_refusal(&error);
            return false;
        }
    }
    true
}

/// Reads the space of a sweep.
fn space(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    let Some(space) = accepted(Space::from_toml(text, Path::new(NAME))) else { return false };
    let check = |settings: &Settings| {
        assert_eq!(settings.len(), space.settings().len());
        for (name, values) in space.settings() {
            let value = &settings[name];
            match values {
                Values::Choice(values) => assert!(values.contains(value)),
                Values::Range(Range { bounds: [low, high], is_whole, .. }) => {
                    let number = value.as_f64().unwrap_or_else(|| panic!("{name}: {value} in {values}"));
                    assert!((*low..=*high).contains(&number), "{name}: {number} in {values}");
                    assert!(!is_whole || value.is_i64() || value.is_u64(), "{name}: {value}");
                }
            }
        }
    };
    (0..20).for_each(|trial| check(&space.sample(3, trial)));
    // A grid has the requested size.
    let points = |values: &Values| match values {
        Values::Choice(values) => values.len(),
        Values::Range(range) => range.points.unwrap_or(1),
    };
    if space.settings().values().map(points).fold(1, usize::saturating_mul) <= 1000
        && let Some(grid) = accepted(space.grid())
    {
        grid.iter().for_each(check);
    }
    true
}

/// Reads bytes as a target of `cargo fuzz` does.
#[allow(dead_code, reason = "the bounded run takes the entries themselves")]
pub fn fuzz(name: &str, bytes: &[u8]) {
    let entry = ENTRIES.iter().find(|entry| entry.name == name).expect("an entry of this name");
    (entry.run)(bytes);
}
