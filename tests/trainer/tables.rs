//! Tables in memory are treated like files with the same contents, and their faults are reported.

use std::io::Cursor;
use std::ops::Range;
use std::path::Path;

use tinytrain::data::{Dataset, ReadOptions, Reader, Targets};
use tinytrain::engine::EngineState;
use tinytrain::ndarray::Array2;
use tinytrain::train::{Pass, Passed, Predictor};
use tinytrain::trainer::{Cells, Table, TableBuilder, Target, TargetData};
use tinytrain::{Device, DeviceRequest, Error, Model, OptimizerKind, RateSchedule, TrainSettings, Trainer};

const ROWS: usize = 90;
const COLORS: [&str; 3] = ["red", "green", "NA"];

fn trainer() -> Trainer {
    let settings = TrainSettings { hidden: Some([6].into()), epochs: Some(4), ..Default::default() };
    Trainer::new(settings).device(DeviceRequest::Cpu)
}

fn number(row: usize) -> Option<f32> {
    (row % 13 != 4).then_some((row * 7 % 31) as f32 / 4.0)
}

/// Returns the time of each row in seconds.
fn time(row: usize) -> u64 {
    1_700_006_400 + row as u64 * 3_600 * 29
}

fn label(row: usize) -> &'static str {
    if row * 7 % 31 > 12 { "yes" } else { "no" }
}

fn table() -> Table {
    let numbers = (0..ROWS).map(|row| number(row).unwrap_or(f32::NAN)).collect();
    let colors = Cells::Texts {
        rows: (0..ROWS).map(|row| Some((row * 5 % 3) as u32)).collect(),
        texts: COLORS.map(str::to_owned).into(),
    };
    let times = (0..ROWS).map(|row| time(row) as f64).collect();
    let columns =
        [("size", Cells::Numbers(numbers)), ("color", colors), ("at", Cells::Times(times))].into_iter();
    Table::of_columns(columns.map(|(name, cells)| (name.to_owned(), cells)).collect()).unwrap()
}

fn reader(table: Table) -> Reader {
    let labels = TargetData::labels((0..ROWS).map(label));
    table.into_reader(labels, vec!["class".to_owned()], Vec::new(), None).unwrap()
}

fn file() -> String {
    let row = |row: usize| {
        let size = number(row).map(|number| number.to_string()).unwrap_or_default();
        let at = jiff::Timestamp::from_second(time(row) as i64).unwrap();
        format!("{size},{},{at},{}\n", COLORS[row * 5 % 3], label(row))
    };
    "size,color,at,class\n".to_owned() + &(0..ROWS).map(row).collect::<String>()
}

fn predicted(model: &Model, table: Table) -> Vec<f64> {
    let (features, dictionaries) = table.fitted_to(model).unwrap().features().unwrap();
    Predictor::new(model, &Device::Cpu, None).unwrap().predict(features, &dictionaries).unwrap().probabilities
}

#[test]
fn rows_are_arranged_in_place_as_they_are_taken() {
    let kept = |table: Table| table.with_groups((0..ROWS as u32).map(|row| row * 7 % 90).collect());
    let backwards: Vec<u32> = (0..ROWS as u32).rev().collect();
    let turned: Vec<u32> = (0..ROWS as u32).map(|row| (row * 7 + 3) % 90).collect();
    let paired: Vec<u32> = (0..ROWS as u32).map(|row| row ^ 1).collect();
    let same: Vec<u32> = (0..ROWS as u32).collect();
    let repeated: Vec<u32> = (0..ROWS as u32).map(|row| row / 2).collect();
    // Some rows are left out, others are repeated, once not adjacently.
    let counted: Vec<u32> =
        turned.iter().flat_map(|row| std::iter::repeat_n(*row, *row as usize % 4)).collect();
    let again = [&counted[..], &counted[..1]].concat();
    let some = turned[..7].to_vec();
    for rows in [&backwards, &turned, &paired, &same, &repeated, &counted, &again, &some, &Vec::new()] {
        // Missing cells are not equal to themselves.
        let [arranged, taken] = [kept(table()).arranged(rows), kept(table()).taken(rows)];
        assert_eq!(format!("{arranged:?}"), format!("{taken:?}"));
    }
    let ordered = table().arranged(&turned);
    assert_eq!(
        ordered.values()[1].to_bits(),
        table().values()[3 * table().values().len() / ROWS + 1].to_bits()
    );
}

