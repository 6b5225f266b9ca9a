//! The same rows with the same settings give the same weights, from arrays and from files.

use tinytrain::ndarray::{Array2, s};
use tinytrain::settings::{Embeddings, Parametrization, ScaleTarget, YesNo};
use tinytrain::{
    Activation, ClassWeights, Clip, DeviceRequest, Missing, Model, OptimizerKind, RateSchedule,
    TrainSettings, Trainer,
};

use crate::program::{Rows, SIDE, Workplace, noise};

/// Returns rows of numbers, the last of which are small whole ones, and the class of each row, one of three.
fn rows(count: usize, seed: u64) -> (Array2<f32>, Vec<u32>) {
    let mut noise = noise(seed);
    let x = Array2::from_shape_simple_fn((count, 4), || (noise() * 8.0 - 3.0) as f32);
    let mut x = x * &tinytrain::ndarray::arr1(&[1.0, 100.0, 0.01, 1.0]);
    x.column_mut(3).mapv_inplace(|value| value.floor().abs());
    let y = x.rows().into_iter().map(|row| u32::from(row[0] > 0.0) + u32::from(row[1] > 200.0)).collect();
    (x, y)
}

/// Returns a table with names, the target last; NaN is an empty cell.
fn csv(x: &Array2<f32>, names: &str, y: impl Iterator<Item = String>) -> String {
    let line = |(row, y): (tinytrain::ndarray::ArrayView1<'_, f32>, String)| {
        let cells: Vec<String> =
            row.iter().map(|cell| if cell.is_nan() { String::new() } else { cell.to_string() }).collect();
        format!("{},{y}\n", cells.join(","))
    };
    format!("{names}\n") + &x.rows().into_iter().zip(y).map(line).collect::<String>()
}

fn labels(y: &[u32]) -> impl Iterator<Item = String> {
    y.iter().map(u32::to_string)
}

/// Returns the bytes of all tensors of a model.
fn tensors(model: &Model) -> Vec<u8> {
    let bytes = model.to_bytes().unwrap();
    let (length, rest) = bytes.split_at(8);
    rest[u64::from_le_bytes(length.try_into().unwrap()) as usize..].to_vec()
}

/// Trains on files with these options, and compares with a model of arrays. Rows are held out only if a
/// setting requires it.
#[track_caller]
fn assert_same(place: &Workplace, arguments: &[&str], model: &Model) {
    let is_divided =
        ["--validation", "--validation-fraction", "--preset"].iter().any(|it| arguments.contains(it));
    let plain = if is_divided { &[][..] } else { &["--preset", "plain"] };
    assert_same_by_default(place, &[arguments, plain].concat(), model);
}

/// Compares the same, with the defaults of the program.
#[track_caller]
fn assert_same_by_default(place: &Workplace, arguments: &[&str], model: &Model) {
    let device = if arguments.contains(&"--device") { &[][..] } else { &["--device", "cpu"] };
    let common = ["train", "--data", "t.csv", "--out", "m.safetensors", "--quiet"];
    place.succeed(&[&common[..], device, arguments].concat());
    let file = Model::load(place.path("m.safetensors")).unwrap();
    assert_eq!((&file.network, &file.transform), (&model.network, &model.transform));
    assert_eq!(file.data_schema.classes, model.data_schema.classes);
    assert!(tensors(&file) == tensors(model), "{arguments:?}");
    for (key, value) in &model.settings {
        assert_eq!(file.settings.get(key), Some(value), "{key}");
    }
}

/// Returns a trainer with these settings, in TOML.
fn trainer(settings: &str) -> Trainer {
    Trainer::new(toml::from_str(settings).unwrap()).device(DeviceRequest::Cpu)
}

const NAMES: &str = "a,b,c,d,class";

#[test]
fn defaults_match_the_command_line() {
    let (place, (x, y)) = (Workplace::new(), rows(300, 1));
    place.write("t.csv", csv(&x, NAMES, labels(&y)));
    assert_same(&place, &["--epochs", "3"], &trainer("epochs = 3").fit(&x, &y).unwrap());
    assert_same_by_default(
        &place,
        &["--epochs", "3"],
        &trainer("epochs = 3\npreset = \"table\"\nvalidation-fraction = 0.2").fit(&x, &y).unwrap(),
    );
    // Default number of epochs for a small number of rows, and a batch size of 16.
    assert_same(&place, &["--hidden", "none"], &trainer("hidden = []").fit(&x, &y).unwrap());
    let adam = trainer("epochs = 2\nhidden = 8\noptimizer = \"adam\"");
    assert_same(
        &place,
        &["--epochs", "2", "--hidden", "8", "--optimizer", "adam"],
        &adam.fit(&x, &y).unwrap(),
    );
}

