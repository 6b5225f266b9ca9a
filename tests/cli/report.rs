//! `tinytrain report`: the page, compared with `eval` of the same models.

use std::io::Cursor;

use serde_json::Value;

use crate::program::{Points, Rows, SIDE, Workplace, noise};

const CPU: [&str; 2] = ["--device", "cpu"];
const NAMES: [&str; 3] = ["low", "mid <&>", "high"];

/// Returns the page for these arguments.
#[track_caller]
fn report(place: &Workplace, arguments: &[&str]) -> String {
    let outcome = place.succeed(&[&["report"], arguments, &CPU].concat());
    assert_eq!(outcome.stdout, "");
    let page = std::fs::read_to_string(place.path("report.html")).unwrap();
    check_pictures(&page);
    page
}

/// Checks that every SVG is well formed and has a title, every image is a PNG with alternative text, and
/// nothing is loaded.
#[track_caller]
fn check_pictures(page: &str) {
    for svg in parts(page, "<svg", "</svg>") {
        let mut open: Vec<String> = Vec::new();
        for tag in parts(&svg, "<", ">") {
            let inner = tag[1..tag.len() - 1].trim();
            match (inner.strip_prefix('/'), inner.ends_with('/')) {
                (Some(name), _) => assert_eq!(open.pop().as_deref(), Some(name), "{svg}"),
                (None, true) => {}
                (None, false) => open.push(inner.split_whitespace().next().unwrap().to_owned()),
            }
            assert_eq!(inner.matches('"').count() % 2, 0, "{tag}");
        }
        assert!(open.is_empty(), "{open:?}: {svg}");
        // Text and attributes: all special characters of XML are escaped.
        let entities = ["&amp;", "&lt;", "&gt;", "&quot;"];
        assert_eq!(
            svg.matches('&').count(),
            entities.iter().map(|it| svg.matches(it).count()).sum::<usize>()
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let is_key = svg.contains("aria-hidden=\"true\"");
        assert!(is_key || svg.contains("role=\"img\"") && svg.contains("<title>"), "{svg}");
    }
    for image in parts(page, "<img", ">") {
        assert!(image.contains(" alt=\"") && image.contains("src=\"data:image/png;base64,"), "{image}");
    }
    for loaded in ["http://", "https://", "<script", "<link", "url("] {
        let allowed = page.matches("http://www.w3.org/2000/svg").count();
        let count = page.matches(loaded).count();
        assert_eq!(count, if loaded == "http://" { allowed } else { 0 }, "{loaded}");
    }
    for tag in ["table", "div", "figure", "ul", "li", "details", "main", "p", "h2", "h3"] {
        let count = |start: &str| {
            page.matches(&format!("{start}>")).count() + page.matches(&format!("{start} ")).count()
        };
        assert_eq!(count(&format!("<{tag}")), count(&format!("</{tag}")), "{tag}");
    }
    assert_eq!(page.matches("<table").count(), page.matches("<caption>").count());
}

/// Returns the parts from `start` to the next `end`, both included.
fn parts(text: &str, start: &str, end: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(from) = rest.find(start) {
        let to = from + rest[from..].find(end).unwrap() + end.len();
        parts.push(rest[from..to].to_owned());
        rest = &rest[to..];
    }
    parts
}

/// Returns the rows of the table with this caption, as text.
#[track_caller]
fn table(page: &str, caption: &str) -> Vec<Vec<String>> {
    let start = page.find(&format!("<caption>{caption}")).unwrap_or_else(|| panic!("{caption}: {page}"));
    let end = start + page[start..].find("</table>").unwrap();
    let cells = |row: &str| {
        let cells = row.split("</t").filter_map(|cell| Some(cell.rsplit_once('>')?.1.to_owned()));
        let mut cells: Vec<String> = cells.collect();
        // The row ends after the last cell.
        cells.truncate(cells.len() - 2);
        cells
    };
    parts(&page[start..end], "<tr>", "</tr>").iter().map(|row| cells(row)).collect()
}

fn evaluated(place: &Workplace, arguments: &[&str]) -> Value {
    let eval = [&["eval", "--format", "json"], arguments, &CPU].concat();
    place.succeed(&eval).objects().remove(0)
}

/// Formats a JSON number as on the page.
fn shown(value: &Value, is_share: bool) -> String {
    let value = value.as_f64().unwrap();
    if is_share { format!("{:.2} %", value * 100.0) } else { format!("{value:.4}") }
}

const TRAIN: [&str; 8] = ["train", "--device", "cpu", "--quiet", "--preset", "plain", "--epochs", "3"];

#[test]
fn two_runs_of_a_table_are_shown_side_by_side() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(500, 4).csv(NAMES));
    let data = ["--data", "t.csv", "--validation-fraction", "0.2", "--test-fraction", "0.2", "--hidden", "4"];
    for (lr, out) in [("0.1", "a"), ("0.001", "b<&")] {
        place.succeed(&[&TRAIN[..], &data, &["--lr", lr, "--out", out]].concat());
    }
    let page = report(&place, &["a", "b<&"]);
    assert!(page.contains("<h1>Report of 2 runs</h1>") && !page.contains("b<&"));
    // Loss and accuracy of two runs over two sets of rows, and of the kept models over the test rows.
    assert_eq!(page.matches("<polyline class=\"curve").count(), 2 * 2 * 2 + 2 + 3);
    // The kept epoch is marked on every curve.
    assert_eq!(
        [page.matches(" test\" cx=").count(), page.matches(", kept</title>").count()],
        [2 * 2, 2 * 2 * 2]
    );
    assert!(
        page.contains("<p>The best run is a: validation accuracy ") && page.contains("Training loss: mean")
    );
    assert!(page.contains(": <code>tinytrain report ") && page.contains(env!("CARGO_PKG_VERSION")));
    let settings = table(&page, "Settings in which the runs differ");
    assert_eq!(settings, [["", "a", "b&lt;&amp;"], ["lr", "0.1", "0.001"]]);
    assert!(
        table(&page, "Settings that the runs share").contains(&vec!["hidden".to_owned(), "4".to_owned()])
    );
    // The metrics of the runs match `compare`.
    let compared = place.succeed(&["compare", "a", "b<&", "--format", "json"]).objects();
    let figures = table(&page, "Kept epoch per run");
    for (name, key) in [("validation accuracy", "validation_accuracy"), ("test loss", "test_loss")] {
        let row = figures.iter().find(|row| row[0] == name).unwrap();
        let expected = [0, 1].map(|run| shown(&compared[run][key], name.ends_with("accuracy")));
        assert_eq!(row[1..], expected, "{name}");
    }
    // The first model, on its held-out rows.
    let eval = evaluated(&place, &["--model", "a", "--errors"]);
    assert_eq!(eval["samples"], 100);
    let first = &page[page.find("<h2>a</h2>").unwrap()..page.find("<h2>b").unwrap()];
    for (name, key, is_share) in
        [("accuracy", "accuracy", true), ("log loss", "log_loss", false), ("AUC", "auc", false)]
    {
        let measures = table(first, "Measures");
        let row = measures.iter().find(|row| row[0] == name).unwrap();
        let interval = [0, 1].map(|end| shown(&eval["intervals"][key][end], is_share)).join(" to ");
        assert_eq!(row[1..], [shown(&eval[key], is_share), interval], "{name}");
    }
    let matrix = table(first, "Confusion matrix");
    let numbers =
        matrix[1..].iter().map(|row| row[1..].iter().map(|cell| cell.parse::<u64>().unwrap()).collect());
    assert_eq!(serde_json::json!(numbers.collect::<Vec<Vec<u64>>>()), eval["confusion"]);
    assert_eq!(matrix[0][1..], ["high", "low", "mid &lt;&amp;&gt;"]);
    let by_class = table(first, "Metrics per class");
    assert_eq!(by_class.len(), 4);
    assert_eq!(
        by_class[1][1],
        matrix[1][1..].iter().map(|cell| cell.parse::<u64>().unwrap()).sum::<u64>().to_string()
    );
    // Calibration matches the probabilities that `predict` gives for the same rows of the whole table.
    let bins = table(first, "Calibration: the bins that have rows");
    assert_eq!(bins[1..].iter().map(|bin| bin[1].parse::<u64>().unwrap()).sum::<u64>(), 100);
    let mistakes = table(first, "Worst mistakes");
    let errors = eval["errors"].as_array().unwrap();
    assert!(first.contains(&format!("<p>{} rows are misclassified", errors.len())), "{first}");
    assert_eq!(mistakes[0], ["row", "class", "predicted", "p(predicted)", "p(class)", "a", "b", "c"]);
    assert_eq!(mistakes.len(), 1 + errors.len().min(24));
    let text = std::fs::read_to_string(place.path("t.csv")).unwrap();
    for mistake in &mistakes[1..] {
        let row: u64 = mistake[0].parse().unwrap();
        let error = errors.iter().find(|error| error["sample"] == row).unwrap();
        assert_eq!(
            [&error["class"], &error["predicted"]].map(|it| it
                .as_str()
                .unwrap()
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")),
            mistake[1..3]
        );
        // The cells match the file.
        let cells = mistake[5..].join(",");
        assert!(text.contains(&cells), "{cells}");
    }
    let worst: Vec<f64> =
        mistakes[1..].iter().map(|row| row[4].trim_end_matches(" %").parse().unwrap()).collect();
    assert!(worst.is_sorted(), "{worst:?}");
}