#[test]
fn a_table_is_the_file_that_holds_the_same() {
    let of_table = trainer().fit_reader(reader(table())).unwrap();
    let csv = Reader::from_csv(Path::new("t.csv"), Cursor::new(file()), &ReadOptions::default()).unwrap();
    let of_file = trainer().fit_reader(csv).unwrap();
    assert_eq!(of_table.parameters, of_file.parameters);
    assert_eq!(of_table.transform, of_file.transform);
    let names = |model: &Model| {
        let schema = model.data_schema.schema.clone().unwrap();
        (schema.inputs, schema.dates, schema.target)
    };
    assert_eq!(names(&of_table), names(&of_file));
    assert_eq!(predicted(&of_table, table()), predicted(&of_file, table()));
    assert_eq!(table().names(), Some(vec!["size", "color", "at"]));
}

#[test]
fn the_order_in_which_texts_come_does_not_matter() {
    let colors = |texts: [&str; 2], rows: [Option<u32>; 3]| {
        let cells = Cells::Texts { rows: rows.into(), texts: texts.map(str::to_owned).into() };
        Table::of_columns(vec![("color".to_owned(), cells)]).unwrap()
    };
    let one = colors(["b", " a"], [Some(0), Some(1), None]);
    let other = colors(["a", "b"], [Some(1), Some(0), None]);
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
    assert_eq!(one.taken(&[1, 1]).values(), [0.0, 0.0]);
}

/// Returns cells of these rows of the table, with texts in order of occurrence.
fn piece(rows: Range<usize>, known: &mut Vec<usize>) -> Vec<Cells> {
    let before = known.len();
    let mut text = |row: usize| {
        let color = row * 5 % 3;
        let place = known.iter().position(|known| *known == color);
        place.unwrap_or_else(|| {
            known.push(color);
            known.len() - 1
        })
    };
    let texts = rows.clone().map(|row| Some(text(row) as u32)).collect();
    vec![
        Cells::Numbers(rows.clone().map(|row| number(row).unwrap_or(f32::NAN)).collect()),
        Cells::Texts {
            rows: texts,
            texts: known[before..].iter().map(|color| COLORS[*color].to_owned()).collect(),
        },
        Cells::Times(rows.map(|row| time(row) as f64).collect()),
    ]
}

#[test]
fn rows_added_in_pieces_equal_whole_columns() {
    let names = || ["size", "color", "at"].map(str::to_owned).to_vec();
    // The first row has no hour.
    for step in [1, 7, ROWS] {
        let (mut builder, mut known) = (TableBuilder::new(names(), ROWS), Vec::new());
        for from in (0..ROWS).step_by(step) {
            builder.add(piece(from..ROWS.min(from + step), &mut known)).unwrap();
        }
        assert_eq!(format!("{:?}", builder.finish()), format!("{:?}", table()));
    }
    // Dates without hours have no input for hours.
    let mut days = TableBuilder::new(vec!["at".to_owned()], 0);
    days.add(vec![Cells::Times(vec![86_400.0])]).unwrap();
    days.add(vec![Cells::Times(vec![172_800.0, f64::NAN])]).unwrap();
    let days = days.finish();
    assert_eq!((&days.values()[..6], days.values().len()), (&[1.0, 1.0, 4.0, 2.0, 1.0, 5.0][..], 9));
    let said = |pieces: [Vec<Cells>; 2]| {
        let [first, second] = pieces;
        let mut builder = TableBuilder::new(vec!["a".to_owned()], 0);
        builder.add(first).unwrap();
        builder.add(second).unwrap_err().to_string()
    };
    let texts = |rows: &[u32], texts: &[&str]| {
        let rows = rows.iter().map(|row| Some(*row)).collect();
        vec![Cells::Texts { rows, texts: texts.iter().map(|text| (*text).to_owned()).collect() }]
    };
    let unknown = said([texts(&[0], &["x"]), texts(&[1, 2], &["y"])]);
    assert_eq!(unknown, "a, row 3: expected one of 2 texts, found number 2");
    let numbers = vec![Cells::Numbers(vec![1.0])];
    let other = said([texts(&[0], &["x"]), numbers.clone()]);
    assert_eq!(other, "a, row 2: expected cells of the same kind as before, found others");
    assert_eq!(said([numbers, Vec::new()]), "x: expected 1 columns, found 0");
}