#[test]
fn every_setting_has_its_option() {
    let (place, (x, y)) = (Workplace::new(), rows(200, 2));
    place.write("t.csv", csv(&x, NAMES, labels(&y)));
    let options = "--epochs 4 --hidden 9,7 --batch-size 20 --activation gelu,tanh --dropout 0.1,0.2 --init xavier-uniform \
                   --label-smoothing 0.1 --class-weights balanced --optimizer adamw --betas 0.8,0.9 --eps 1e-6 --weight-decay 0.1 \
                   --clip-norm 0.5 --lr 0.02 --lr-schedule cosine --warmup 3 --lr-factors weights=0.9,biases=0.5,layers=1,0.5 \
                   --seed 7 --init-seed 8 --threads 2 --scale robust --clip smooth --test-fraction 0.1";
    let settings = TrainSettings {
        epochs: Some(4),
        hidden: Some([9, 7].into()),
        batch_size: Some(20),
        activation: Some([Activation::Gelu, Activation::Tanh].into()),
        dropout: Some([0.1, 0.2].into()),
        init: Some("xavier-uniform".parse().unwrap()),
        label_smoothing: Some(0.1),
        class_weights: Some(ClassWeights::Balanced),
        optimizer: Some(OptimizerKind::AdamW),
        betas: Some([0.8, 0.9].into()),
        eps: Some(1e-6),
        weight_decay: Some(0.1),
        clip_norm: Some(0.5),
        lr: Some(0.02),
        lr_schedule: Some(RateSchedule::Cosine),
        warmup: Some(3),
        lr_factors: Some("weights=0.9,biases=0.5,layers=1,0.5".parse().unwrap()),
        seed: Some(7),
        init_seed: Some(8),
        threads: Some(2),
        scale: Some("robust".parse().unwrap()),
        clip: Some(Clip::Smooth),
        test_fraction: Some(0.1),
        ..Default::default()
    };
    // The same in text.
    let text = toml::to_string(&settings).unwrap();
    assert_eq!(toml::from_str::<TrainSettings>(&text).unwrap(), settings, "{text}");
    let model = Trainer::new(settings).device(DeviceRequest::Cpu).fit(&x, &y).unwrap();
    assert_same(&place, &options.split_whitespace().collect::<Vec<_>>(), &model);
    let options = "--epochs 3 --hidden 6 --optimizer rmsprop --momentum 0.5 --betas 0.9 --lr-schedule step --lr-gamma 0.5 --lr-every 2 \
                   --parametrization ntk --embeddings pbld --input-scaling yes --lr-factors scale=2,embeddings=0.5";
    let settings = TrainSettings {
        epochs: Some(3),
        hidden: Some(6.into()),
        optimizer: Some(OptimizerKind::RmsProp),
        momentum: Some(0.5),
        betas: Some(0.9.into()),
        lr_schedule: Some(RateSchedule::Step),
        lr_gamma: Some(0.5),
        lr_every: Some(2),
        parametrization: Some(Parametrization::Ntk),
        embeddings: Some(Embeddings::Pbld),
        input_scaling: Some(YesNo::Yes),
        lr_factors: Some("scale=2,embeddings=0.5".parse().unwrap()),
        ..Default::default()
    };
    let model = Trainer::new(settings).device(DeviceRequest::Cpu).fit(&x, &y).unwrap();
    assert_same(&place, &options.split_whitespace().collect::<Vec<_>>(), &model);
    let model =
        trainer("epochs = 2\nhidden = 6\noptimizer = \"momentum\"\nmomentum = 0.7\nweight-decay = 0.01");
    let options = ["--epochs", "2", "--hidden", "6", "--optimizer", "momentum", "--momentum", "0.7"];
    assert_same(&place, &[&options[..], &["--weight-decay", "0.01"]].concat(), &model.fit(&x, &y).unwrap());
}

