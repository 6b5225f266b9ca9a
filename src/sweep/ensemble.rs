//! Greedy ensemble selection: networks are picked one after the other, each time the most helpful one, with
//! repetition, in bags (R. Caruana, A. Niculescu-Mizil, G. Crew, A. Ksikes, "Ensemble selection from
//! libraries of models", ICML 2004).

use crate::data::TargetsRef;
use crate::engine::ensemble::add;
use crate::random::{Purpose, words};
use crate::step::Loss;

/// Number of bags: each picks from a part of the networks, so that few validation rows do not determine
/// everything.
const BAGS: usize = 4;
/// Least picks for the use of bags: with fewer, the best networks may be in no bag.
const LEAST_PICKS: usize = 2 * BAGS;
/// A bag has one in this number of the networks, but at least [`LEAST_IN_BAG`] if there are enough.
const BAG_SHARE: usize = 2;
const LEAST_IN_BAG: usize = 8;

/// Outputs of some networks for the rows used for picking.
pub struct Candidates<'a> {
    /// Outputs of each network, [rows, outputs].
    pub outputs: &'a [Vec<f32>],
    /// Outputs per row.
    pub columns: usize,
    /// Targets of the rows: classes, or values in the unit of the outputs.
    pub targets: TargetsRef<'a>,
    /// Weight of each row.
    pub counts: &'a [f64],
    /// Loss of the networks. For classes it is always the log loss.
    pub loss: Loss,
}

/// Quality of predictions: accuracy, for classes, and the mean loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// Share of correct rows, or of correct labels of 0 or 1; 0 for values.
    pub accuracy: f64,
    /// Mean loss.
    pub loss: f64,
}

impl Candidates<'_> {
    /// Picks `count` times by the loss: with less than eight picks from all networks, otherwise in four bags,
    /// each with half of them, chosen by the seed. Returns the indices of the picked networks with the
    /// number of picks of each, in the order of their first picks, and the quality of the ensemble.
    pub fn select(&self, count: usize, seed: u64) -> Option<(Vec<(usize, u32)>, Fit)> {
        let single: Vec<Vec<f64>> = self.outputs.iter().map(|outputs| self.shares(outputs)).collect();
        let mut picks = Vec::new();
        if count < LEAST_PICKS {
            let all: Vec<usize> = (0..single.len()).collect();
            picks = self.greedy(&single, &all, count);
        } else {
            for bag in 0..BAGS {
                let wanted = (bag + 1) * count / BAGS - bag * count / BAGS;
                picks.extend(self.greedy(&single, &in_bag(single.len(), bag, seed), wanted));
            }
        }
        let mut picked: Vec<(usize, u32)> = Vec::new();
        for place in &picks {
            match picked.iter_mut().find(|(other, _)| other == place) {
                Some((_, times)) => *times += 1,
                None => picked.push((*place, 1)),
            }
        }
        let fit = self.fit_of(&picked)?;
        Some((picked, fit))
    }

    /// Returns the quality of an ensemble: indices of networks with the number of picks of each; `None` for
    /// no networks.
    pub fn fit_of(&self, picked: &[(usize, u32)]) -> Option<Fit> {
        let mut sums = vec![0.0; self.outputs.get(picked.first()?.0)?.len()];
        for (place, times) in picked {
            let own = self.shares(self.outputs.get(*place)?);
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += f64::from(*times) * own);
        }
        let picks: u32 = picked.iter().map(|(_, times)| times).sum();
        let nothing = vec![0.0; sums.len()];
        Some(self.fit(&sums, &nothing, picks.into()))
    }

    /// Returns the averaged numbers of a network: probabilities of classes, or values.
    fn shares(&self, outputs: &[f32]) -> Vec<f64> {
        let of_classes = matches!(self.targets, TargetsRef::Classes(_));
        let mut shares = vec![0.0; outputs.len()];
        let rows = shares.chunks_exact_mut(self.columns).zip(outputs.chunks_exact(self.columns));
        rows.for_each(|(sums, row)| add(sums, 1.0, row, of_classes));
        shares
    }

    /// Picks `count` times from these networks, each time the network that gives the smallest loss.
    fn greedy(&self, single: &[Vec<f64>], among: &[usize], count: usize) -> Vec<usize> {
        let mut sums = vec![0.0; single.first().map_or(0, Vec::len)];
        let mut picks = Vec::new();
        for number in 1..=count {
            let loss = |place: &usize| self.fit(&sums, &single[*place], number as f64).loss;
            let losses = among.iter().map(|place| (*place, loss(place)));
            let Some((place, _)) = losses.min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
            sums.iter_mut().zip(&single[place]).for_each(|(sum, own)| *sum += own);
            picks.push(place);
        }
        picks
    }

    /// Returns the quality of the predictions with one more network, `picks` in total.
    fn fit(&self, sums: &[f64], own: &[f64], picks: f64) -> Fit {
        let all = self.counts.iter().sum::<f64>();
        // A row with weight 0 may have an infinite loss.
        let counts = || self.counts.iter().enumerate().filter(|(_, count)| **count > 0.0);
        let mean = |place: usize| (sums[place] + own[place]) / picks;
        match self.targets {
            TargetsRef::Classes(labels) => {
                let (mut right, mut loss) = (0.0, 0.0);
                for (row, count) in counts() {
                    let (start, label) = (row * self.columns, labels[row] as usize);
                    let best = (1..self.columns).fold(start, |best, column| {
                        if mean(start + column) > mean(best) { start + column } else { best }
                    });
                    right += count * f64::from(best == start + label);
                    loss -= count * mean(start + label).max(f64::MIN_POSITIVE).ln();
                }
                Fit { accuracy: right / all, loss: loss / all }
            }
            TargetsRef::Values { values, .. } => {
                let (mut right, mut loss) = (0.0, 0.0);
                for (row, count) in counts() {
                    let first = row * self.columns;
                    for (place, value) in (first..).zip(&values[first..][..self.columns]) {
                        loss += count * self.loss.term(mean(place), (*value).into(), place - first);
                        let is_right = self.loss.of_labels() && (mean(place) > 0.0) == (*value > 0.5);
                        right += count * f64::from(is_right);
                    }
                }
                let terms = all * self.columns as f64;
                Fit { accuracy: right / terms, loss: loss / terms }
            }
        }
    }
}

