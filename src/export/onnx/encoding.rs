//! The conversion of a table's columns to the networks' input rows: columns of the same coding together, in f64
//! wherever `tinytrain` computes in f64.

use super::super::intervals::{intervals, quantiles};
use super::super::outline::{Coding, Outline};
use super::graph::{Attribute, Graph};
use super::proto::{DOUBLE, FLOAT};
use crate::data::{NORMAL_QUANTILE, NumericScaling, RANK_MARGIN};

/// Columns of the same coding: their positions in the table, and in a row of numbers.
#[derive(Default)]
struct Group {
    columns: Vec<usize>,
    places: Vec<usize>,
}

impl Group {
    fn push(&mut self, column: usize, place: usize) {
        self.columns.push(column);
        self.places.push(place);
    }
}

/// Columns of numbers with the replacements of missing values.
#[derive(Default)]
struct Numbers<T> {
    group: Group,
    fills: Vec<f64>,
    maps: Vec<T>,
}

impl<T> Numbers<T> {
    fn push(&mut self, column: usize, place: usize, fill: f64, map: T) {
        self.group.push(column, place);
        self.fills.push(fill);
        self.maps.push(map);
    }
}

/// Adds the nodes; returns the name of the rows, [batch, numbers].
pub(super) fn row(graph: &mut Graph, outline: &Outline<'_>, input: &str) -> String {
    let count = outline.columns.len();
    let (mut plain, mut bytes, mut signs, mut missing) =
        (Group::default(), Group::default(), Group::default(), Group::default());
    let (mut affine, mut clipped) = (Numbers::default(), Numbers::default());
    let mut normal: Numbers<&[f64]> = Numbers::default();
    // One-hot columns by category, and columns whose category index is needed.
    let (mut ones, mut codes) = (Group::default(), Vec::new());
    let (mut indices, mut limits) = (Group::default(), Vec::new());
    for (index, column) in outline.columns.iter().enumerate() {
        let place = column.place;
        match &column.coding {
            Coding::Byte => bytes.push(index, place),
            Coding::Plain => plain.push(index, place),
            Coding::Number { map, fill, has_indicator } => {
                match map {
                    NumericScaling::Affine { center, width } => {
                        affine.push(index, place, *fill, [*center, *width])
                    }
                    NumericScaling::Clipped { center, width } => {
                        clipped.push(index, place, *fill, [*center, *width])
                    }
                    NumericScaling::Normal(quantiles) => normal.push(index, place, *fill, quantiles),
                }
                if *has_indicator {
                    missing.push(index, place + 1);
                }
            }
            Coding::Sign { .. } => signs.push(index, place),
            Coding::OneHot { categories, has_missing } => {
                for code in 0..categories.len() {
                    ones.push(index, place + code);
                    codes.push(code as f32);
                }
                if *has_missing {
                    missing.push(index, place + categories.len());
                } else if categories.is_empty() {
                    // Nothing equals NaN: the number is always 0.
                    ones.push(index, place);
                    codes.push(f32::NAN);
                }
            }
            Coding::Index { categories, has_missing } => {
                indices.push(index, place);
                let of_missing = if *has_missing { categories.len() as f32 } else { -1.0 };
                limits.push([categories.len() as f32, of_missing]);
            }
        }
    }
    let mut pieces = Vec::new();
    let mut select = |graph: &mut Graph, group: &Group, of: &mut dyn FnMut(&mut Graph, String) -> String| {
        if !group.columns.is_empty() {
            let selected = graph.select(input, &group.columns, count);
            pieces.push((of(graph, selected), group.places.clone()));
        }
    };
    select(graph, &plain, &mut |_, x| x);
    select(graph, &bytes, &mut |graph, x| {
        let most = graph.float(255.0);
        graph.add("Div", &[&x, &most])
    });
    select(graph, &affine.group, &mut |graph, x| {
        let scaled = scaled(graph, &x, &affine);
        graph.cast(&scaled, FLOAT)
    });
    select(graph, &clipped.group, &mut |graph, x| {
        let scaled = scaled(graph, &x, &clipped);
        let clipped = smoothly_clipped(graph, &scaled);
        graph.cast(&clipped, FLOAT)
    });
    select(graph, &normal.group, &mut |graph, x| {
        let values = filled(graph, &x, &normal.fills);
        let rank = rank(graph, &values, &normal.maps);
        let score = normal_quantile(graph, &rank);
        graph.cast(&score, FLOAT)
    });
    select(graph, &missing, &mut |graph, x| {
        let is_missing = graph.add("IsNaN", &[&x]);
        graph.cast(&is_missing, FLOAT)
    });
    select(graph, &signs, &mut |graph, x| {
        let [second, first] = [1.0, 0.0].map(|code| {
            let code = graph.float(code);
            let is_it = graph.add("Equal", &[&x, &code]);
            graph.cast(&is_it, FLOAT)
        });
        graph.add("Sub", &[&second, &first])
    });
    select(graph, &ones, &mut |graph, x| {
        let codes = graph.floats(&[codes.len()], &codes);
        let is_it = graph.add("Equal", &[&x, &codes]);
        graph.cast(&is_it, FLOAT)
    });
    select(graph, &indices, &mut |graph, x| index(graph, &x, &limits));
    graph.assemble(pieces)
}

