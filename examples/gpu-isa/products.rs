//! The loops in which matrix products are made.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;

use crate::assembly::{Assembly, Class, Loop};
use crate::walk::{Step, Walk};

/// A loop in which products are made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProductLoop {
    /// Times round it.
    pub rounds: u64,
    /// Multiply-adds once round.
    pub multiply_adds: f64,
    /// Their share of all vector operations in it.
    pub share: f64,
    /// Round trips to memory once round.
    pub trips: f64,
    /// Barriers once round.
    pub barriers: f64,
    /// Cycles that workgroup memory takes for reads once round, if no two threads ask one bank for different words.
    pub reads: f64,
    /// Cycles that workgroup memory takes, for each that it would take without conflicts of banks.
    pub conflicts: f64,
}

/// Fewer multiply-adds once round a loop are no product.
const FEWEST: f64 = 16.0;

impl Walk {
    fn sum(&self, assembly: &Assembly, range: Range<usize>, classes: &[Class]) -> u64 {
        range
            .filter(|index| classes.contains(&assembly.instructions[*index].class))
            .map(|index| self.steps[index].visits)
            .sum()
    }

    /// The loops in which products are made, that with the most multiply-adds first: the innermost loop round some,
    /// or, if nothing is loaded in that, the next one round it in which something is.
    pub fn products(&self, assembly: &Assembly) -> Vec<ProductLoop> {
        let multiply_adds = assembly.instructions.iter().enumerate().filter(|(index, instruction)| {
            instruction.class == Class::MultiplyAdd && self.steps[*index].visits > 0
        });
        let inner: BTreeSet<usize> =
            multiply_adds.filter_map(|(index, _)| assembly.innermost(index)).collect();
        let chosen: BTreeSet<usize> = inner.into_iter().map(|inner| self.loading(assembly, inner)).collect();
        let made = chosen.into_iter().map(|number| assembly.loops[number]);
        let made: Vec<(Loop, ProductLoop)> = made
            .map(|each| (each, self.product(assembly, each)))
            .filter(|(_, product)| product.multiply_adds >= FEWEST)
            .collect();
        // What is added up round a product belongs to it.
        let innermost = made
            .iter()
            .filter(|(outer, _)| made.iter().all(|(inner, _)| inner == outer || !outer.contains(inner.head)));
        let mut products: Vec<ProductLoop> = innermost.map(|(_, product)| *product).collect();
        products.sort_by(|a, b| {
            let total = |each: &ProductLoop| each.rounds as f64 * each.multiply_adds;
            total(b).total_cmp(&total(a))
        });
        products
    }

    /// The innermost loop round loop `inner`, itself included, in which something is loaded; else `inner`.
    fn loading(&self, assembly: &Assembly, inner: usize) -> usize {
        let Loop { head, end, .. } = assembly.loops[inner];
        let around = assembly.loops.iter().enumerate().filter(|(_, each)| {
            let loads = self.sum(assembly, each.head..each.end + 1, &[Class::Load]) > 0;
            each.contains(head) && each.contains(end) && loads
        });
        around.min_by_key(|(_, each)| each.end - each.head).map_or(inner, |(number, _)| number)
    }

    fn product(&self, assembly: &Assembly, Loop { head, end, back }: Loop) -> ProductLoop {
        let range = head..end + 1;
        let Step { visits, returns, .. } = self.steps[back];
        let rounds = if back == end { visits } else { returns };
        let per_round = |count: u64| count as f64 / rounds.max(1) as f64;
        let multiply_adds = self.sum(assembly, range.clone(), &[Class::MultiplyAdd]);
        let others = self.sum(assembly, range.clone(), &[Class::Vector, Class::Slow]);
        let steps = &self.steps[range.clone()];
        let reads =
            range.clone().zip(steps).filter(|(index, _)| assembly.instructions[*index].is_shared_read());
        let [served, ideal] =
            [|step: &Step| step.served, |step: &Step| step.ideal].map(|of| steps.iter().map(of).sum::<u64>());
        ProductLoop {
            rounds,
            multiply_adds: per_round(multiply_adds),
            share: multiply_adds as f64 / (multiply_adds + others).max(1) as f64,
            trips: per_round(steps.iter().map(|step| step.trips).sum()),
            reads: per_round(reads.map(|(_, step)| step.ideal).sum()),
            barriers: per_round(self.sum(assembly, range, &[Class::Barrier])),
            conflicts: if ideal == 0 { 1.0 } else { served as f64 / ideal as f64 },
        }
    }
}
