//! Rows with different weights: in training, and in measures.

use serde_json::Value;

use crate::program::Workplace;

const CPU: [&str; 4] = ["--device", "cpu", "--format", "json"];

/// R's Titanic table: a row for each kind of person, and their number.
const TITANIC: [u32; 32] = [
    0, 0, 35, 0, 0, 0, 17, 0, 118, 154, 387, 670, 4, 13, 89, 3, 5, 11, 13, 0, 1, 13, 14, 0, 57, 14, 75, 192,
    140, 80, 76, 20,
];

/// Returns the table, with every weight multiplied by a factor.
fn titanic(factor: u32) -> String {
    let row = |(row, count): (usize, &u32)| {
        let class = ["1st", "2nd", "3rd", "Crew"][row % 4];
        let sex = ["Male", "Female"][row / 4 % 2];
        let age = ["Child", "Adult"][row / 8 % 2];
        format!("{class},{sex},{age},{},{}\n", count * factor, ["No", "Yes"][row / 16])
    };
    "Class,Sex,Age,Freq,Survived\n".to_owned() + &TITANIC.iter().enumerate().map(row).collect::<String>()
}

fn evaluated(place: &Workplace, data: &[&str]) -> Value {
    place.succeed(&[&["eval", "--model", "m.safetensors"][..], data, &CPU].concat()).objects().remove(0)
}

fn parameters(place: &Workplace) -> Vec<f64> {
    ["w1", "b1", "w2", "b2"].iter().flat_map(|name| place.model("m.safetensors").numbers(name)).collect()
}

/// Weights are relative: a constant weight has no effect, and neither does their unit.
#[test]
fn weights_are_divided_by_their_mean() {
    let place = Workplace::new();
    let row = |row: usize, weight: usize| {
        format!("{},{},{weight},{}\n", row * 7 % 13, row % 5, ["x", "y"][usize::from(row * 7 % 13 > 6)])
    };
    let table = |name: &str, weight: &dyn Fn(usize) -> usize| {
        let rows = (0..90).map(|number| row(number, weight(number)));
        place.write(name, "a,b,w,class\n".to_owned() + &rows.collect::<String>());
    };
    table("even.csv", &|_| 1000);
    table("small.csv", &|row| 1 + row % 3);
    table("large.csv", &|row| 1024 * (1 + row % 3));
    let train = |data: &str, options: &[&str]| {
        let common = ["train", "--data", data, "--epochs", "5", "--hidden", "4", "--out", "m.safetensors"];
        let objects = place.succeed(&[&common[..], options, &CPU].concat()).objects();
        let losses: Vec<Value> = objects.iter().map(|object| object["train_loss"].clone()).collect();
        (parameters(&place), losses)
    };
    let plain = train("even.csv", &["--exclude", "w"]);
    for more in [&[][..], &["--class-weights", "balanced"], &["--test-fraction", "0.2"], &["--scale", "none"]]
    {
        let plain = if more.is_empty() {
            plain.clone()
        } else {
            train("even.csv", &[more, &["--exclude", "w"]].concat())
        };
        assert!(train("even.csv", &[more, &["--weight", "w"]].concat()) == plain, "{more:?}");
    }
    let small = train("small.csv", &["--weight", "w"]);
    assert_eq!(train("large.csv", &["--weight", "w"]), small);
    assert_ne!(small, plain);
}