#[test]
fn the_calibration_error_is_that_of_the_predictions() {
    let place = Workplace::new();
    let points = Points::new(300, 4);
    place.write("t.csv", points.csv(NAMES));
    place.succeed(&[&TRAIN[..], &["--data", "t.csv", "--hidden", "4", "--out", "a"]].concat());
    let page = report(&place, &["a", "--data", "t.csv"]);
    let predicted =
        place.succeed(&["predict", "--model", "a", "t.csv", "--format", "json", "--device", "cpu"]).objects();
    let mut bins = [[0.0; 3]; 10];
    for (row, class) in predicted.iter().zip(&points.classes) {
        let name = row["class"].as_str().unwrap();
        let probability = row["probabilities"][name].as_f64().unwrap();
        let bin = &mut bins[((probability * 10.0).ceil() as usize).max(1) - 1];
        bin[0] += 1.0;
        bin[1] += probability;
        bin[2] += f64::from(u8::from(name == NAMES[*class]));
    }
    let error = bins.iter().map(|bin| (bin[1] - bin[2]).abs()).sum::<f64>() / 300.0;
    let expected = format!("Expected calibration error {:.2} %, over 10 bins", error * 100.0);
    assert!(page.contains(&expected), "{expected}");
    let shown = table(&page, "Calibration: the bins that have rows");
    for (row, bin) in shown[1..].iter().zip(bins.iter().filter(|bin| bin[0] > 0.0)) {
        let [mean, right] = [bin[1], bin[2]].map(|sum| format!("{:.2} %", sum / bin[0] * 100.0));
        assert_eq!(row[1..], [format!("{}", bin[0]), mean, right]);
    }
}

