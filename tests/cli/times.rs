//! `--time`: formats of times, and the split of rows by time.

use crate::program::Workplace;

#[test]
fn times_are_compared_in_every_notation() {
    let place = Workplace::new();
    // The hours of a day in UTC, as shown by clocks in two places: the last hours are test rows, in any order
    // of the file.
    let written: [fn(usize) -> String; 4] = [
        |hour| format!("2026-03-02T{hour:02}:30:00+00:00"),
        |hour| match hour {
            0..22 => format!("2026-03-02 {:02}:30+02:00", hour + 2),
            _ => format!("2026-03-03 {:02}:30+02:00", hour - 22),
        },
        |hour| format!("2026/03/02 {hour}:30"),
        |hour| format!("2026/3/{}", hour + 1),
    ];
    for write in written {
        let row = |row: usize| {
            let hour = row * 7 % 24;
            let class = if hour < 18 { ["a", "b"][hour % 2] } else { ["b", "a"][hour % 2] };
            format!("{},{},{class}\n", hour % 2, write(hour))
        };
        place.write("t.csv", "x,when,class\n".to_owned() + &(0..240).map(row).collect::<String>());
        let train =
            ["train", "--data", "t.csv", "--time", "when", "--test-fraction", "0.25", "--device", "cpu"];
        let options = ["--hidden", "4", "--epochs", "30", "--out", "m.safetensors", "--format", "json"];
        let objects = place.succeed(&[&train[..], &options].concat()).objects();
        // There x means the opposite of the training rows.
        assert_eq!(objects.last().unwrap()["test_accuracy"], 0.0, "{}", write(3));
    }
}

#[test]
fn rows_of_one_time_are_on_one_side() {
    let place = Workplace::new();
    // Seven rows per day, for 20 days: a fifth of the rows ends within a day.
    let table = |day: &dyn Fn(u32) -> u32| {
        let row = |row: u32| {
            format!("{},{},{}\n", row * 7 % 10, day(row), ["low", "mid", "high"][row as usize % 3])
        };
        "a,day,class\n".to_owned() + &(0..140).map(row).collect::<String>()
    };
    place.write("t.csv", table(&|row| row * 3 % 20));
    place.write("one.csv", table(&|_| 5));
    let common = [
        "train",
        "--device",
        "cpu",
        "--hidden",
        "4",
        "--epochs",
        "2",
        "--time",
        "day",
        "--out",
        "m.safetensors",
    ];
    let run = |options: &[&str]| place.run(&[&common[..], options, &["--format", "json"]].concat());
    let outcome = run(&["--data", "t.csv", "--test-fraction", "0.18"]);
    assert_eq!((outcome.code, &outcome.objects()[0]["rows"]), (0, &112.into()), "{}", outcome.stderr);
    let outcome = run(&["--data", "t.csv", "--test-fraction", "0.2", "--validation-fraction", "0.22"]);
    assert_eq!((outcome.code, &outcome.objects()[0]["rows"]), (0, &84.into()), "{}", outcome.stderr);
    for (options, expected) in [
        (
            &["--data", "one.csv", "--test-fraction", "0.2"][..],
            "error: --test-fraction: expected a fraction that holds out the rows of at least one time and leaves others to train, as times are not split (there is only one), found 0.2",
        ),
        (
            &["--data", "one.csv", "--validation-fraction", "0.2"],
            "error: --validation-fraction: expected a fraction that holds out the rows of at least one time and leaves others to train, as times are not split (there is only one), found 0.2",
        ),
    ] {
        let outcome = run(options);
        assert_eq!((outcome.code, outcome.error()), (2, expected));
    }
    let folds = &common[..common.len() - 2];
    let outcome = place.run(&[folds, &["--data", "t.csv", "--folds", "20"]].concat());
    let expected = "error: --folds: expected at most 19, one less than there are different times, found 20";
    assert_eq!((outcome.code, outcome.error()), (2, expected));
    let objects =
        place.succeed(&[folds, &["--data", "t.csv", "--folds", "3", "--format", "json"]].concat()).objects();
    let rows: Vec<u64> = objects[..3].iter().map(|fold| fold["test_rows"].as_u64().unwrap()).collect();
    assert_eq!(rows, [35, 35, 35]);
}