#[test]
fn tables_with_validation_rows_have_the_preset_for_tables() {
    let (place, (x, y)) = (Workplace::new(), rows(200, 3));
    place.write("t.csv", csv(&x, NAMES, labels(&y)));
    let held_out =
        |more: &str| trainer(&format!("epochs = 3\nhidden = 16\nvalidation-fraction = 0.2\n{more}"));
    let options = ["--epochs", "3", "--hidden", "16", "--validation-fraction", "0.2"];
    let model = held_out("").fit(&x, &y).unwrap();
    assert!(model.network.input_layer().is_some());
    assert_same(&place, &options, &model);
    // The same optimizer, given only by name, has the betas of the preset.
    let last = held_out("optimizer = \"adam\"\nkeep = \"last\"").fit(&x, &y).unwrap();
    assert_same(&place, &[&options[..], &["--optimizer", "adam", "--keep", "last"]].concat(), &last);
    let plain = held_out("preset = \"plain\"").fit(&x, &y).unwrap();
    assert!(plain.network.input_layer().is_none());
    assert_same(&place, &[&options[..], &["--preset", "plain"]].concat(), &plain);
}

#[test]
fn the_preset_has_patience_and_a_temperature_unless_they_are_declined() {
    let (place, (x, _)) = (Workplace::new(), rows(60, 8));
    let mut noise = noise(9);
    let y: Vec<u32> = (0..60).map(|_| u32::from(noise() < 0.5)).collect();
    place.write("t.csv", csv(&x, NAMES, labels(&y)));
    let of = |more: &str| trainer(&format!("hidden = 4\nvalidation-fraction = 0.3\n{more}"));
    let trainer = of("");
    let options = ["--hidden", "4", "--validation-fraction", "0.3"];
    let model = trainer.fit(&x, &y).unwrap();
    assert!(model.settings.contains_key("temperature"));
    assert_same(&place, &options, &model);
    let epochs = |trainer: &Trainer| {
        let mut run = trainer.start(&x, &y).unwrap();
        while run.next().unwrap().is_some() {}
        run.epochs().len()
    };
    let endless = of("patience = \"none\"");
    assert!(epochs(&trainer) < 256);
    assert_eq!([&endless, &of("keep = \"last\"")].map(epochs), [256, 256]);
    let model = of("patience = \"none\"\nno-temperature = true").fit(&x, &y).unwrap();
    assert!(!model.settings.contains_key("temperature"));
    assert_same(&place, &[&options[..], &["--patience", "none", "--no-temperature"]].concat(), &model);
}

#[test]
fn rows_to_validate_on_and_to_test_on_are_files_or_arrays() {
    let (place, (x, y)) = (Workplace::new(), rows(300, 4));
    let part = |range: std::ops::Range<usize>| (x.slice(s![range.clone(), ..]).to_owned(), y[range].to_vec());
    let [train, validation, test] = [part(0..200), part(200..250), part(250..300)];
    for (name, (x, y)) in [("t.csv", &train), ("v.csv", &validation), ("e.csv", &test)] {
        place.write(name, csv(x, NAMES, labels(y)));
    }
    let trainer = trainer("preset = \"plain\"\nhidden = 8\nepochs = 30\npatience = 2\nlr = 0.5");
    let trainer = trainer.validation(&validation.0, &validation.1).test(&test.0, &test.1);
    let mut run = trainer.start(&train.0, &train.1).unwrap();
    while run.next().unwrap().is_some() {}
    let summary = run.summary().unwrap();
    let options =
        "--preset plain --hidden 8 --epochs 30 --patience 2 --lr 0.5 --validation v.csv --test e.csv";
    assert_same(&place, &options.split_whitespace().collect::<Vec<_>>(), &summary.model);
    let kept = summary.kept_epoch().unwrap();
    for (score, (x, y)) in [(&kept.validation, &validation), (&kept.test, &test)] {
        let score = score.as_ref().unwrap();
        let again = summary.model.score(x, y).unwrap();
        assert_eq!(score.accuracy, again.accuracy);
        assert!((score.loss - again.loss).abs() < 1e-6 * score.loss, "{} {}", score.loss, again.loss);
    }
}

#[test]
fn values_are_predicted_as_from_files() {
    let (place, (x, _)) = (Workplace::new(), rows(200, 5));
    let y = Array2::from_shape_fn((200, 2), |(row, column)| x[[row, column]] * 10.0 + x[[row, 3]]);
    let texts = |columns: usize| {
        y.rows()
            .into_iter()
            .map(move |row| row.iter().take(columns).map(f32::to_string).collect::<Vec<_>>().join(","))
    };
    let mut trainer = trainer("epochs = 5\nhidden = 8");
    let options = ["--epochs", "5", "--hidden", "8", "--loss", "mse", "--target"];
    place.write("t.csv", csv(&x, "a,b,c,d,u,v", texts(2)));
    assert_same(&place, &[&options[..], &["u", "v"]].concat(), &trainer.fit(&x, &y).unwrap());
    place.write("t.csv", csv(&x, "a,b,c,d,u", texts(1)));
    assert_same(&place, &[&options[..], &["u"]].concat(), &trainer.fit(&x, &y.column(0)).unwrap());
    (trainer.settings.scale_target, trainer.settings.lr) = (Some(ScaleTarget::None), Some(1e-5));
    let unscaled = trainer.fit(&x, &y.column(0)).unwrap();
    let unscaled_options = [&options[..], &["u", "--scale-target", "none", "--lr", "1e-5"]].concat();
    assert_same(&place, &unscaled_options, &unscaled);
}

