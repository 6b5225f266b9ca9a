//! The program as users run it, in a separate folder, and small data for it.
#![allow(dead_code, reason = "each test program uses a part")]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

/// Width and height of images, in pixels.
pub const SIDE: usize = 8;
/// Number of classes of the small data.
pub const CLASSES: usize = 4;

/// A working folder.
pub struct Workplace {
    folder: TempDir,
}

/// Result of a run of the program.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Workplace {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Creates a folder with `data`: 400 training rows and 200 test rows, as IDX.
    pub fn with_data() -> Self {
        let place = Self::new();
        place.write_idx("data/train", &Rows::new(400, 1));
        place.write_idx("data/t10k", &Rows::new(200, 2));
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    pub fn write_idx(&self, part: &str, rows: &Rows) {
        self.write(&format!("{part}-images-idx3-ubyte"), rows.images());
        self.write(&format!("{part}-labels-idx1-ubyte"), rows.labels());
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinytrain"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        // Tests must not use the user's cache.
        command.env("TINYTRAIN_CACHE", "");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Outcome {
        let output = self.command(arguments).output().unwrap();
        Outcome {
            code: output.status.code().expect("no signal ended it"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the program, which must succeed.
    #[track_caller]
    pub fn succeed(&self, arguments: &[&str]) -> Outcome {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
        outcome
    }

    /// Evaluates a model on a file by the CPU engine, and returns the JSON.
    #[track_caller]
    pub fn evaluated(&self, model: &str, data: &str) -> Value {
        let common = ["eval", "--device", "cpu", "--format", "json"];
        self.succeed(&[&common[..], &["--model", model, "--data", data]].concat()).objects().remove(0)
    }

    /// Runs `train` with these and some common options, and returns its JSON.
    #[track_caller]
    pub fn train(&self, arguments: &[&str]) -> Vec<Value> {
        let common = ["train", "--hidden", "12", "--batch-size", "20", "--format", "json"];
        self.succeed(&[&common[..], arguments].concat()).objects()
    }

    /// Reads a model file, or the model of a run.
    #[track_caller]
    pub fn model(&self, name: &str) -> SavedModel {
        let path = self.path(name);
        let path = if path.is_dir() { path.join("model.safetensors") } else { path };
        let bytes = std::fs::read(path).unwrap();
        let (length, rest) = bytes.split_at(8);
        let (header, tensors) = rest.split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
        let header: Value = serde_json::from_slice(header).unwrap();
        let metadata = serde_json::from_str(header["__metadata__"]["tinytrain"].as_str().unwrap()).unwrap();
        SavedModel { header, metadata, tensors: tensors.to_vec() }
    }

    /// Returns every file and folder below.
    pub fn entries(&self) -> BTreeSet<PathBuf> {
        fn gather(folder: &Path, found: &mut BTreeSet<PathBuf>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    gather(&path, found);
                }
                found.insert(path);
            }
        }
        let mut found = BTreeSet::new();
        gather(self.folder.path(), &mut found);
        found
    }

    /// Returns the adapters of a backend that `devices` lists.
    pub fn adapters(&self, backend: &str) -> Vec<Value> {
        let list: Vec<Value> =
            serde_json::from_str(&self.succeed(&["devices", "--format", "json"]).stdout).unwrap();
        list.into_iter().filter(|adapter| adapter["backend"] == backend).collect()
    }
}

/// A model file: its header, its metadata, and the bytes of its tensors.
pub struct SavedModel {
    pub header: Value,
    pub metadata: Value,
    pub tensors: Vec<u8>,
}

impl SavedModel {
    /// Returns a value of the metadata, by its JSON pointer.
    #[track_caller]
    pub fn at(&self, pointer: &str) -> &Value {
        self.metadata.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {}", self.metadata))
    }

    /// Returns a setting of the run.
    #[track_caller]
    pub fn setting(&self, name: &str) -> &str {
        self.at(&format!("/settings/{name}")).as_str().unwrap()
    }

    /// Returns the names of the inputs, as a JSON array.
    pub fn columns(&self) -> String {
        let inputs = self.at("/data/schema/inputs").as_array().unwrap().iter();
        Value::from_iter(inputs.map(|input| input["name"].clone())).to_string()
    }

    /// Returns the sizes of the layers of the first network, inputs first.
    pub fn sizes(&self) -> Vec<u64> {
        let layers = self.at("/networks/0/layers").as_array().unwrap();
        let units = layers.iter().map(|layer| layer["units"].as_u64().unwrap());
        [self.at("/networks/0/inputs").as_u64().unwrap()].into_iter().chain(units).collect()
    }

    /// Returns `center` or `width` of each numeric column that is scaled linearly.
    pub fn scaling(&self, name: &str) -> Vec<f64> {
        let columns = self.at("/transform/columns/columns").as_array().unwrap().iter();
        columns.filter_map(|column| column["number"]["map"]["affine"][name].as_f64()).collect()
    }

    /// Returns a tensor of f64.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        let place = |index: usize| self.header[name]["data_offsets"][index].as_u64().unwrap() as usize;
        let words = self.tensors[place(0)..place(1)].chunks_exact(8);
        words.map(|word| f64::from_le_bytes(word.try_into().unwrap())).collect()
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut header = self.header.clone();
        header["__metadata__"]["tinytrain"] = self.metadata.to_string().into();
        let header = header.to_string();
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &self.tensors[..]].concat()
    }
}