/// Converts values to f64, and replaces missing ones by `fills`.
fn filled(graph: &mut Graph, x: &str, fills: &[f64]) -> String {
    let wide = graph.cast(x, DOUBLE);
    let is_missing = graph.add("IsNaN", &[x]);
    let fills = graph.doubles(&[fills.len()], fills);
    graph.add("Where", &[&is_missing, &fills, &wide])
}

/// (value - center) / width
fn scaled(graph: &mut Graph, x: &str, numbers: &Numbers<[f64; 2]>) -> String {
    let values = filled(graph, x, &numbers.fills);
    let centers: Vec<f64> = numbers.maps.iter().map(|[center, _]| *center).collect();
    // With a width of 0 the number is 0.
    let width = |[_, width]: &[f64; 2]| if *width == 0.0 { f64::INFINITY } else { *width };
    let widths: Vec<f64> = numbers.maps.iter().map(width).collect();
    let (centers, widths) =
        (graph.doubles(&[centers.len()], &centers), graph.doubles(&[widths.len()], &widths));
    let distance = graph.add("Sub", &[&values, &centers]);
    graph.add("Div", &[&distance, &widths])
}

/// y / sqrt(1 + (y / 3)^2)
fn smoothly_clipped(graph: &mut Graph, y: &str) -> String {
    let (three, one) = (graph.double(3.0), graph.double(1.0));
    let part = graph.add("Div", &[y, &three]);
    let square = graph.add("Mul", &[&part, &part]);
    let sum = graph.add("Add", &[&square, &one]);
    let root = graph.add("Sqrt", &[&sum]);
    graph.add("Div", &[y, &root])
}

/// The rank of each value [batch, columns] among the quantiles of its column.
fn rank(graph: &mut Graph, values: &str, columns: &[&[f64]]) -> String {
    let all: Vec<Vec<f64>> = columns.iter().map(|of| quantiles(of)).collect();
    // All columns have the same number of quantiles.
    let count = all[0].len() - 1;
    let shape = [columns.len(), count];
    let [starts, factors, added] = [0, 1, 2].map(|part| {
        let values: Vec<f64> =
            all.iter().flat_map(|of| intervals(of)).map(|interval| interval[part]).collect();
        graph.doubles(&shape, &values)
    });
    let last = graph.integers(&[2]);
    let values = graph.add("Unsqueeze", &[values, &last]);
    let distance = graph.add("Sub", &[&values, &starts]);
    let share = graph.add("Mul", &[&distance, &factors]);
    let share = graph.add("Add", &[&share, &added]);
    let (zero, one) = (graph.double(0.0), graph.double(1.0));
    let share = graph.add("Clip", &[&share, &zero, &one]);
    let sum = graph.add_with("ReduceSum", &[&share, &last], vec![Attribute::Int("keepdims", 0)]);
    let count = graph.double(count as f64);
    graph.add("Div", &[&sum, &count])
}

