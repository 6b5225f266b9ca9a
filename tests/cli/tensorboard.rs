//! Event files of runs, parsed as TensorBoard does: from the wire format of protocol buffers, without the
//! program's code.

use std::collections::BTreeMap;

use crate::program::{Points, Workplace};

const NAMES: [&str; 3] = ["low", "mid", "high"];
const TRAIN: [&str; 8] = ["train", "--data", "t.csv", "--device", "cpu", "--hidden", "7", "--tensorboard"];
const PLAIN: [&str; 4] = ["--validation-fraction", "0.2", "--preset", "plain"];

fn place() -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", Points::new(500, 4).csv(NAMES));
    place
}

/// Computes CRC-32C bit by bit, rotated and offset as in records.
fn masked_sum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0x82f6_3b78 * (sum & 1));
        }
    }
    (!sum).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().unwrap())
}

/// Returns the records of a file, all of which must be complete.
fn records(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        assert_eq!(word(&bytes[8..]), masked_sum(&bytes[..8]));
        let data = &bytes[12..12 + length];
        assert_eq!(word(&bytes[12 + length..]), masked_sum(data));
        found.push(data);
        bytes = &bytes[16 + length..];
    }
    found
}

/// A field of a message: a number, or bytes.
enum Field<'a> {
    Varint(u64),
    Double(f64),
    Float(f32),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn bytes(&self) -> &'a [u8] {
        let Self::Bytes(bytes) = self else { panic!("no bytes") };
        bytes
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }
}

/// Returns the fields of a message with their numbers.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return value;
            }
        }
        panic!("a number of more than 64 bits");
    }
    fn taken<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
        let (taken, rest) = bytes.split_at(count);
        *bytes = rest;
        taken
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Varint(varint(&mut bytes)),
            1 => Field::Double(f64::from_le_bytes(taken(&mut bytes, 8).try_into().unwrap())),
            2 => {
                let length = varint(&mut bytes) as usize;
                Field::Bytes(taken(&mut bytes, length))
            }
            5 => Field::Float(f32::from_le_bytes(taken(&mut bytes, 4).try_into().unwrap())),
            other => panic!("wire type {other}"),
        };
        found.push((key >> 3, field));
    }
    found
}

/// Contents of a run's event files.
#[derive(Default)]
struct RunSummary {
    /// Valid values, by their tags and steps, each with its time.
    scalars: BTreeMap<String, BTreeMap<u64, (f32, f64)>>,
    /// Steps from which earlier values are discarded, for every file.
    starts: Vec<u64>,
    /// Number of times each step was written.
    written: BTreeMap<u64, usize>,
    /// Messages of the plugin `hparams` by tag.
    hparams: BTreeMap<String, Vec<u8>>,
}

fn names(place: &Workplace, run: &str) -> Vec<String> {
    let entries = std::fs::read_dir(place.path(run)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains("tfevents")).collect();
    names.sort();
    names
}

fn told(place: &Workplace, run: &str, cut: &[&str]) -> RunSummary {
    let mut told = RunSummary::default();
    for name in names(place, run) {
        let bytes = std::fs::read(place.path(&format!("{run}/{name}"))).unwrap();
        let whole = if cut.contains(&&name[..]) { whole_part(&bytes) } else { &bytes };
        let events = records(whole);
        assert!(fields(events[0]).iter().any(|(number, it)| *number == 3 && it.text() == "brain.Event:2"));
        for event in &events[1..] {
            take(&mut told, &fields(event));
        }
    }
    told
}

/// Returns the complete records before a truncated one.
fn whole_part(bytes: &[u8]) -> &[u8] {
    let mut end = 0;
    while let Some(length) = bytes.get(end..end + 8) {
        let next = end + 16 + u64::from_le_bytes(length.try_into().unwrap()) as usize;
        if next > bytes.len() {
            break;
        }
        end = next;
    }
    assert!(end < bytes.len(), "nothing is cut");
    &bytes[..end]
}