#[test]
fn a_table_without_names_is_an_array() {
    let x = Array2::from_shape_fn((40, 3), |(row, column)| ((row + 2) * (3 + column) % 17) as f32);
    let y: Vec<bool> = x.rows().into_iter().map(|row| row.sum() > 24.0).collect();
    let reader = Table::of_numbers(&x).unwrap().into_reader(y.target_data(), Vec::new(), Vec::new(), None);
    let of_table = trainer().fit_reader(reader.unwrap()).unwrap();
    assert_eq!(of_table.to_bytes().unwrap(), trainer().fit(&x, &y).unwrap().to_bytes().unwrap());
    assert_eq!(predicted(&of_table, Table::of_numbers(&x).unwrap()).len(), 80);
    // A warm start: the loss continues from its last value.
    let start = |first: Option<&Model>| {
        let run = trainer().start(&x, &y).unwrap();
        let mut run = match first {
            Some(model) => run.begin_with(model.parameters.clone(), EngineState::default()),
            None => run,
        };
        while run.next()?.is_some() {}
        run.summary()
    };
    let (cold, warm) = (start(None).unwrap(), start(Some(&of_table)).unwrap());
    assert!(warm.epochs[0].train.loss < cold.epochs[0].train.loss);
    let wider = TrainSettings { hidden: Some([7].into()), ..trainer().settings };
    let other = Trainer::new(wider).device(DeviceRequest::Cpu).fit(&x, &y).unwrap();
    let error = start(Some(&other)).unwrap_err();
    assert_eq!(error.to_string(), "expected parameters of a 3-6-2 network, found others");
}

/// Trains a pass over the rows of the table.
fn pass(settings: &TrainSettings, model: Model, state: &EngineState) -> Result<Pass, Error> {
    let reader = reader(table());
    let info = settings.inspect(&reader, false, false);
    let (_, config) = settings.prepare(info, reader, None, None)?;
    let (features, dictionaries) = table().fitted_to(&model)?.features()?;
    let numbers = (0..ROWS).map(|row| model.data_schema.classes.find(label(row)).unwrap()).collect();
    let inputs = model.transform.columns(model.network.columns());
    let rows = Dataset { inputs, features, targets: Targets::Classes(numbers), weights: Vec::new() };
    Pass::new(config, (model, state), (rows, &dictionaries), &Device::Cpu)
}