#[test]
fn images_are_shown_as_they_are() {
    let place = Workplace::with_data();
    let options = ["--data", "data", "--hidden", "70", "--out", "a"];
    place.succeed(&[&TRAIN[..6], &options, &["--epochs", "1"]].concat());
    let page = report(&place, &["a"]);
    let eval = evaluated(&place, &["--model", "a", "--errors"]);
    let errors = eval["errors"].as_array().unwrap();
    let images = parts(&page, "<img", ">");
    assert_eq!(images.len(), errors.len().min(24));
    let test = Rows::new(200, 2);
    let shown = images.iter().filter(|image| image.contains("alt=\"row ")).count();
    assert!(shown > 0 && shown == errors.len().min(24));
    for image in images.iter().filter(|image| image.contains("alt=\"row ")) {
        let row: usize = image.split("row ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        assert!(errors.iter().any(|error| error["sample"] == row));
        let data = image.split("base64,").nth(1).unwrap().trim_end_matches("\">");
        let mut reader = png::Decoder::new(Cursor::new(from_base64(data))).read_info().unwrap();
        let mut pixels = vec![0; SIDE * SIDE];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!(pixels, test.pixels[row - 1]);
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let numbers: Vec<usize> =
        text.trim_end_matches('=').chars().map(|letter| letters.find(letter).unwrap()).collect();
    let group = |group: &[usize]| {
        let word = (0..4).fold(0, |word, place| word << 6 | group.get(place).copied().unwrap_or(0));
        (0..group.len() - 1).map(|place| (word >> (16 - 8 * place)) as u8).collect::<Vec<u8>>()
    };
    numbers.chunks(4).flat_map(group).collect()
}

#[test]
fn values_are_drawn_against_their_targets() {
    let place = Workplace::new();
    let mut noise = noise(3);
    let mut line = || {
        let (a, b) = (noise(), noise());
        let kind = if noise() < 0.5 { "x" } else { "y" };
        format!("{a:.3},{kind},{:.3}\n", 100.0 * a + 10.0 * b + if kind == "x" { 5.0 } else { 0.0 })
    };
    let text = "a,kind,price\n".to_owned() + &(0..400).map(|_| line()).collect::<String>();
    place.write("t.csv", &text);
    let options =
        ["--data", "t.csv", "--loss", "mse", "--target", "price", "--test-fraction", "0.2", "--out", "a"];
    place.succeed(&[&TRAIN[..], &options].concat());
    let page = report(&place, &["a"]);
    let eval = evaluated(&place, &["--model", "a"]);
    let measures = table(&page, "Measures");
    for (row, key) in measures[1..].iter().zip(["rmse", "mae", "r2"]) {
        assert_eq!((&row[0], &row[1]), (&key.to_uppercase(), &shown(&eval[key], false)));
    }
    assert_eq!(page.matches("<circle class=\"point\"").count(), 80);
    let mistakes = table(&page, "Worst mistakes");
    assert_eq!(mistakes[0], ["row", "target", "value", "predicted", "error", "a", "kind"]);
    assert_eq!(mistakes.len(), 25);
    let errors: Vec<f64> = mistakes[1..].iter().map(|row| row[4].parse::<f64>().unwrap().abs()).collect();
    assert!(errors.is_sorted_by(|a, b| a >= b) && errors[0] > eval["mae"].as_f64().unwrap());
    for row in &mistakes[1..] {
        let numbers = |line: &str| {
            line.split(',').map(|cell| cell.parse::<f32>().map_err(|_| cell.to_owned())).collect::<Vec<_>>()
        };
        let cells = numbers(&format!("{},{},{}", row[5], row[6], row[2]));
        assert!(text.lines().any(|line| numbers(line) == cells), "{cells:?}");
    }
    assert!(page.contains("R2 by epoch") && !page.contains("Confusion"));
}

#[test]
fn missing_data_are_reported() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(200, 4).csv(NAMES));
    place.succeed(&[&TRAIN[..], &["--data", "t.csv", "--out", "a"]].concat());
    std::fs::rename(place.path("t.csv"), place.path("u.csv")).unwrap();
    // Data that no longer exist are reported, on the page and on standard error.
    let outcome = place.succeed(&["report", "a", "-o", "pages/r.html", "--device", "cpu"]);
    assert!(outcome.stderr.ends_with("wrote pages/r.html\n"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("Its data cannot be read again"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("t.csv"), "{}", outcome.stderr);
    let page = std::fs::read_to_string(place.path("pages/r.html")).unwrap();
    check_pictures(&page);
    assert!(
        page.contains("<p>Its data cannot be read again: ")
            && page.contains("Use --data to name other data.</p>")
    );
    assert!(
        page.contains("<h1>Report of a</h1>")
            && page.contains("Loss by epoch")
            && page.contains("All settings")
    );
    let page = report(&place, &["a", "--data", "u.csv"]);
    assert!(page.contains("evaluated on 200 rows of u.csv"));
    std::fs::remove_file(place.path("a/model.safetensors")).unwrap();
    assert!(report(&place, &["a"]).contains("The run has not saved a model."));
}

#[test]
fn invalid_requests_are_refused_in_one_line() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(200, 4).csv(NAMES));
    place.write("bad.csv", "a,b\n1,2\n3,4\n");
    place.succeed(&[&TRAIN[..], &["--data", "t.csv", "--out", "a"]].concat());
    let before = place.entries();
    let model = std::fs::read(place.path("a/model.safetensors")).unwrap();
    for (arguments, expected) in [
        (&["nowhere"][..], "cannot read nowhere/config.toml"),
        (&["a", "t.csv"], "cannot read t.csv/config.toml"),
        (&["a", "--data", "none.csv"], "none.csv"),
        (&["a", "--data", "bad.csv"], "bad.csv"),
        (
            &["a", "-o", "t.csv"],
            "--out: cannot write to t.csv, which is there and is not a page; choose another name",
        ),
        (&["a", "-o", "a/model.safetensors"], "--out: cannot write to a/model.safetensors"),
        (&["a", "-o", "a/history.csv"], "--out: cannot write to a/history.csv, which is a file of a run"),
        (&["a", "-o", "a/log.txt"], "--out: cannot write to a/log.txt, which is a file of a run"),
        (&["a", "-o", "a"], "it is a directory"),
    ] {
        let outcome = place.run(&[&["report"], arguments, &CPU].concat());
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
    assert_eq!(place.entries(), before);
    assert_eq!(std::fs::read(place.path("a/model.safetensors")).unwrap(), model);
    assert_eq!(place.run(&["report"]).code, 2);
}
