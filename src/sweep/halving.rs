//! Successive halving: all members train for a while, and the better ones continue (K. Jamieson and A.
//! Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", 2016).

use crate::train::Score;

/// Stages at which members are dropped, and the share that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halving {
    factor: usize,
    stages: usize,
}

impl Halving {
    /// Keeps one of every `factor` members, `stages` - 1 times: each stage trains `factor` times the epochs
    /// of the previous one, the last all of them. Both are at least 2.
    pub fn new(factor: usize, stages: usize) -> Self {
        Self { factor: factor.max(2), stages: stages.max(2) }
    }

    /// Returns the number of stages.
    pub fn stages(self) -> usize {
        self.stages
    }

    /// Returns the share of its epochs that a member has trained at the end of a stage.
    pub fn share(self, stage: usize) -> f64 {
        (self.factor as f64).powi(-((self.stages - 1).saturating_sub(stage) as i32))
    }

    /// Returns the epoch, of `epochs`, at which a stage ends.
    pub fn end_epoch(self, stage: usize, epochs: usize) -> usize {
        ((epochs as f64 * self.share(stage)).ceil() as usize).max(1)
    }

    /// Returns the stage after the last one that dropped a member; `dropped` has for each the epoch at which
    /// it was dropped, and its number of epochs.
    pub fn stage_after(self, dropped: impl Iterator<Item = (usize, usize)>) -> usize {
        let stage = |(epoch, epochs)| (0..self.stages).find(|stage| self.end_epoch(*stage, epochs) == epoch);
        dropped.filter_map(stage).max().map_or(0, |stage| stage + 1)
    }

    /// Returns the number of `members` that continue.
    pub fn keeps(self, members: usize) -> usize {
        members.div_ceil(self.factor)
    }
}

/// Sorts members by score, the best first; ties keep their order, and members without a score come last.
pub(super) fn ranked(mut scored: Vec<(usize, Option<Score>)>) -> Vec<usize> {
    scored.sort_by(|(_, a), (_, b)| by_score(a.as_ref(), b.as_ref()));
    scored.into_iter().map(|(member, _)| member).collect()
}

/// Compares two scores, the better first; a missing score is last.
pub fn by_score(a: Option<&Score>, b: Option<&Score>) -> std::cmp::Ordering {
    use std::cmp::Ordering::{Equal, Greater, Less};
    match (a, b) {
        (Some(a), Some(b)) if a.is_better_than(b) => Less,
        (Some(a), Some(b)) if b.is_better_than(a) => Greater,
        (Some(_), None) => Less,
        (None, Some(_)) => Greater,
        _ => Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_trains_longer_and_the_last_all_epochs() {
        let halving = Halving::new(3, 3);
        let shares: Vec<f64> = (0..3).map(|stage| halving.share(stage)).collect();
        assert_eq!(shares, [1.0 / 9.0, 1.0 / 3.0, 1.0]);
        assert_eq!([64, 22, 8, 3, 1].map(|members| halving.keeps(members)), [22, 8, 3, 1, 1]);
    }

    #[test]
    fn better_members_come_first_and_equal_ones_in_their_order() {
        let score = |accuracy, loss| Some(Score { accuracy, loss, ..Score::default() });
        let scored = [score(0.5, 1.0), None, score(0.9, 2.0), score(0.9, 1.0), score(0.5, 1.0)];
        assert_eq!(ranked(scored.into_iter().enumerate().collect()), [3, 2, 0, 4, 1]);
    }
}
