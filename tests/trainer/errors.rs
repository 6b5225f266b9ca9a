//! Errors of arrays and settings are one line with numbers.

use tinytrain::data::{ReadOptions, Reader, Scale, Source};
use tinytrain::ndarray::{Array2, array};
use tinytrain::{
    DeviceRequest, Error, Keep, Loss, Missing, Model, OptimizerKind, Patience, RateSchedule, TrainSettings,
    Trainer,
};

fn trainer() -> Trainer {
    with(TrainSettings::default())
}

/// Returns the trainer with these settings.
fn with(settings: TrainSettings) -> Trainer {
    let hidden = settings.hidden.clone().or(Some([4].into()));
    let epochs = settings.epochs.or(Some(1));
    Trainer::new(TrainSettings { hidden, epochs, ..settings }).device(DeviceRequest::Cpu)
}

fn x() -> Array2<f32> {
    Array2::from_shape_fn((6, 2), |(row, column)| (row * (2 + column)) as f32)
}

const Y: [u8; 6] = [0, 1, 0, 1, 0, 1];

#[track_caller]
fn assert_error<T>(result: Result<T, Error>, message: &str) {
    let error = result.map(|_| ()).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.exit_code()), (message, 2));
}

#[test]
fn arrays_have_the_shape_and_the_values_of_rows() {
    let (trainer, x) = (trainer(), x());
    let with = |row: usize, column: usize, value: f32| {
        let mut x = x.clone();
        x[[row, column]] = value;
        x
    };
    assert_error(
        trainer.fit(&with(2, 1, f32::NAN), &Y),
        "x, row 3, column 2: expected a finite number, found NaN (Missing::Fill treats it as a missing value)",
    );
    assert_error(
        trainer.fit(&with(0, 0, f32::NEG_INFINITY), &Y),
        "x, row 1, column 1: expected a finite number, found -inf",
    );
    let fills = trainer.clone().missing(Missing::Fill);
    assert_error(
        fills.fit(&with(5, 0, f32::INFINITY), &Y),
        "x, row 6, column 1: expected a finite number, found inf",
    );
    assert_error(trainer.fit(&x, &Y[..5]), "y: expected 6 labels, one for each row of x, found 5");
    assert_error(
        trainer.fit(&x, &[0.5f32; 7]),
        "y: expected 6 rows of values, one for each row of x, found 7",
    );
    assert_error(
        trainer
            .fit(&x, &array![[0.0f32, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, f32::NAN], [9.0, 9.0]]),
        "y, row 5, column 2: expected a finite number, found NaN",
    );
    assert_error(
        trainer.fit(&x, &Array2::zeros((6, 0))),
        "y: expected values to predict, found an array without columns",
    );
    assert_error(
        trainer.fit(&Array2::zeros((0, 3)), &[0u8; 0]),
        "x: expected rows and columns, found an array of shape [0, 3]",
    );
    assert_error(trainer.fit(&x, &[7u8; 6]), "y: expected labels of two or more classes, found only label 7");
    assert_error(
        trainer.fit(&x, &["a", "b", "a", "", "b", "a"]),
        "y, row 4: expected a label, text without NUL bytes, found \"\"",
    );
    assert_error(
        trainer.clone().weights([1.0; 4]).fit(&x, &Y),
        "weights: expected 6 weights, one for each row of x, found 4",
    );
    assert_error(
        trainer.clone().weights([1.0, 1.0, -1.0, 1.0, 1.0, 1.0]).fit(&x, &Y),
        "weights, row 3: expected a finite number of 0 or more, found -1",
    );
    assert_error(
        trainer.clone().categorical([2]).fit(&x, &Y),
        "categorical: expected columns below 2, counted from 0, found 2",
    );
    let far = array![[1e9f32, 0.0], [1e9 + 64.0, 1.0], [1e9, 2.0], [1e9, 3.0], [1e9, 5.0], [1e9, 4.0]];
    let error = trainer.fit(&far, &Y).unwrap_err().to_string();
    assert!(error.starts_with("x, column 1: expected values that 32-bit floats can distinguish"), "{error}");
    // Equal values may have been rounded to one, except whole numbers below 2^23.
    let constant = |value: f32| {
        let x = array![[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 5.0], [0.0, 4.0f32]];
        x + array![value, 0.0]
    };
    assert!(trainer.fit(&constant(1e9), &Y).is_err());
    trainer.fit(&constant(400_000.0), &Y).unwrap();
    let error = trainer.fit(&x, &far.column(0)).unwrap_err().to_string();
    assert!(error.starts_with("y, column 1: expected values that 32-bit floats can distinguish"), "{error}");
}

