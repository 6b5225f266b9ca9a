//! The rows of which a model is most mistaken: pictures as pictures, rows of tables as tables.

use std::fmt::Write;

use super::evaluated_run::EvaluatedRun;
use super::html::{escaped, table};
use super::pictures::{cells, columns, picture};
use super::text::{Align, Table, counted, percent, short};

/// Rows that are shown.
const MOST: usize = 24;

/// Wrongly predicted rows, first those whose own class has the lowest probability.
pub fn of_classes(evaluated: &EvaluatedRun) -> String {
    let (labels, predictions) = (evaluated.rows.data.labels(), &evaluated.predictions.classes);
    let mut wrong: Vec<usize> = (0..labels.len()).filter(|row| labels[*row] != predictions[*row]).collect();
    let own = |row: &usize| evaluated.probability(*row, labels[*row]);
    wrong.sort_by(|a, b| own(a).total_cmp(&own(b)).then(a.cmp(b)));
    let all = counted(wrong.len() as u64, "row is", "rows are");
    let mut html = format!("<h3>Worst mistakes</h3>\n<p>{all} misclassified.");
    if wrong.is_empty() {
        return html + "</p>\n";
    }
    wrong.truncate(MOST);
    html += " These give the true class the lowest probability. Rows are numbered as in the file, without the header, like in <code>eval --errors</code>.</p>\n";
    let name = |class: u32| evaluated.model.data_schema.classes.name(class);
    let shares = |row: usize| [predictions[row], labels[row]].map(|class| evaluated.probability(row, class));
    if picture(evaluated, wrong[0], "").is_some() {
        html += "<ul class=\"pictures\">\n";
        for row in wrong {
            let (label, prediction) = (name(labels[row]), name(predictions[row]));
            let image = picture(evaluated, row, &format!("row {}, a {label}", evaluated.rows.number(row)))
                .unwrap_or_default();
            let [predicted, own] = shares(row).map(percent);
            // Writing into a string cannot fail.
            let _ = writeln!(
                html,
                "<li>{image}<span>row {}<br>is <b>{}</b> ({own})<br>predicted <b>{}</b> ({predicted})</span></li>",
                evaluated.rows.number(row),
                escaped(label),
                escaped(prediction)
            );
        }
        return html + "</ul>\n";
    }
    let header = ["row", "class", "predicted", "p(predicted)", "p(class)"].map(String::from).to_vec();
    let row = |row: usize| {
        let [predicted, own] = shares(row).map(percent);
        vec![
            evaluated.rows.number(row).to_string(),
            name(labels[row]).to_owned(),
            name(predictions[row]).to_owned(),
            predicted,
            own,
        ]
    };
    html + &as_table(
        "Worst mistakes, with what the rows hold",
        evaluated,
        header,
        wrong.iter().map(|at| (*at, row(*at))),
    )
}

/// Rows whose values are furthest from those that are predicted; of several targets, in units of the standard deviation of each.
pub fn of_values(evaluated: &EvaluatedRun) -> String {
    let (columns, values) = evaluated.values();
    let names = evaluated.model.data_schema.value_names(columns);
    let predicted = &evaluated.predictions.values;
    let widths: Vec<f64> =
        (0..columns).map(|column| deviation(values.iter().skip(column).step_by(columns))).collect();
    let distance =
        |at: usize| (f64::from(predicted[at]) - f64::from(values[at])).abs() / widths[at % columns];
    // The target of a row that is furthest off.
    let worst = |row: usize| {
        (row * columns..(row + 1) * columns).max_by(|a, b| distance(*a).total_cmp(&distance(*b)))
    };
    let mut places: Vec<usize> = (0..values.len() / columns.max(1)).filter_map(worst).collect();
    places.sort_by(|a, b| distance(*b).total_cmp(&distance(*a)).then(a.cmp(b)));
    let several = columns > 1;
    let mut header = vec!["row".to_owned()];
    header.extend(several.then(|| "target".to_owned()));
    header.extend(["value", "predicted", "error"].map(String::from));
    let row = |at: &usize| {
        let error = f64::from(predicted[*at]) - f64::from(values[*at]);
        let mut cells = vec![evaluated.rows.number(at / columns).to_string()];
        cells.extend(several.then(|| names[at % columns].clone()));
        cells.extend([short(values[*at].into()), rounded(predicted[*at].into()), rounded(error)]);
        (at / columns, cells)
    };
    let rows = places.iter().take(MOST).map(row);
    "<h3>Worst mistakes</h3>\n<p>These predictions are furthest from the true values. Rows are numbered as in the file, without the header.</p>\n"
        .to_owned()
        + &as_table("Worst mistakes, with what the rows hold", evaluated, header, rows)
}

/// A number with five digits that count.
fn rounded(number: f64) -> String {
    format!("{number:.4e}").parse::<f64>().unwrap_or(number).to_string()
}

/// Standard deviation; 1 of values that are all the same.
fn deviation<'a>(values: impl Iterator<Item = &'a f32> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let mean = values.clone().map(|value| f64::from(*value)).sum::<f64>() / count;
    let deviation = (values.map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count).sqrt();
    if deviation > 0.0 { deviation } else { 1.0 }
}

/// Rows by their numbers, each with cells that go before those of the file.
fn as_table(
    caption: &str,
    evaluated: &EvaluatedRun,
    header: Vec<String>,
    rows: impl Iterator<Item = (usize, Vec<String>)>,
) -> String {
    let rows = rows.map(|(row, first)| [first, cells(evaluated, row)].concat());
    table(caption, &Table::alike([header, columns(evaluated)].concat(), Align::Right, rows))
}
