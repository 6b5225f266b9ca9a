//! Small valid files of every format, generated.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use png::{BitDepth, ColorType, Encoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tinytrain::data::{
    Classes, Column, ColumnEncoding, Encoding, ImageForm, NumericScaling, Schema, TargetScale, Transform,
};
use tinytrain::model::{
    DataSchema, Dense, Ensemble, EnsembleMember, InputColumn, InputLayer, Network, Origin, Parameters,
};
use tinytrain::{Activation, Event, Loss, Model};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::entries::run_to_resume;
use crate::jpegs::{COLOUR, GREY, INKS, PROGRESSIVE, RED, bytes};

/// Returns the seeds of an entry.
pub fn of(name: &str) -> Vec<Vec<u8>> {
    match name {
        "idx" => idx(),
        "idx_packed" => idx_packed(),
        "table" => tables().iter().flat_map(|text| with_settings(text)).collect(),
        "gzip" => tables().iter().map(|text| gzip(text.as_bytes())).collect(),
        "zstd" => tables().iter().map(|text| zstd(text.as_bytes())).collect(),
        "npz" => npzs(),
        "png" => pngs(),
        "jpeg" => [GREY, COLOUR, PROGRESSIVE, INKS, RED].map(bytes).into(),
        "model" => models().iter().map(|model| model.to_bytes().unwrap()).collect(),
        "checkpoint" | "resume" => checkpoints(),
        "space" => spaces(),
        name => unreachable!("an entry without seeds: {name}"),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// Returns an array of numbers or of text, in numpy's format.
fn npy(values: &[&str]) -> Vec<u8> {
    let numbers: Result<Vec<f64>, _> = values.iter().map(|value| value.parse::<f64>()).collect();
    let (kind, bytes): (&str, Vec<u8>) = match numbers {
        Ok(numbers) => ("<f8", numbers.into_iter().flat_map(f64::to_le_bytes).collect()),
        Err(_) => {
            let letters =
                |text: &&str| text.chars().map(u32::from).chain([0; 4]).take(4).collect::<Vec<u32>>();
            ("<U4", values.iter().flat_map(letters).flat_map(u32::to_le_bytes).collect())
        }
    };
    let rows = values.len();
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows},), }}\n");
    [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), &bytes].concat()
}

/// Returns tables as archives of arrays.
fn npzs() -> Vec<Vec<u8>> {
    let archive = |columns: &[(&str, &[&str])]| {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, values) in columns {
            let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            archive.start_file(format!("{name}.npy"), stored).unwrap();
            archive.write_all(&npy(values)).unwrap();
        }
        archive.finish().unwrap().into_inner()
    };
    vec![
        archive(&[
            ("a", &["1", "2", "3.5", "NaN"]),
            ("b", &["0", "7", "7", "1"]),
            ("y", &["0", "1", "0", "1"]),
        ]),
        archive(&[("name", &["ant", "bee", "ant", "", "cow"]), ("y", &["1e9", "-2", "0", "0.25", "3"])]),
    ]
}

fn idx_file(dimensions: &[u32], values: &[u8]) -> Vec<u8> {
    let sizes = dimensions.iter().flat_map(|size| size.to_be_bytes());
    [0, 0, 8, dimensions.len() as u8].into_iter().chain(sizes).chain(values.iter().copied()).collect()
}

fn two(first: &[u8], second: &[u8]) -> Vec<u8> {
    [&(first.len() as u16).to_le_bytes(), first, second].concat()
}

fn idx_pairs() -> Vec<[Vec<u8>; 2]> {
    let labels = idx_file(&[6], &[0, 1, 2, 0, 1, 7]);
    let values: Vec<u8> = (0..72).map(|value| value * 3).collect();
    [&[6, 4, 3][..], &[6, 12], &[6, 3, 2, 2]].map(|sizes| [labels.clone(), idx_file(sizes, &values)]).into()
}

fn idx() -> Vec<Vec<u8>> {
    idx_pairs().iter().map(|[labels, images]| two(labels, images)).collect()
}

fn idx_packed() -> Vec<Vec<u8>> {
    let pack =
        |[labels, images]: &[Vec<u8>; 2]| [two(&gzip(labels), &gzip(images)), two(labels, &zstd(images))];
    idx_pairs().iter().flat_map(pack).collect()
}

/// Prepends some combinations of a table's option bytes to its text.
fn with_settings(text: &str) -> Vec<Vec<u8>> {
    let settings =
        [[0, 0, 0], [3, 16, 16], [4, 0, 32], [0x4a, 7, 0x40], [5, 6, 0x28], [7, 4, 0x94], [2, 5, 0xe4]];
    settings.iter().map(|settings| [&settings[..], text.as_bytes()].concat()).collect()
}