impl Outcome {
    /// Returns the only line on standard error.
    #[track_caller]
    pub fn error(&self) -> &str {
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        self.stderr.trim_end()
    }

    /// Parses standard output, one object per line.
    #[track_caller]
    pub fn objects(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| {
                let value: Value =
                    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
                assert!(value.is_object(), "{line}");
                value
            })
            .collect()
    }
}

/// Returns numbers from 0 to 1.
pub fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    }
}

/// Rows of three numbers of very different sizes, of three classes: the first two determine the class, the
/// third is noise.
pub struct Points {
    pub values: Vec<[f64; 3]>,
    pub classes: Vec<usize>,
}

impl Points {
    pub fn new(count: usize, seed: u64) -> Self {
        let mut noise = noise(seed);
        let classes: Vec<usize> = (0..count).map(|_| (noise() * 3.0) as usize).collect();
        let mut value = |middle: f64, width: f64| {
            let value = middle + width * (noise() - 0.5);
            // Rounded to the digits of a table.
            (value * 1e4).round() / 1e4
        };
        let values = classes
            .iter()
            .map(|class| {
                let class = *class as f64;
                [value(class - 1.0, 2.0), value(5e3 + 1e3 * (class - 1.0).abs(), 1e3), value(0.0, 0.01)]
            })
            .collect();
        Self { values, classes }
    }

    pub fn sorted(mut self) -> Self {
        let mut rows: Vec<_> = self.classes.iter().copied().zip(self.values.iter().copied()).collect();
        rows.sort_by_key(|(class, _)| *class);
        (self.classes, self.values) = rows.into_iter().unzip();
        self
    }

    /// Returns rows without a header, the name of the class last.
    pub fn rows(&self, names: [&str; 3]) -> String {
        self.values
            .iter()
            .zip(&self.classes)
            .map(|([a, b, c], class)| format!("{a},{b},{c},{}\n", names[*class]))
            .collect()
    }

    /// Returns the same with a header: `a,b,c,kind`.
    pub fn csv(&self, names: [&str; 3]) -> String {
        "a,b,c,kind\n".to_owned() + &self.rows(names)
    }
}

/// Rows of 8 x 8 pixels, many of them black: the label is the quarter that is bright.
pub struct Rows {
    pub pixels: Vec<[u8; SIDE * SIDE]>,
    pub classes: Vec<u8>,
}

impl Rows {
    pub fn new(count: usize, seed: u64) -> Self {
        let mut state = seed;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        let classes: Vec<u8> = (0..count).map(|_| (noise() % CLASSES) as u8).collect();
        let pixels = classes
            .iter()
            .map(|class| {
                std::array::from_fn(|index| {
                    let quarter = index / (SIDE * SIDE / 2) * 2 + index % SIDE / (SIDE / 2);
                    let light = if quarter == usize::from(*class) { 90 } else { 0 };
                    Some(light + noise() % 160).filter(|pixel| *pixel >= 64).unwrap_or(0) as u8
                })
            })
            .collect();
        Self { pixels, classes }
    }

    pub fn images(&self) -> Vec<u8> {
        idx(&[self.pixels.len() as u32, SIDE as u32, SIDE as u32], &self.pixels.concat())
    }

    pub fn labels(&self) -> Vec<u8> {
        idx(&[self.classes.len() as u32], &self.classes)
    }

    /// Returns CSV with a header and the label first.
    pub fn csv(&self) -> String {
        let names: Vec<String> = (0..SIDE * SIDE).map(|index| format!("p{index}")).collect();
        let mut text = format!("class,{}\n", names.join(","));
        for (class, pixels) in self.classes.iter().zip(&self.pixels) {
            let cells: Vec<String> = pixels.iter().map(u8::to_string).collect();
            text += &format!("{class},{}\n", cells.join(","));
        }
        text
    }

    /// Returns CSV with a header and the label last.
    pub fn csv_label_last(&self) -> String {
        let turned = |line: &str| {
            let (first, rest) = line.split_once(',').unwrap();
            format!("{rest},{first}\n")
        };
        self.csv().lines().map(turned).collect()
    }
}

/// Returns an IDX file of unsigned bytes.
pub fn idx(dimensions: &[u32], values: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, dimensions.len() as u8];
    dimensions.iter().for_each(|size| bytes.extend(size.to_be_bytes()));
    bytes.extend(values);
    bytes
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