#[test]
fn scores_are_weighted() {
    let place = Workplace::new();
    place.write("t.csv", titanic(1));
    let train = [
        "train", "--data", "t.csv", "--target", "Survived", "--weight", "Freq", "--epochs", "60", "--lr",
        "0.02", "--hidden", "16",
    ];
    let out = ["--out", "m.safetensors"];
    let outcome = place.succeed(&[&train[..], &["--test", "t.csv"], &out, &CPU].concat());
    assert!(
        outcome.stderr.contains("rows are weighted by column Freq, divided by its mean"),
        "{}",
        outcome.stderr
    );
    assert!(!outcome.stderr.contains("no better than"), "{}", outcome.stderr);
    let summary = outcome.objects().pop().unwrap();
    let found = evaluated(&place, &[]);
    // 1,490 of 2,201 died; each kind of person occurs once with either outcome.
    let accuracy = found["accuracy"].as_f64().unwrap();
    assert!((0.77..0.80).contains(&accuracy), "{found}");
    assert_eq!((&found["weighted"], &summary["test_accuracy"]), (&Value::Bool(true), &found["accuracy"]));
    for measure in ["balanced_accuracy", "log_loss", "auc"] {
        let (eval, train) =
            (found[measure].as_f64().unwrap(), summary[format!("test_{measure}")].as_f64().unwrap());
        assert!((eval - train).abs() < 1e-9 && eval > 0.4 && eval < 0.8, "{measure}: {eval}, {train}");
    }
    // As if each row were repeated by its weight.
    let rows = titanic(1);
    let rows = rows.lines().skip(1).zip(TITANIC).flat_map(|(row, count)| {
        let cells: Vec<&str> = row.split(',').collect();
        vec![[cells[0], cells[1], cells[2], cells[4]].join(",") + "\n"; count as usize]
    });
    place.write("persons.csv", "Class,Sex,Age,Survived\n".to_owned() + &rows.collect::<String>());
    let persons = evaluated(&place, &["--data", "persons.csv"]);
    assert_eq!((&persons["samples"], &persons["weighted"]), (&2201.into(), &Value::Bool(false)));
    for measure in ["loss", "accuracy", "balanced_accuracy", "macro_f1", "log_loss", "auc"] {
        let (persons, found) = (persons[measure].as_f64().unwrap(), found[measure].as_f64().unwrap());
        assert!((persons - found).abs() < 1e-9, "{measure}: {persons}, {found}");
    }
    let text = place.succeed(&["eval", "--model", "m.safetensors", "--device", "cpu"]).stdout;
    assert!(text.contains("\nweighted by column Freq\n") && text.contains("1,490"), "{text}");
    assert!(text.contains("\nconfusion matrix, weighted: true classes down"), "{text}");
    let matrix = |found: &Value| -> Vec<f64> {
        let rows = found["confusion"].as_array().unwrap().iter();
        rows.flat_map(|row| row.as_array().unwrap()).map(|count| count.as_f64().unwrap()).collect()
    };
    assert_eq!((matrix(&found), matrix(&found).iter().sum()), (matrix(&persons), 2201.0));
    // The page of a report has the same results for both.
    place.succeed(&[&train[..], &["--out", "r"], &CPU].concat());
    let [weighted, persons] = ["t.csv", "persons.csv"].map(|file| {
        place.succeed(&["report", "r", "--data", file, "--device", "cpu"]);
        std::fs::read_to_string(place.path("report.html")).unwrap()
    });
    let (start, end) = ("Expected calibration error ", "</p>");
    let [error, expected] =
        [&weighted, &persons].map(|page| page.split_once(start).unwrap().1.split_once(end).unwrap().0);
    assert_eq!(error.replace(", weighted", ""), expected);
    assert!(error.ends_with("over 10 bins, weighted."), "{error}");
    let cells = |page: &str| {
        let (_, rest) = page
            .split_once("<caption>Confusion matrix: true classes down, predicted classes across")
            .unwrap();
        let (caption, cells) = rest.split_once("</table>").unwrap().0.split_once('<').unwrap();
        (caption == ", weighted", cells.to_owned())
    };
    assert_eq!((cells(&weighted).0, cells(&persons).0), (true, false));
    assert_eq!(cells(&weighted).1, cells(&persons).1);
    // Without test rows, the network is not reported as no better than a guess, either.
    let alone = place.succeed(&[&train[..], &out, &CPU].concat());
    assert!(!alone.stderr.contains("no better than"), "{}", alone.stderr);
    // A file without the column.
    let outcome = place.succeed(&[&train[..], &["--test", "persons.csv"], &out, &CPU].concat());
    let expected = "persons.csv has no column Freq: all rows have the same weight";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    // Once, for any number of trained networks.
    let of_table = [&train[1..7], &["--epochs", "1", "--hidden", "4", "--device", "cpu"]].concat();
    let sweep = ["--trials", "2", "--validation", "persons.csv", "--test", "persons.csv", "--out", "s"];
    let folds = ["--folds", "2", "--validation", "persons.csv"];
    for (command, more, times) in [
        ("sweep", &sweep[..], 2),
        ("train", &folds, 1),
        ("sweep", &[&folds[..], &["--trials", "2", "--out", "f"]].concat(), 1),
    ] {
        let outcome = place.succeed(&[&[command][..], &of_table, more].concat());
        assert_eq!(outcome.stderr.matches(expected).count(), times, "{}", outcome.stderr);
    }
}

#[test]
fn measures_of_values_are_weighted() {
    let place = Workplace::new();
    let row = |row: usize| {
        format!(
            "{},{},{}\n",
            row % 7,
            3 * (row % 7) + row % 2,
            if row.is_multiple_of(5) { 0 } else { row % 4 }
        )
    };
    place.write("t.csv", "a,y,w\n".to_owned() + &(0..80).map(row).collect::<String>());
    let repeated = (0..80).flat_map(|number| {
        let count = if number % 5 == 0 { 0 } else { number % 4 };
        vec![row(number); count]
    });
    place.write("r.csv", "a,y,v\n".to_owned() + &repeated.collect::<String>());
    let train = ["train", "--data", "t.csv", "--target", "y", "--task", "regression", "--weight", "w"];
    let more = ["--test", "t.csv", "--epochs", "3", "--out", "m.safetensors"];
    let summary = place.succeed(&[&train[..], &more, &CPU].concat()).objects().pop().unwrap();
    let (found, repeated) = (evaluated(&place, &[]), evaluated(&place, &["--data", "r.csv"]));
    for measure in ["loss", "rmse", "mae", "r2"] {
        let [a, b, c] = [&found[measure], &repeated[measure], &summary[format!("test_{measure}")]]
            .map(|value| value.as_f64().unwrap());
        assert!((a - b).abs() < 1e-9 && (a - c).abs() < 1e-9, "{measure}: {a}, {b}, {c}");
    }
    place.write("none.csv", "a,y,w\n1,3,0\n2,6,0\n");
    let outcome = place.run(&["eval", "--model", "m.safetensors", "--data", "none.csv", "--device", "cpu"]);
    let expected = "error: expected rows that count in scores, found only weights of 0, of 2 rows";
    assert_eq!((outcome.code, outcome.error()), (2, expected));
}