/// A pass over all rows, from an untrained network, is the first epoch of a run; later passes continue with
/// the optimizer state.
#[test]
fn a_pass_is_an_epoch() {
    let settings =
        TrainSettings { epochs: Some(1), optimizer: Some(OptimizerKind::Adam), ..trainer().settings };
    let of_run =
        Trainer::new(settings.clone()).device(DeviceRequest::Cpu).fit_reader(reader(table())).unwrap();
    let rows = reader(table());
    let info = settings.inspect(&rows, false, false);
    let (data, config) = settings.prepare(info, rows, None, None).unwrap();
    let untrained = Pass::untrained(&config, &data, &Device::Cpu).unwrap();
    let passed = |model: Model, state: &EngineState| -> Passed {
        pass(&settings, model, state).unwrap().finish().unwrap()
    };
    let first = passed(untrained, &EngineState::default());
    assert_eq!(first.model.parameters, of_run.parameters);
    assert_eq!((first.state.step, first.state.optimizer.len()), (ROWS.div_ceil(16) as u64, 2));
    let second = passed(first.model.clone(), &first.state);
    assert_eq!(second.state.step, 2 * first.state.step);
    assert!(second.score.loss < first.score.loss);
    // Without the optimizer state the steps differ.
    let forgot = passed(first.model.clone(), &EngineState::default());
    assert_ne!(forgot.model.parameters, second.model.parameters);
    let cosine = TrainSettings { lr_schedule: Some(RateSchedule::Cosine), ..settings.clone() };
    let error = pass(&cosine, first.model.clone(), &first.state).err().unwrap().to_string();
    assert_eq!(
        error,
        "lr-schedule: expected constant, as nobody knows how many steps there will be, found cosine"
    );
    let great = TrainSettings { lr: Some(1e38), optimizer: Some(OptimizerKind::Sgd), ..settings.clone() };
    let error = pass(&great, first.model, &first.state).unwrap().finish().unwrap_err();
    assert!(matches!(error, Error::NonFiniteLoss { .. } | Error::NonFiniteModel { .. }), "{error}");
}

/// A run continues with the optimizer state of another run.
#[test]
fn a_run_takes_over_an_optimizer() {
    let settings = TrainSettings { optimizer: Some(OptimizerKind::Adam), ..trainer().settings };
    let trainer = Trainer::new(settings).device(DeviceRequest::Cpu);
    let mut run = trainer.start_reader(reader(table()), None, None).unwrap();
    while run.next().unwrap().is_some() {}
    let state = run.optimizer_state().unwrap().unwrap();
    let model = run.summary().unwrap().model;
    let again = |state: EngineState| {
        let run = trainer.start_reader(reader(table()), None, None).unwrap();
        let mut run = run.begin_with(model.parameters.clone(), state);
        while run.next().unwrap().is_some() {}
        (run.optimizer_state().unwrap().unwrap().step, run.summary().unwrap().model.parameters)
    };
    let (warm, cold) = (again(state.clone()), again(EngineState::default()));
    assert_eq!([warm.0, cold.0], [2 * state.step, state.step]);
    assert_ne!(warm.1, cold.1);
    // The state of another optimizer is ignored.
    let other = EngineState { optimizer: state.optimizer[..1].to_vec(), ..state };
    assert_eq!(again(other), cold);
}

/// Groups, times and copies of rows have the same effect in memory and in a file.
#[test]
fn rows_in_memory_are_held_out_together() {
    let held_out = |table: Table| {
        let settings = TrainSettings { validation_fraction: Some(0.3), ..trainer().settings };
        let labels = TargetData::classes(
            vec!["yes".to_owned(), "no".to_owned()],
            (0..ROWS).map(|row| u32::from(label(row) == "no")).collect(),
        );
        let reader = table.into_reader(labels, Vec::new(), Vec::new(), None)?;
        let info = settings.inspect(&reader, false, false);
        let split = settings.prepare(info, reader, None, None)?.1.data.split;
        Ok::<_, Error>(split)
    };
    let split = held_out(table()).unwrap();
    let parts = |table: Table| {
        let labels = TargetData::labels((0..ROWS).map(label));
        table.into_reader(labels, Vec::new(), Vec::new(), None).unwrap().parts(&split).unwrap()
    };
    let groups: Vec<u32> = (0..ROWS as u32).map(|row| row % 11).collect();
    assert_eq!(parts(table().with_groups(groups.clone())), split.parts_of_groups(&groups).into());
    let times: Vec<f64> = (0..ROWS).map(|row| (row * 7 % 90) as f64).collect();
    assert_eq!(parts(table().with_times(times.clone())), split.parts_by_time(&times).into());
    let copies: Vec<u32> = (0..ROWS as u32).map(|row| row / 3).collect();
    let found = parts(table().with_copies(copies));
    let of = |rows: &[u32]| rows.iter().map(|row| row / 3).collect::<std::collections::BTreeSet<u32>>();
    assert!(of(&found.train).is_disjoint(&of(&found.validation)) && found.validation.len() > 15);
    let error = held_out(table().with_groups(vec![0; 3])).unwrap_err().to_string();
    assert_eq!(error, "groups: expected 90 groups, one for each row of x, found 3");
}