fn take(told: &mut RunSummary, event: &[(u64, Field<'_>)]) {
    let (mut time, mut step) = (0.0, 0);
    for (number, field) in event {
        match (number, field) {
            (1, Field::Double(seconds)) => time = *seconds,
            (2, Field::Varint(number)) => step = *number,
            (7, log) => {
                assert!(matches!(fields(log.bytes())[..], [(1, Field::Varint(1))]), "START");
                told.starts.push(step);
                told.scalars.values_mut().for_each(|steps| steps.retain(|before, _| *before < step));
            }
            (5, summary) => {
                for (_, value) in fields(summary.bytes()) {
                    let value = fields(value.bytes());
                    match &value[..] {
                        [(1, tag), (2, Field::Float(value))] => {
                            let steps = told.scalars.entry(tag.text()).or_default();
                            assert!(steps.insert(step, (*value, time)).is_none(), "step {step} twice");
                        }
                        [(1, tag), (9, metadata)] => {
                            let plugin = fields(fields(metadata.bytes())[0].1.bytes());
                            let [(1, name), (2, content)] = &plugin[..] else { panic!("no plugin") };
                            assert_eq!(name.text(), "hparams");
                            told.hparams.insert(tag.text(), content.bytes().to_vec());
                        }
                        _ => panic!("a value of another form"),
                    }
                }
            }
            _ => panic!("field {number}"),
        }
    }
    if told.scalars.values().any(|steps| steps.contains_key(&step)) {
        *told.written.entry(step).or_default() += 1;
    }
}

/// Returns the columns of the history under their TensorBoard names.
fn history(place: &Workplace, run: &str) -> BTreeMap<String, BTreeMap<u64, f32>> {
    let text = std::fs::read_to_string(place.path(&format!("{run}/history.csv"))).unwrap();
    let mut lines = text.lines().map(|line| line.split(','));
    let header: Vec<&str> = lines.next().unwrap().collect();
    let mut columns: BTreeMap<String, BTreeMap<u64, f32>> = BTreeMap::new();
    for line in lines {
        let cells: BTreeMap<&str, &str> = header.iter().copied().zip(line).collect();
        let step: u64 = cells["epoch"].parse().unwrap();
        for (name, cell) in &cells {
            if let Some((set @ ("train" | "validation" | "test"), measure)) = name.split_once('_')
                && !cell.is_empty()
            {
                let value: f64 = cell.parse().unwrap();
                columns.entry(format!("{measure}/{set}")).or_default().insert(step, value as f32);
            }
        }
    }
    columns
}

/// Compares with the history, in which every epoch occurs once, and returns the other values.
#[track_caller]
fn compare(place: &Workplace, run: &str, told: &RunSummary, epochs: u64) -> BTreeMap<String, Vec<f32>> {
    compare_added(place, run, told, epochs, &[])
}

/// Compares as above, with these epochs added later, when their learning rates were no longer known.
fn compare_added(
    place: &Workplace,
    run: &str,
    told: &RunSummary,
    epochs: u64,
    added: &[u64],
) -> BTreeMap<String, Vec<f32>> {
    let history = history(place, run);
    let steps: Vec<u64> = (1..=epochs).collect();
    let mut rest = BTreeMap::new();
    for (tag, values) in &told.scalars {
        let is_there = |step: &u64| tag != "learning_rate" || !added.contains(step);
        let steps: Vec<u64> = steps.iter().copied().filter(is_there).collect();
        assert_eq!(values.keys().copied().collect::<Vec<u64>>(), steps, "{tag}");
        let times: Vec<f64> = values.values().map(|(_, time)| *time).collect();
        assert!(times.is_sorted() && times[0] > 1.7e9, "{tag}: {times:?}");
        let values: Vec<f32> = values.values().map(|(value, _)| *value).collect();
        match history.get(tag) {
            Some(column) => assert_eq!(values, column.values().copied().collect::<Vec<f32>>(), "{tag}"),
            None => drop(rest.insert(tag.clone(), values)),
        }
    }
    let missing = history.keys().filter(|tag| !told.scalars.contains_key(*tag));
    assert_eq!(missing.collect::<Vec<&String>>(), Vec::<&String>::new());
    rest
}

#[test]
fn every_figure_of_the_history_is_a_curve() {
    let place = place();
    let more = ["--test-fraction", "0.2", "--metric", "auc", "--lr-schedule", "cosine", "--lr", "0.5"];
    let more = [&more[..], &["--test-every-epoch"]].concat();
    let sizes = ["--batch-size", "32", "--epochs", "4", "--out", "r", "--quiet"];
    place.succeed(&[&TRAIN[..], &PLAIN, &more, &sizes].concat());
    assert_eq!(names(&place, "r").len(), 1);
    let told = told(&place, "r", &[]);
    let rest = compare(&place, "r", &told, 4);
    for tag in ["loss/train", "accuracy/train", "loss/validation", "accuracy/test", "auc/validation"] {
        assert!(told.scalars.contains_key(tag), "{tag}");
    }
    assert_eq!(rest.keys().map(String::as_str).collect::<Vec<&str>>(), ["learning_rate", "rows_per_second"]);
    // About 300 rows are ten steps per epoch; the learning rate is the one of the last step.
    let rows = std::fs::read_to_string(place.path("r/history.csv")).unwrap();
    let rows: u64 = rows.lines().nth(1).unwrap().rsplit(',').nth(1).unwrap().parse().unwrap();
    assert_eq!(rows.div_ceil(32), 10, "{rows}");
    for (epoch, rate) in (1..).zip(&rest["learning_rate"]) {
        let t = f64::from(epoch * 10 - 1) / 40.0;
        let expected = 0.25 * (1.0 + (std::f64::consts::PI * t).cos());
        assert!((f64::from(*rate) - expected).abs() < 1e-7, "epoch {epoch}: {rate}, not {expected}");
    }
    assert!(rest["rows_per_second"].iter().all(|speed| *speed > 0.0));
    assert_eq!(told.starts, [1]);

    let settings = fields(&told.hparams["_hparams_/session_start_info"]);
    let [(3, start)] = &settings[..] else { panic!("no start of a session") };
    let mut hyperparameters = BTreeMap::new();
    for (number, field) in fields(start.bytes()) {
        if number == 1 {
            let entry = fields(field.bytes());
            let value = match fields(entry[1].1.bytes())[..] {
                [(2, Field::Double(number))] => number.to_string(),
                [(3, ref text)] => text.text(),
                [(4, Field::Varint(flag))] => (flag == 1).to_string(),
                _ => panic!("a value of another kind"),
            };
            hyperparameters.insert(entry[0].1.text(), value);
        }
    }
    let named = ["lr", "lr-schedule", "hidden", "metric", "epochs"].map(|name| &hyperparameters[name][..]);
    assert_eq!(named, ["0.5", "cosine", "7", "auc", "4"]);
    assert!(!hyperparameters.contains_key("tensorboard"));
    let end = fields(&told.hparams["_hparams_/session_end_info"]);
    let [(4, end)] = &end[..] else { panic!("no end of a session") };
    assert!(matches!(fields(end.bytes())[0], (1, Field::Varint(1))), "it ended well");
}

#[test]
fn values_have_their_own_curves() {
    let place = Workplace::new();
    let rows: String =
        (0..200).map(|row| format!("{},{}\n", row % 17, (row % 17) as f32 * 1.5 + 0.25)).collect();
    place.write("t.csv", format!("a,price\n{rows}"));
    place.succeed(
        &[&TRAIN[..], &PLAIN, &["--target", "price", "--epochs", "3", "--out", "r", "--quiet"]].concat(),
    );
    let told = told(&place, "r", &[]);
    compare(&place, "r", &told, 3);
    let tags: Vec<&str> = told.scalars.keys().map(String::as_str).collect();
    assert_eq!(
        tags,
        [
            "learning_rate",
            "loss/train",
            "loss/validation",
            "mae/validation",
            "r2/validation",
            "rmse/validation",
            "rows_per_second"
        ]
    );
}

#[test]
fn a_resumed_run_duplicates_no_point() {
    let place = place();
    let resume = |epochs: &str| {
        place.succeed(&["train", "--resume", "r", "--epochs", epochs, "--quiet"]);
    };
    place.succeed(&[&TRAIN[..], &PLAIN, &["--epochs", "3", "--out", "r", "--quiet"]].concat());
    let checkpoint = std::fs::read(place.path("r/checkpoint.safetensors")).unwrap();
    resume("5");
    assert_eq!(names(&place, "r").len(), 2);
    let after = told(&place, "r", &[]);
    assert_eq!(after.starts, [1, 4]);
    assert!(after.written.iter().all(|(_, count)| *count == 1), "{:?}", after.written);
    compare(&place, "r", &after, 5);

    // As after a kill: the checkpoint is older than the last epochs written.
    place.write("r/checkpoint.safetensors", &checkpoint);
    resume("6");
    let after = told(&place, "r", &[]);
    assert_eq!(after.starts, [1, 4, 4]);
    compare(&place, "r", &after, 6);
    let whole = [&TRAIN[..], &PLAIN, &["--epochs", "6", "--out", "whole", "--quiet"]].concat();
    place.succeed(&whole);
    let undisturbed = told(&place, "whole", &[]);
    for (tag, steps) in &undisturbed.scalars {
        if tag != "rows_per_second" {
            let values =
                |steps: &BTreeMap<u64, (f32, f64)>| steps.values().map(|it| it.0).collect::<Vec<f32>>();
            assert_eq!(values(steps), values(&after.scalars[tag]), "{tag}");
        }
    }
}

#[test]
fn a_run_continues_after_a_truncated_record() {
    let place = place();
    place.succeed(&[&TRAIN[..], &PLAIN, &["--epochs", "4", "--out", "r", "--quiet"]].concat());
    let first = names(&place, "r").remove(0);
    let path = format!("r/{first}");
    let bytes = std::fs::read(place.path(&path)).unwrap();
    // The last record is the end of the session: removes it and half of the record of epoch 4.
    let before_end = bytes.len() - (16 + records(&bytes).last().unwrap().len());
    place.write(&path, &bytes[..before_end - 40]);
    place.succeed(&["train", "--resume", "r", "--epochs", "6", "--quiet"]);
    let told = told(&place, "r", &[&first]);
    assert_eq!(told.starts, [1, 4]);
    compare_added(&place, "r", &told, 6, &[4]);
}

#[test]
fn a_run_that_began_without_gets_all_its_epochs() {
    let place = place();
    place.succeed(&[&TRAIN[..7], &PLAIN, &["--epochs", "3", "--out", "r", "--quiet"]].concat());
    assert_eq!(names(&place, "r"), [""; 0]);
    place.succeed(&["train", "--resume", "r", "--epochs", "5", "--tensorboard", "--quiet"]);
    let told = told(&place, "r", &[]);
    assert_eq!(told.starts, [1]);
    compare_added(&place, "r", &told, 5, &[1, 2, 3]);
}

#[test]
fn it_needs_a_folder_and_leaves_no_empty_one() {
    let place = place();
    let before = place.entries();
    for (arguments, expected) in [
        (
            &["--out", "m.safetensors"][..],
            "error: --tensorboard needs a run folder, but --out m.safetensors saves the model alone; use --out DIR to save both\n",
        ),
        (
            &["--folds", "3"],
            "error: the argument '--tensorboard' cannot be used with '--folds <N>'; see --help\n",
        ),
    ] {
        let outcome = place.run(&[&TRAIN[..], arguments].concat());
        assert_eq!((outcome.code, &outcome.stderr[..]), (2, expected));
    }
    let outcome = place.run(&[&TRAIN[..], &PLAIN, &["--lr", "1e30", "--activation", "identity"]].concat());
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    assert_eq!(place.entries(), before);
}
