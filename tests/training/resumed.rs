//! Runs resumed from checkpoints end with the same bits as uninterrupted runs.

use std::io::Cursor;
use std::path::Path;

use tinytrain::Error;
use tinytrain::data::{ReadOptions, Reader, Scale, Split};
use tinytrain::engine::Device;
use tinytrain::random::{Purpose, normal};
use tinytrain::schedule::ScheduleKind;
use tinytrain::step::{Activation, OptimizerKind, RateSchedule};
use tinytrain::train::{Checkpoint, Config, DataOptions, End, Event, Run, Summary, TrainingData};

use crate::support::{devices, tests_all};

const ROWS: usize = 333;

/// Returns rows of small whole numbers, like pixels, or of others, which are read first and scaled.
fn table(of_bytes: bool, rows: usize) -> String {
    let mut text = String::from("a,b,c,d,e,class\n");
    for row in 0..rows {
        for column in 0..5 {
            let number = normal(3, Purpose::Weights, [row as u32, column]);
            let number = if of_bytes { (50.0 + 20.0 * number).round() } else { number };
            text += &format!("{number},");
        }
        text += &format!("k{}\n", row * 5 / 3 % 3);
    }
    text
}

fn reader(of_bytes: bool, rows: usize) -> Reader {
    let text = Cursor::new(table(of_bytes, rows));
    Reader::from_csv(Path::new("t.csv"), text, &ReadOptions::default()).unwrap()
}

fn run(config: &Config, of_bytes: bool, rows: usize, device: &Device) -> Run {
    let data = TrainingData::new(reader(of_bytes, rows), None, None, &config.data).unwrap();
    Run::new(config.clone(), data, device.clone(), None).unwrap()
}

/// Runs to the end; interrupts before every event whose number one of `broken` divides, and resumes.
fn ended(config: &Config, of_bytes: bool, device: &Device, broken: &[usize]) -> (Summary, usize) {
    let (mut current, mut events, mut breaks) = (run(config, of_bytes, ROWS, device), 0, 0);
    loop {
        events += 1;
        if broken.iter().any(|number| events % number == 0)
            && let Some(checkpoint) = current.checkpoint().unwrap()
        {
            let bytes = checkpoint.to_bytes().unwrap();
            let read = Checkpoint::from_bytes(&bytes, Path::new("c")).unwrap();
            assert_eq!(read, checkpoint);
            assert_eq!(read.to_bytes().unwrap(), bytes);
            current = run(config, of_bytes, ROWS, device);
            current.resume(read).unwrap();
            breaks += 1;
        }
        if current.next().unwrap().is_none() {
            return (current.summary().unwrap(), breaks);
        }
    }
}

fn config(kind: OptimizerKind, number: usize) -> Config {
    let mut optimizer = kind.defaults();
    optimizer.weight_decay = if number % 3 == 1 { 0.01 } else { 0.0 };
    Config {
        hidden: vec![7, 5],
        epochs: 4,
        batch_size: 8,
        activation: vec![Activation::ALL[number % Activation::ALL.len()]],
        dropout: vec![if number % 2 == 1 { 0.25 } else { 0.0 }],
        optimizer,
        learning_rate: kind.default_rate(),
        rate_schedule: if number.is_multiple_of(2) { RateSchedule::Constant } else { RateSchedule::Cosine },
        data: DataOptions {
            scale: Scale::None,
            split: Split { validation: 0.2, ..Split::default() },
            ..DataOptions::default()
        },
        ..Config::default()
    }
}

#[test]
fn a_run_that_is_broken_off_anywhere_ends_with_the_same_bits() {
    for device in devices() {
        for (number, kind) in OptimizerKind::ALL.iter().enumerate() {
            let mut config = config(*kind, number);
            if let Device::Gpu(_) = device {
                config.schedule = Some(ScheduleKind::ALL[number % ScheduleKind::ALL.len()]);
            }
            let of_bytes = number % 2 == 0;
            if of_bytes {
                // Then the first epoch trains while rows are read, in another order than later ones.
                config.data = DataOptions { scale: Scale::Bytes, ..DataOptions::default() };
            }
            let (whole, none) = ended(&config, of_bytes, &device, &[]);
            // Each interruption opens an adapter and compiles for it again, so the CPU engine is interrupted
            // more often.
            let fewer = matches!(device, Device::Gpu(_)) && !tests_all();
            let broken = if fewer { &[5][..] } else { &[3, 5] };
            let (resumed, breaks) = ended(&config, of_bytes, &device, broken);
            assert!(none == 0 && breaks >= 2, "{breaks}");
            assert!(whole.model == resumed.model, "{kind}, {:?}", config.schedule);
            assert_eq!((whole.kept, whole.steps), (resumed.kept, resumed.steps));
            assert_eq!((whole.end, resumed.end), (End::Done, End::Done));
            for (a, b) in whole.epochs.iter().zip(&resumed.epochs) {
                assert_eq!((a.rows, &a.validation), (b.rows, &b.validation), "{kind}, epoch {}", a.epoch);
                assert_eq!((a.train.loss, a.train.accuracy), (b.train.loss, b.train.accuracy));
            }
        }
    }
}