#[test]
fn dates_without_hours_fit_a_model_that_has_them_and_the_other_way_round() {
    let model = trainer().fit_reader(reader(table())).unwrap();
    let days = |seconds: &[f64]| {
        let texts = Cells::Texts { rows: vec![Some(0); seconds.len()], texts: vec!["red".to_owned()] };
        Table::of_columns(vec![
            ("size".to_owned(), Cells::Numbers(vec![1.0; seconds.len()])),
            ("color".to_owned(), texts),
            ("at".to_owned(), Cells::Times(seconds.to_vec())),
        ])
        .unwrap()
    };
    const DAY: f64 = 86_400.0;
    // With times with an hour, a date has the hour 0.
    let alone = predicted(&model, days(&[DAY * 19_700.0]));
    assert_eq!(alone, predicted(&model, days(&[DAY * 19_700.0, DAY * 19_701.5]))[..2]);
    // A missing time is missing, also in a single row.
    assert_eq!(predicted(&model, days(&[f64::NAN])), predicted(&model, days(&[f64::NAN, DAY * 0.5]))[..2]);
}

#[test]
fn faults_of_a_table_are_reported() {
    let columns = |columns: Vec<(&str, Cells)>| {
        Table::of_columns(columns.into_iter().map(|(name, cells)| (name.to_owned(), cells)).collect())
    };
    let said = |error: Error| (error.to_string(), error.exit_code());
    let numbers = |count: usize| Cells::Numbers(vec![1.0; count]);
    let lengths = columns(vec![("a", numbers(2)), ("b", numbers(3))]).unwrap_err();
    assert_eq!(said(lengths), ("b: expected 2 rows, as the first column has, found 3".to_owned(), 2));
    let texts =
        columns(vec![("a", Cells::Texts { rows: vec![Some(0), Some(1)], texts: vec!["x".to_owned()] })]);
    assert_eq!(said(texts.unwrap_err()).0, "a, row 2: expected one of 1 texts, found number 1");
    let dates = columns(vec![("a", numbers(1)), ("b", Cells::Times(vec![0.0]))]).unwrap();
    assert!(dates.clone().categorical(&[0]).is_ok());
    let dates = said(dates.categorical(&[1]).unwrap_err()).0;
    assert_eq!(dates, "categorical: expected columns below 2 that hold no dates, counted from 0, found 1");
    let read = |table: Table, rows: usize, weights: Vec<f32>| {
        let labels = TargetData::labels((0..rows).map(|row| (row % 2).to_string()));
        table.into_reader(labels, Vec::new(), weights, None).map(|_| ()).unwrap_err().to_string()
    };
    let infinite = columns(vec![("a", Cells::Numbers(vec![1.0, f32::INFINITY]))]).unwrap();
    assert_eq!(read(infinite, 2, Vec::new()), "x, row 2, column 1: expected a finite number, found inf");
    let two = || columns(vec![("a", numbers(2))]).unwrap();
    assert_eq!(read(two(), 3, Vec::new()), "y: expected 2 labels, one for each row of x, found 3");
    assert_eq!(
        read(two(), 2, vec![1.0, -1.0]),
        "weights, row 2: expected a finite number of 0 or more, found -1"
    );
    let model = trainer().fit_reader(reader(table())).unwrap();
    let fitted = |table: Table| table.fitted_to(&model).unwrap_err().to_string();
    assert_eq!(fitted(two()), "x: expected 3 columns, as in training, found 1");
    let swapped = columns(vec![("size", numbers(1)), ("color", numbers(1)), ("at", numbers(1))]).unwrap();
    assert_eq!(fitted(swapped), "x, column 3 (at): expected dates, as in training, found numbers");
}
