//! Models of arrays: saved, loaded, and used by the program.

use tinytrain::ndarray::{Array2, array};
use tinytrain::train::End;
use tinytrain::{DeviceRequest, Event, Model, TrainSettings, Trainer};

use crate::program::Workplace;

fn trainer() -> Trainer {
    let settings = TrainSettings { hidden: Some([8].into()), epochs: Some(40), ..Default::default() };
    Trainer::new(settings).device(DeviceRequest::Cpu)
}

fn x() -> Array2<f32> {
    Array2::from_shape_fn((200, 2), |(row, column)| ((row * (7 + 4 * column)) % 100) as f32 / 10.0)
}

#[test]
fn labels_have_names_and_the_program_reads_the_model() {
    let (place, x) = (Workplace::new(), x());
    let y: Vec<String> =
        x.rows().into_iter().map(|row| if row[0] > row[1] { "left" } else { "right" }.to_owned()).collect();
    let model = trainer().fit(&x, &y).unwrap();
    model.save(place.path("m")).unwrap();
    let loaded = Model::load(place.path("m")).unwrap();
    assert_eq!(loaded.data_schema, model.data_schema);
    let predicted = loaded.predict(&x).unwrap();
    assert_eq!(predicted, model.predict(&x).unwrap());
    assert_eq!((predicted.values.dim(), predicted.probabilities.dim()), ((200, 0), (200, 2)));
    let right = predicted.labels().zip(&y).filter(|(label, y)| label == y).count();
    let score = loaded.score(&x, &y).unwrap();
    assert_eq!(score.accuracy, right as f64 / 200.0);
    assert!(score.accuracy > 0.95 && score.loss < 0.2, "{score:?}");

    // The columns by position, with or without the labels after them.
    let rows: Vec<String> = x.rows().into_iter().map(|row| format!("{},{}", row[0], row[1])).collect();
    place.write("p.csv", rows.join("\n"));
    let printed = place.succeed(&["predict", "--model", "m", "p.csv", "--device", "cpu"]).stdout;
    for (line, row) in printed.lines().skip(1).zip(0..) {
        let expected = format!("{},{:.6}", predicted.label(row), predicted.probabilities[[row, 0]]);
        assert!(line.starts_with(&expected), "{line} {expected}");
    }
    let rows: Vec<String> = rows.iter().zip(&y).map(|(row, y)| format!("{row},{y}")).collect();
    place.write("e.csv", rows.join("\n"));
    let printed =
        place.succeed(&["eval", "--model", "m", "--data", "e.csv", "--device", "cpu", "--format", "json"]);
    assert_eq!(printed.objects()[0]["accuracy"], score.accuracy);
}

#[test]
fn values_come_in_their_own_units_from_any_layout() {
    let x = x();
    let y = Array2::from_shape_fn((200, 2), |(row, column)| [1000.0, -3.0][column] * x[[row, column]] + 50.0);
    let model = trainer().fit(&x, &y).unwrap();
    let turned = x.t().as_standard_layout().into_owned();
    let predicted = model.predict(&turned.t()).unwrap();
    assert_eq!(predicted, model.predict(&x).unwrap());
    assert_eq!((predicted.classes.len(), predicted.values.dim()), (0, (200, 2)));
    assert_eq!(predicted.labels().len(), 0);
    let errors = model.score(&x, &y).unwrap().values.unwrap();
    assert!(errors.r2 > 0.98, "{errors:?}");
    let worst = (&predicted.values - &y).mapv(f32::abs);
    let scale = array![1000.0f32, 3.0];
    assert!((worst / scale).iter().all(|error| *error < 2.0));
}

/// In a file the wrong column may have been named; users of arrays know their values.
#[test]
fn values_of_an_array_may_all_be_the_same() {
    for value in [0.0, 2.5, 1e12] {
        let y = Array2::from_elem((200, 1), value);
        let predicted = trainer().fit(&x(), &y).unwrap().predict(&x()).unwrap().values;
        assert!(predicted.iter().all(|found| (found - value).abs() < 0.5), "{value}: {predicted}");
    }
}

#[test]
fn a_run_is_stopped_between_epochs_and_within_one() {
    let x = x();
    let y: Vec<bool> = x.rows().into_iter().map(|row| row.sum() > 9.0).collect();
    let ended = |stops: &dyn Fn(&Event) -> bool| {
        let mut run = trainer().start(&x, &y).unwrap();
        let mut interrupted = None;
        while let Some(event) = run.next().unwrap() {
            if stops(&event) {
                run.stop();
            }
            if let Event::Interrupted { steps, .. } = event {
                interrupted = Some(steps);
            }
        }
        let summary = run.summary().unwrap();
        assert_eq!(summary.end, End::Interrupted);
        (summary.epochs.len(), interrupted, summary.model)
    };
    let (epochs, steps, model) =
        ended(&|event| matches!(event, Event::Epoch { epoch, .. } if epoch.epoch == 3));
    // Batches of 16 rows.
    assert_eq!((epochs, steps), (3, Some(3 * 13)));
    let mut three = trainer();
    three.settings.epochs = Some(3);
    assert_eq!(model.parameters, three.fit(&x, &y).unwrap().parameters);
    let (epochs, steps, _) = ended(&|event| matches!(event, Event::Started(_)));
    assert_eq!((epochs, steps), (0, Some(0)));
}