fn tables() -> Vec<String> {
    let rows = |count: usize, row: &dyn Fn(usize) -> String| (0..count).map(row).collect::<String>();
    let names = ["ant", "bee", "cow, or \"\"bull\"\"", "dog"];
    vec![
        "a,b,class\n".to_owned() + &rows(20, &|row| format!("{row},{},{}\n", row * 7 % 5, row % 3)),
        rows(12, &|row| format!("{};{},5;{}\n", row % 2, row, 3 - row as i32)),
        "id\ta\tb\ty\n".to_owned()
            + &rows(9, &|row| format!("{row}\t1.{row}e-3\t-{row}\t{}.25\n", row * row)),
        "name,b,weight,class\r\n".to_owned()
            + &rows(16, &|row| format!("\"{}\",{row}.5,NA,{}\r\n", names[row % 4], ["yes", "no"][row % 2])),
        "\u{feff}a,b,c\n".to_owned() + &rows(8, &|row| format!("\"1,{row}34.5\",,{}\n", ["x", "y"][row % 2])),
        "\"quoted\nname\",b,target\n\n".to_owned() + &rows(7, &|row| format!("{row},\"\",{row}.5\n   \n")),
        rows(10, &|row| format!("{} {} {}\n", row % 2, row * 1000, 1e30 * row as f64)),
        "label".to_owned()
            + &rows(64, &|pixel| format!(",p{pixel}"))
            + "\n"
            + &rows(6, &|row| format!("{}{}\n", row % 2, ",200".repeat(64))),
        "date,price,n\n".to_owned() + &rows(12, &|row| format!("2026-01-{:02},1.234,{row}\n", row + 1)),
    ]
}

fn pngs() -> Vec<Vec<u8>> {
    use BitDepth::{Eight, Four, One, Sixteen};
    use ColorType::{Grayscale, GrayscaleAlpha, Indexed, Rgb, Rgba};
    let image = |color: ColorType, depth: BitDepth| {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, 9, 6);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if color == Indexed {
            encoder.set_palette(&[0, 0, 0, 255, 0, 0, 0, 255, 0, 255, 255, 255][..]);
            encoder.set_trns(&[255, 0, 128][..]);
        }
        let mut writer = encoder.write_header().unwrap();
        let line = (9 * color.samples() * depth as usize).div_ceil(8);
        // A palette has at most four colours.
        let value = |at: usize| if color == Indexed { at % 4 } else { at * 37 };
        writer.write_image_data(&(0..6 * line).map(|at| value(at) as u8).collect::<Vec<u8>>()).unwrap();
        writer.finish().unwrap();
        bytes
    };
    let kinds = [
        (Grayscale, Eight),
        (Grayscale, One),
        (Rgb, Sixteen),
        (Rgba, Eight),
        (GrayscaleAlpha, Sixteen),
        (Indexed, Eight),
        (Indexed, Four),
    ];
    let mut all = kinds.map(|(color, depth)| image(color, depth)).to_vec();
    all.push(interlaced());
    let mut animated = Vec::new();
    let mut encoder = Encoder::new(&mut animated, 3, 3);
    encoder.set_animated(2, 0).unwrap();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[7; 9]).unwrap();
    writer.write_image_data(&[9; 9]).unwrap();
    writer.finish().unwrap();
    all.push(animated);
    all
}

/// Nine by six grey pixels in the seven passes of Adam7, each line with a separate filter.
fn interlaced() -> Vec<u8> {
    let mut stream = Vec::new();
    for [column, row, across, down] in [
        [0, 0, 8, 8],
        [4, 0, 8, 8],
        [0, 4, 4, 8],
        [2, 0, 4, 4],
        [0, 2, 2, 4],
        [1, 0, 2, 2],
        [0, 1, 1, 2usize],
    ] {
        for _ in (row..6).step_by(down) {
            stream.push(stream.len() as u8 % 5);
            stream.extend((column..9).step_by(across).map(|column| column as u8 * 30));
        }
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&stream).unwrap();
    let mut bytes = Vec::new();
    let mut info = png::Info::with_size(9, 6);
    (info.color_type, info.bit_depth, info.interlaced) = (ColorType::Grayscale, BitDepth::Eight, true);
    let mut writer = Encoder::with_info(&mut bytes, info).unwrap().write_header().unwrap();
    writer.write_chunk(png::chunk::IDAT, &packed.finish().unwrap()).unwrap();
    drop(writer);
    bytes
}

fn of_network(network: Network, transform: Transform, data_schema: DataSchema) -> Model {
    let parameters = Parameters::he_normal(&network, 3);
    let settings =
        BTreeMap::from([("epochs", "3"), ("version", "0.1.0")].map(|(k, v)| (k.to_owned(), v.to_owned())));
    Model { network, transform, data_schema, parameters, ensemble: None, origin: None, settings }
}

