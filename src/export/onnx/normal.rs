//! The quantile of the standard normal distribution, to a relative error of 1.15e-9 (P. J. Acklam, 2003), in f64.

use super::graph::Graph;
use crate::data::{NORMAL_QUANTILE, RANK_MARGIN};

/// The quantiles of ranks, which are kept away from 0 and 1.
pub(super) fn quantile(graph: &mut Graph, rank: &str) -> String {
    let [a, b, c, d] = NORMAL_QUANTILE.factors;
    let (least, most) = (graph.double(RANK_MARGIN), graph.double(1.0 - RANK_MARGIN));
    let rank = graph.add("Clip", &[rank, &least, &most]);
    let (one, half) = (graph.double(1.0), graph.double(0.5));
    let rest = graph.add("Sub", &[&one, &rank]);
    // The middle.
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

/// The quantile of a rank below the tail's bound.
fn tail(graph: &mut Graph, rank: &str, above: &[f64], below: &[f64]) -> String {
    let logarithm = graph.add("Log", &[rank]);
    let factor = graph.double(-2.0);
    let square = graph.add("Mul", &[&logarithm, &factor]);
    let q = graph.add("Sqrt", &[&square]);
    let (above, below) = (polynomial(graph, above, &q), polynomial(graph, below, &q));
    graph.add("Div", &[&above, &below])
}

/// By Horner's rule, the factor of the highest power first.
fn polynomial(graph: &mut Graph, factors: &[f64], x: &str) -> String {
    let mut sum = graph.double(factors[0]);
    for factor in &factors[1..] {
        let factor = graph.double(*factor);
        let product = graph.add("Mul", &[&sum, x]);
        sum = graph.add("Add", &[&product, &factor]);
    }
    sum
}