/// Returns the networks of a bag, in ascending order.
fn in_bag(networks: usize, bag: usize, seed: u64) -> Vec<usize> {
    let key = |place: usize| words(seed, Purpose::Bag, [place as u32, bag as u32])[0];
    let mut places: Vec<(u32, usize)> = (0..networks).map(|place| (key(place), place)).collect();
    places.sort_unstable();
    places.truncate((networks / BAG_SHARE).max(LEAST_IN_BAG.min(networks)));
    let mut places: Vec<usize> = places.into_iter().map(|(_, place)| place).collect();
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(picked: &[(usize, u32)]) -> u32 {
        picked.iter().map(|(_, times)| times).sum()
    }

    #[test]
    fn networks_whose_errors_cancel_are_picked_together() {
        // The first is the best single network; the second and third have opposite errors. All are in every
        // bag.
        let values = [0.0, 1.0, 2.0, 3.0];
        let off = |by: f32| values.iter().map(|value| value + by).collect::<Vec<f32>>();
        let outputs = vec![off(0.5), off(0.75), off(-0.75), off(9.0)];
        let targets = TargetsRef::Values { values: &values, columns: 1 };
        let candidates =
            Candidates { outputs: &outputs, columns: 1, targets, counts: &[1.0; 4], loss: Loss::Mse };
        let (picked, fit) = candidates.select(1, 1).unwrap();
        assert_eq!((picked, fit.loss), (vec![(0, 1)], 0.25));
        let (picked, fit) = candidates.select(8, 1).unwrap();
        assert_eq!((picked, fit.loss), (vec![(0, 4), (2, 4)], 0.015_625));
        let (picked, fit) = candidates.select(64, 1).unwrap();
        assert_eq!(total(&picked), 64);
        assert!(picked.iter().all(|(place, _)| *place != 3) && fit.loss < 0.001, "{picked:?} {fit:?}");
        // Other picks together: (3 x 0.5 - 0.75) / 4 off.
        assert_eq!(candidates.fit_of(&[(0, 3), (2, 1)]).unwrap().loss, 0.187_5f64.powi(2));
        assert_eq!(candidates.fit_of(&[]), None);
    }

    #[test]
    fn classes_are_picked_by_their_loss() {
        let sure =
            |class: usize, strength: f32| [0, 1].map(|other| if other == class { strength } else { 0.0 });
        let network = |strengths: [f32; 3]| {
            let rows = [0, 1, 1].into_iter().zip(strengths);
            rows.flat_map(|(class, strength)| sure(class, strength)).collect::<Vec<f32>>()
        };
        let outputs = vec![network([2.0, 2.0, -1.0]), network([1.0, 1.0, 1.0]), network([2.0, 2.0, 2.0])];
        let (targets, loss) = (TargetsRef::Classes(&[0, 1, 1]), Loss::CrossEntropy);
        let candidates = Candidates { outputs: &outputs, columns: 2, targets, counts: &[1.0; 3], loss };
        let (picked, fit) = candidates.select(3, 1).unwrap();
        assert_eq!(picked, [(2, 3)]);
        let expected = (1.0 + (-2.0f64).exp()).ln();
        assert!((fit.loss - expected).abs() < 1e-9 && fit.accuracy == 1.0);
        let targets = TargetsRef::Classes(&[]);
        assert!(Candidates { outputs: &[], columns: 2, targets, counts: &[], loss }.select(3, 1).is_none());
    }

    #[test]
    fn values_are_picked_by_the_loss_of_the_networks() {
        // The squared error prefers the first, the absolute error the second; Huber's loss agrees with the
        // squared error for small and with the absolute error for large errors.
        let values = [0.0, 0.0, 0.0, 0.0];
        let outputs = vec![vec![1.5, -1.5, 1.5, -1.5], vec![0.0, 0.0, 0.0, 4.0]];
        let targets = TargetsRef::Values { values: &values, columns: 1 };
        for (loss, best, want) in [(Loss::Mse, 0, 2.25), (Loss::Mae, 1, 1.0), (Loss::Huber, 1, 3.5 / 4.0)] {
            let candidates = Candidates { outputs: &outputs, columns: 1, targets, counts: &[1.0; 4], loss };
            let (picked, fit) = candidates.select(1, 1).unwrap();
            assert_eq!((picked, fit.loss), (vec![(best, 1)], want), "{loss:?}");
            for (place, outputs) in outputs.iter().enumerate() {
                let rows = outputs.iter().zip(&values);
                let row = |(z, t): (&f32, &f32)| {
                    loss.row(&[*z], crate::step::Targets::Values(&[*t]), 0.0, &mut [0.0])
                };
                let mean = rows.map(row).sum::<f64>() / 4.0;
                assert_eq!(candidates.fit_of(&[(place, 1)]).unwrap().loss, mean, "{loss:?}");
            }
        }
    }

    #[test]
    fn rows_count_as_their_weights_say() {
        // The first is correct for rows with weight, the second for rows without.
        let outputs = vec![vec![0.0, 5.0, 1.0, 1.0], vec![1.0, 0.0, 9.0, 0.0]];
        let counts = [2.0, 0.0, 0.5, 0.0];
        let classes = TargetsRef::Classes(&[0, 1]);
        for (targets, columns, counts, want) in [
            (TargetsRef::Values { values: &[0.0; 4], columns: 1 }, 1, &counts[..], [0.5 / 2.5, 42.5 / 2.5]),
            (TargetsRef::Values { values: &[0.0; 4], columns: 2 }, 2, &counts[..2], [12.5, 0.5]),
            (classes, 2, &counts[..2], [5.0f64.exp().ln_1p(), (-1.0f64).exp().ln_1p()]),
        ] {
            let candidates = Candidates { outputs: &outputs, columns, targets, counts, loss: Loss::Mse };
            for (place, want) in want.into_iter().enumerate() {
                let fit = candidates.fit_of(&[(place, 1)]).unwrap();
                assert!((fit.loss - want).abs() < 1e-9, "{place}: {fit:?}, not {want}");
                let is_right =
                    f64::from(columns == 2 && want < 1.0 && matches!(targets, TargetsRef::Classes(_)));
                assert_eq!(fit.accuracy, is_right);
            }
            let best = usize::from(want[1] < want[0]);
            assert_eq!(candidates.select(1, 1).unwrap().0, [(best, 1)]);
        }
    }

    #[test]
    fn bags_are_halves_that_differ_and_repeat() {
        let bags: Vec<Vec<usize>> = (0..4).map(|bag| in_bag(64, bag, 7)).collect();
        assert!(bags.iter().all(|bag| bag.len() == 32 && bag.windows(2).all(|pair| pair[0] < pair[1])));
        assert!(bags.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(bags[2], in_bag(64, 2, 7));
        assert_ne!(bags[2], in_bag(64, 2, 8));
        assert_eq!([3, 9, 20].map(|networks| in_bag(networks, 0, 1).len()), [3, 8, 10]);
        // Picks are distributed over the bags, for any number of picks.
        let values: Vec<f32> = (0..64).map(|value| value as f32).collect();
        let outputs: Vec<Vec<f32>> =
            (0..64).map(|by| values.iter().map(|value| value + by as f32 - 31.0).collect()).collect();
        let targets = TargetsRef::Values { values: &values, columns: 1 };
        let candidates =
            Candidates { outputs: &outputs, columns: 1, targets, counts: &[1.0; 64], loss: Loss::Mse };
        for count in [1, 2, 3, 4, 7, 8, 9, 17] {
            assert_eq!(total(&candidates.select(count, 3).unwrap().0), count as u32);
        }
        // Few picks use all networks: one of them is the best.
        for seed in 0..20 {
            assert_eq!(candidates.select(1, seed).unwrap().0, [(31, 1)]);
            assert_eq!(
                candidates.select(7, seed).unwrap(),
                (vec![(31, 7)], Fit { accuracy: 0.0, loss: 0.0 })
            );
        }
    }
}