fn models() -> Vec<Model> {
    let image = DataSchema {
        image: Some(ImageForm { height: 2, width: 3, colour: false }),
        ..DataSchema::numbered(4)
    };
    let origin = Origin { device: "card".to_owned(), schedule: Some("plain".to_owned()) };
    let plain = of_network(Network::classifier(&[6, 5, 4]).unwrap(), Transform::Bytes, image);
    let plain = Model { origin: Some(origin), ..plain };
    let partner = |picks| {
        let network = Network::classifier(&[6, 3, 2, 4]).unwrap();
        EnsembleMember { picks, parameters: Parameters::he_normal(&network, 4), network }
    };
    let ensemble = Model {
        ensemble: Some(Ensemble { picks: 2, partners: vec![partner(1), partner(0)] }),
        ..plain.clone()
    };
    vec![plain, ensemble, of_table(), of_values()]
}

/// Returns a model of a table with a number and categories, with an input layer.
fn of_table() -> Model {
    let names =
        |names: &[&str]| Classes::named(names.iter().map(|name| (*name).to_owned()).collect()).unwrap();
    let number = |map: NumericScaling| ColumnEncoding::Number { map, fill: 0.5, has_indicator: true };
    let columns = vec![
        number(NumericScaling::Clipped { center: 1.0, width: 2.0 }),
        ColumnEncoding::Category { categories: names(&["x", "y", "z"]), has_missing: true },
    ];
    let inputs =
        vec![InputColumn::Periodic, InputColumn::Number, InputColumn::Embedding { categories: 4, size: 3 }];
    let layer = InputLayer::new(inputs, true).unwrap();
    let network = Network::classifier(&[layer.inputs(), 4, 2]).unwrap().with_input_layer(layer).unwrap();
    let column = |name: &str, position| Column { name: Some(name.to_owned()), position };
    let schema = Schema {
        columns: 3,
        inputs: vec![column("a", 0), column("b", 1)],
        target: Some(column("kind", 2)),
        values: Vec::new(),
        weight: None,
        folds_labels: false,
        are_labels: false,
        drops_missing_target: false,
        replaces_missing: false,
        dates: Vec::new(),
        zones: Vec::new(),
        categories: vec![1],
        missing: vec!["-99".to_owned()],
        decimal: Some(b'.'),
    };
    let data_schema =
        DataSchema { classes: names(&["no", "yes"]), schema: Some(schema), ..DataSchema::numbered(0) };
    of_network(network, Transform::Columns(Encoding { columns, is_numbered: true }), data_schema)
}

/// Returns a model of a table without names, with rank-scaled inputs, that predicts values.
fn of_values() -> Model {
    let quantiles = NumericScaling::Normal(vec![-1.0, 0.0, 0.5, 7.0]);
    let columns = vec![ColumnEncoding::Number { map: quantiles, fill: 0.0, has_indicator: false }; 2];
    let layers = vec![
        Dense { units: 3, activation: Activation::Mish, dropout: 0.25 },
        Dense::new(1, Activation::Identity),
    ];
    let network = Network::new(2, layers, Loss::Mse).unwrap();
    let column = |position| Column { name: None, position };
    let schema = Schema {
        columns: 3,
        inputs: vec![column(0), column(1)],
        target: None,
        values: vec![column(2)],
        weight: None,
        folds_labels: false,
        are_labels: false,
        drops_missing_target: false,
        replaces_missing: false,
        dates: Vec::new(),
        zones: Vec::new(),
        categories: Vec::new(),
        missing: Vec::new(),
        decimal: Some(b','),
    };
    let target_scale = Some(TargetScale { center: vec![3.0], width: vec![0.5] });
    let data_schema = DataSchema { schema: Some(schema), target_scale, ..DataSchema::numbered(0) };
    of_network(network, Transform::Columns(Encoding { columns, is_numbered: false }), data_schema)
}

/// Returns checkpoints of a run in its first epoch, after it, in the last one, and at its end.
fn checkpoints() -> Vec<Vec<u8>> {
    let mut run = run_to_resume();
    let mut seen = Vec::new();
    let mut events = 0;
    while let Some(event) = run.next().unwrap() {
        events += 1;
        if matches!(event, Event::Epoch { .. }) || events % 3 == 2 {
            seen.extend(run.checkpoint().unwrap().map(|checkpoint| checkpoint.to_bytes().unwrap()));
        }
    }
    seen
}

fn spaces() -> Vec<Vec<u8>> {
    [
        "lr = { log = [1e-4, 1e-1], points = 3 }\nhidden = [[64], [256, 256], []]\ndropout = { range = [0.0, 0.5] }\n",
        "batch-size = { log = [16, 64] }\nwarmup = 10\nactivation = [\"relu\", \"selu\"]\n# the end",
        "epochs = { range = [1, 20], points = 7 }\n[seed]\nrange = [-5, 9]\n",
        "a = true\nb = 1.5\n\"c d\" = ['x', \"\"\"y\nz\"\"\"]\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}