#[test]
fn missing_values_categories_and_weights_are_as_in_files() {
    let (place, (mut x, y)) = (Workplace::new(), rows(200, 6));
    x[[7, 0]] = f32::NAN;
    x[[11, 3]] = f32::NAN;
    let weights: Vec<f32> = (0..200).map(|row| (row % 5) as f32 * 500.0).collect();
    let texts = y.iter().zip(&weights).map(|(y, weight)| format!("{weight},class {y}"));
    place.write("t.csv", csv(&x, "a,b,c,d,w,class", texts));
    let names: Vec<String> = y.iter().map(|y| format!("class {y}")).collect();
    let trainer = trainer("epochs = 3\nhidden = 8").missing(Missing::Fill).categorical([3]).weights(weights);
    let options = ["--epochs", "3", "--hidden", "8", "--categorical", "d", "--weight", "w"];
    let mut other = trainer.clone();
    other.settings.one_hot = Some(2);
    let model = other.fit(&x, &names).unwrap();
    assert_same(&place, &[&options[..], &["--one-hot", "2"]].concat(), &model);
    let model = trainer.fit(&x, &names).unwrap();
    assert_same(&place, &options, &model);
    // Columns with missing values in training may have missing values in prediction.
    let predicted = model.predict(&x).unwrap();
    assert_eq!((predicted.unknown_cells, predicted.probabilities.dim()), (0, (200, 3)));
    place.write("p.csv", csv(&x, "a,b,c,d,w", (0..200).map(|_| "1".to_owned())));
    let printed = place.succeed(&["predict", "--model", "m.safetensors", "p.csv", "--device", "cpu"]).stdout;
    for (line, label) in printed.lines().skip(1).zip(predicted.labels()) {
        assert_eq!(line.split(',').next(), Some(label));
    }
}

#[test]
fn images_train_in_the_same_order() {
    // More rows than a block, whose order differs in the first epoch.
    let (place, rows) = (Workplace::new(), Rows::new(4500, 7));
    place.write("t.csv", rows.csv());
    let x = Array2::from_shape_fn((4500, SIDE * SIDE), |(row, pixel)| f32::from(rows.pixels[row][pixel]));
    let model = trainer("epochs = 2\nhidden = 12").fit(&x, &rows.classes).unwrap();
    let sides = model.data_schema.image.map(|form| (form.height, form.width));
    assert_eq!((model.transform.to_string().as_str(), sides), ("1/255", Some((SIDE, SIDE))));
    assert_same(&place, &["--epochs", "2", "--hidden", "12"], &model);
    let sorted = {
        let mut order: Vec<usize> = (0..4500).collect();
        order.sort_by_key(|row| rows.classes[*row]);
        order
    };
    let rows = Rows {
        pixels: sorted.iter().map(|row| rows.pixels[*row]).collect(),
        classes: sorted.iter().map(|row| rows.classes[*row]).collect(),
    };
    place.write("t.csv", rows.csv());
    let x = Array2::from_shape_fn((4500, SIDE * SIDE), |(row, pixel)| f32::from(rows.pixels[row][pixel]));
    let model = trainer("epochs = 1\nhidden = 12").fit(&x, &rows.classes).unwrap();
    assert_same(&place, &["--epochs", "1", "--hidden", "12"], &model);
}

#[test]
fn a_gpu_gives_the_same_weights_from_arrays_and_from_files() {
    let (place, (x, y)) = (Workplace::new(), rows(200, 8));
    place.write("t.csv", csv(&x, NAMES, labels(&y)));
    let model = trainer("epochs = 2\nhidden = 8").device(DeviceRequest::Gpu).fit(&x, &y).unwrap();
    assert!(model.origin.as_ref().is_some_and(|origin| origin.schedule.is_some()));
    assert_same(&place, &["--epochs", "2", "--hidden", "8", "--device", "gpu"], &model);
}