/// The quantiles of the standard normal distribution at ranks that exclude 0 and 1, to a relative error of 1.15e-9 (P.
/// J. Acklam, 2003).
fn normal_quantile(graph: &mut Graph, rank: &str) -> String {
    let [a, b, c, d] = NORMAL_QUANTILE.factors;
    let (least, most) = (graph.double(RANK_MARGIN), graph.double(1.0 - RANK_MARGIN));
    let rank = graph.add("Clip", &[rank, &least, &most]);
    let (one, half) = (graph.double(1.0), graph.double(0.5));
    let rest = graph.add("Sub", &[&one, &rank]);
    // The middle part.
    let q = graph.add("Sub", &[&rank, &half]);
    let square = graph.add("Mul", &[&q, &q]);
    let above = polynomial(graph, a, &square);
    let above = graph.add("Mul", &[&q, &above]);
    let below = polynomial(graph, b, &square);
    let middle = graph.add("Div", &[&above, &below]);
    let (lower, upper) = (tail(graph, &rank, c, d), tail(graph, &rest, c, d));
    let upper = graph.add("Neg", &[&upper]);
    let bound = graph.double(NORMAL_QUANTILE.tail);
    let is_lower = graph.add("Less", &[&rank, &bound]);
    let is_upper = graph.add("Less", &[&rest, &bound]);
    let not_lower = graph.add("Where", &[&is_upper, &upper, &middle]);
    graph.add("Where", &[&is_lower, &lower, &not_lower])
}

/// The quantile of a rank below the bound of the tail.
fn tail(graph: &mut Graph, rank: &str, above: &[f64], below: &[f64]) -> String {
    let logarithm = graph.add("Log", &[rank]);
    let factor = graph.double(-2.0);
    let square = graph.add("Mul", &[&logarithm, &factor]);
    let q = graph.add("Sqrt", &[&square]);
    let (above, below) = (polynomial(graph, above, &q), polynomial(graph, below, &q));
    graph.add("Div", &[&above, &below])
}

/// Evaluates a polynomial by Horner's rule, highest power first.
fn polynomial(graph: &mut Graph, factors: &[f64], x: &str) -> String {
    let mut sum = graph.double(factors[0]);
    for factor in &factors[1..] {
        let factor = graph.double(*factor);
        let product = graph.add("Mul", &[&sum, x]);
        sum = graph.add("Add", &[&product, &factor]);
    }
    sum
}

/// The category index of each column, the index for missing ones, or -1; `limits` holds the number of categories and
/// the index for missing ones.
fn index(graph: &mut Graph, x: &str, limits: &[[f32; 2]]) -> String {
    let part = |part: usize| limits.iter().map(|limit| limit[part]).collect::<Vec<f32>>();
    let (counts, missing) = (part(0), part(1));
    let (counts, missing) =
        (graph.floats(&[counts.len()], &counts), graph.floats(&[missing.len()], &missing));
    let (zero, none) = (graph.float(0.0), graph.float(-1.0));
    let floor = graph.add("Floor", &[x]);
    let is_whole = graph.add("Equal", &[x, &floor]);
    let is_from_zero = graph.add("GreaterOrEqual", &[x, &zero]);
    let is_below = graph.add("Less", &[x, &counts]);
    let is_known = graph.add("And", &[&is_whole, &is_from_zero]);
    let is_known = graph.add("And", &[&is_known, &is_below]);
    let known = graph.add("Where", &[&is_known, x, &none]);
    let is_missing = graph.add("IsNaN", &[x]);
    graph.add("Where", &[&is_missing, &missing, &known])
}