#[test]
fn held_out_rows_have_the_form_of_training_rows() {
    let (trainer, x) = (trainer(), x());
    assert_error(
        trainer.clone().validation(&x, &[0.5f32; 6]).fit(&x, &Y),
        "validation y: expected labels, as for training, found values to predict",
    );
    assert_error(
        trainer.clone().test(&Array2::zeros((6, 3)), &Y).fit(&x, &Y),
        "test x: expected 2 inputs per row, as the model takes, found 3",
    );
    assert_error(
        trainer.clone().validation(&x, &Y[..3]).fit(&x, &Y),
        "validation y: expected 6 labels, one for each row of validation x, found 3",
    );
    assert_error(
        trainer.test(&x, &[0, 1, 0, 2, 0, 1]).fit(&x, &Y),
        "test y, row 4: expected labels of the training data (0, 1), found label \"2\"",
    );
}

#[test]
fn settings_go_with_one_another() {
    let (x, y) = (x(), Y);
    let refuses = |trainer: Trainer, message: &str| assert_error(trainer.fit(&x, &y), message);
    let none = TrainSettings::default;
    refuses(with(TrainSettings { epochs: Some(0), ..none() }), "epochs: expected 1 or more, found 0");
    refuses(
        with(TrainSettings { patience: Some(Patience::Epochs(3)), ..none() }),
        "patience: expected validation data (--validation or --validation-fraction), found none",
    );
    refuses(
        with(TrainSettings { keep: Some(Keep::Best), ..none() }),
        "keep: expected validation data (--validation or --validation-fraction), found none",
    );
    refuses(
        with(TrainSettings { validation_fraction: Some(0.5), ..none() }).validation(&x, &y),
        "validation-fraction: expected either a fraction of the training rows or a separate file, found both",
    );
    refuses(
        with(TrainSettings { lr_gamma: Some(0.5), ..none() }),
        "lr-gamma: expected --lr-schedule step or exponential, found constant",
    );
    refuses(
        with(TrainSettings { lr_schedule: Some(RateSchedule::Cosine), lr_every: Some(2), ..none() }),
        "lr-every: expected --lr-schedule step, found cosine",
    );
    refuses(
        with(TrainSettings { loss: Some(Loss::Mse), ..none() }),
        "loss: expected a loss of classes, for targets that are labels, found mse",
    );
    refuses(
        with(TrainSettings { dropout: Some([0.1, 0.2].into()), ..none() }),
        "dropout: expected one for all hidden layers, or one for each of 1, found 2 values",
    );
    let source = Source::Csv { path: "data/tables/iris.csv".into() };
    let reader = || Reader::open(&source, &ReadOptions::default()).unwrap();
    for (trainer, setting) in [
        (trainer().validation(&x, &y), "validation"),
        (trainer().missing(Missing::Fill), "missing"),
        (trainer().weights([1.0]), "weights"),
    ] {
        let message = format!("{setting}: expected rows from arrays, found rows from a reader");
        assert_error(trainer.fit_reader(reader()), &message);
    }
    let device = "no such card".parse().unwrap_or(DeviceRequest::Index(999));
    let adam = with(TrainSettings { optimizer: Some(OptimizerKind::Adam), ..none() });
    let error = adam.device(device).fit(&x, &y).unwrap_err();
    assert!(matches!(error, Error::Device(_)), "{error}");
}

#[test]
fn rows_to_predict_have_the_form_of_training_rows() {
    let x = x();
    let model = trainer().fit(&x, &Y).unwrap();
    assert_error(model.predict(&Array2::zeros((3, 4))), "x: expected 2 columns, as in training, found 4");
    let missing = array![[1.0f32, 2.0], [f32::NAN, 1.0]];
    assert_error(
        model.predict(&missing),
        "x, row 2, column 1: expected a finite number, found NaN, where no training row misses a value",
    );
    assert_error(
        model.score(&x, &[0u8, 1, 0, 1, 0, 3]),
        "y, row 6: expected labels of the training data (0, 1), found label \"3\"",
    );
    assert_error(
        model.score(&x, &[0.5f32; 6]),
        "y: expected labels, as for training, found values to predict",
    );
    let values = trainer().fit(&x, &x.column(0)).unwrap();
    assert_error(
        values.score(&x, &x),
        "y: expected values to predict, as for training, found 2 values to predict for each row",
    );
    let (hidden, scale) = (Some([32].into()), Some(Scale::None));
    let unscaled = with(TrainSettings { hidden, scale, ..Default::default() }).fit(&x, &Y).unwrap();
    let error = unscaled.predict(&array![[1.0, 2.0], [f32::MAX, f32::MAX]]).unwrap_err();
    assert!(matches!(error, Error::NonFinitePrediction { sample: 2, .. }), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let error = model.save(folder.path()).unwrap_err();
    assert!(matches!(error, Error::Write { .. }), "{error}");
    assert!(matches!(Model::load("no/such/model"), Err(Error::Read { .. })));
}