#[test]
fn epochs_are_added_to_a_run_that_has_ended() {
    let long = config(OptimizerKind::ALL[0], 0);
    let short = Config { epochs: 2, ..long.clone() };
    for device in devices() {
        let (whole, _) = ended(&long, false, &device, &[]);
        let mut first = run(&short, false, ROWS, &device);
        while first.next().unwrap().is_some() {}
        let checkpoint = first.checkpoint().unwrap().unwrap();
        // Unchanged, there is nothing more to train.
        let mut same = run(&short, false, ROWS, &device);
        same.resume(checkpoint.clone()).unwrap();
        assert!(matches!(same.next().unwrap(), Some(Event::Started(_))));
        assert!(same.next().unwrap().is_none());
        assert_eq!(same.summary().unwrap().model, first.summary().unwrap().model);
        let mut second = run(&long, false, ROWS, &device);
        second.resume(checkpoint).unwrap();
        while second.next().unwrap().is_some() {}
        let second = second.summary().unwrap();
        // The model contains the number of requested epochs, which differs if the kept model is from the
        // first run.
        assert_eq!(whole.model.parameters, second.model.parameters);
        assert_eq!((whole.kept, whole.epochs.len()), (second.kept, second.epochs.len()));
    }
}

#[test]
fn a_checkpoint_of_other_data_or_settings_is_refused() {
    let own = config(OptimizerKind::ALL[0], 0);
    let mut first = run(&own, false, ROWS, &Device::Cpu);
    while first.next().unwrap().is_some() {}
    let checkpoint = first.checkpoint().unwrap().unwrap();
    let resumed = |config: &Config, of_bytes, rows| {
        let mut run = run(config, of_bytes, rows, &Device::Cpu);
        run.resume(checkpoint.clone())?;
        while run.next()?.is_some() {}
        Ok::<(), Error>(())
    };
    let error = resumed(&Config { hidden: vec![7, 6], ..own.clone() }, false, ROWS).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot resume with settings other than in the checkpoint: hidden was 7,5 and is 7,6; start the run again"
    );
    let error = resumed(&own, false, ROWS - 30).unwrap_err();
    assert_eq!(error.to_string(), "expected the 267 training rows of the run, found 243");
    // The same number of rows, one with another value; also if they are read during training.
    for of_bytes in [false, true] {
        let data = if of_bytes { Scale::Bytes } else { Scale::None };
        let own = Config { data: DataOptions { scale: data, ..DataOptions::default() }, ..own.clone() };
        let changed = |text: &str| {
            let reader =
                Reader::from_csv(Path::new("t.csv"), Cursor::new(text.to_owned()), &ReadOptions::default());
            let data = TrainingData::new(reader.unwrap(), None, None, &own.data).unwrap();
            Run::new(own.clone(), data, Device::Cpu, None).unwrap()
        };
        let text = table(of_bytes, ROWS);
        let mut first = changed(&text);
        while first.epochs().len() < 2 {
            first.next().unwrap();
        }
        let checkpoint = first.checkpoint().unwrap().unwrap();
        let end = text.rfind("\n").unwrap();
        let last = text[..end].rfind('\n').unwrap() + 1;
        let digit = text[last..].chars().next().unwrap();
        for (cell, is_same) in [(digit, true), (if digit == '1' { '2' } else { '1' }, false)] {
            let mut other = changed(&format!("{}{cell}{}", &text[..last], &text[last + 1..]));
            other.resume(checkpoint.clone()).unwrap();
            let error = loop {
                match other.next() {
                    Ok(None) => break None,
                    Err(error) => break Some(error.to_string()),
                    Ok(Some(_)) => {}
                }
            };
            let wanted = "expected the 333 training rows of the run, found other rows: the data or their scaling have changed";
            assert_eq!(error.as_deref(), (!is_same).then_some(wanted));
        }
    }
    let scaled = Config { data: DataOptions { scale: Scale::Standard, ..own.data }, ..own };
    assert!(resumed(&scaled, false, ROWS).is_err());
}

#[test]
fn invalid_checkpoints_are_refused() {
    let mut run = run(&config(OptimizerKind::ALL[1], 1), false, 40, &Device::Cpu);
    while run.next().unwrap().is_some() {}
    let bytes = run.checkpoint().unwrap().unwrap().to_bytes().unwrap();
    for length in (0..bytes.len()).step_by(7) {
        assert_eq!(Checkpoint::from_bytes(&bytes[..length], Path::new("c")).unwrap_err().exit_code(), 2);
    }
    let model = run.summary().unwrap().model.to_bytes().unwrap();
    let error = Checkpoint::from_bytes(&model, Path::new("m")).unwrap_err();
    assert_eq!(error.to_string(), "m: expected a checkpoint of a run, found a model");
}
