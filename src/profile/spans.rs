//! Set operations on time spans.

use crate::timing::Span;

/// Spans that neither touch nor overlap, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans(Vec<Span>);

impl Spans {
    /// Returns the union of spans.
    pub fn union(spans: impl IntoIterator<Item = Span>) -> Self {
        let mut sorted: Vec<Span> = spans.into_iter().filter(|span| span.length() > 0).collect();
        sorted.sort_unstable_by_key(|span| span.begin);
        let mut union: Vec<Span> = Vec::with_capacity(sorted.len());
        for span in sorted {
            match union.last_mut() {
                Some(last) if span.begin <= last.end => last.end = last.end.max(span.end),
                _ => union.push(span),
            }
        }
        Self(union)
    }

    /// Returns the total length in nanoseconds.
    pub fn length(&self) -> u64 {
        self.0.iter().map(|span| span.length()).sum()
    }

    /// Returns the intersection of `self` and `other`, and their difference.
    pub fn split(&self, other: &Self) -> (Self, Self) {
        let (mut both, mut alone) = (Vec::new(), Vec::new());
        let mut others = other.0.iter().peekable();
        for span in &self.0 {
            let mut at = span.begin;
            while let Some(next) = others.peek().filter(|next| next.begin < span.end) {
                let (begin, end) = (next.begin.max(at), next.end.min(span.end));
                if begin < end {
                    alone.push(Span { begin: at, end: begin });
                    both.push(Span { begin, end });
                    at = end;
                }
                if next.end > span.end {
                    // The next span of `self` may also intersect it.
                    break;
                }
                others.next();
            }
            alone.push(Span { begin: at, end: span.end });
        }
        (Self::union(both), Self::union(alone))
    }
}

/// Division of some time, each nanosecond counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Partition {
    /// The device was busy.
    pub busy: u64,
    /// The device was idle, and the host recorded.
    pub recording: u64,
    /// Neither of these, and the host waited for rows, uploaded or distorted them.
    pub loading: u64,
    /// None of these, and the host waited.
    pub waiting: u64,
    /// None of these.
    pub idle: u64,
}

impl Partition {
    /// Partitions the time in `windows`.
    pub fn new(windows: &Spans, busy: &Spans, recording: &Spans, loading: &Spans, waiting: &Spans) -> Self {
        let (busy, rest) = windows.split(busy);
        let (recording, rest) = rest.split(recording);
        let (loading, rest) = rest.split(loading);
        let (waiting, idle) = rest.split(waiting);
        Self {
            busy: busy.length(),
            recording: recording.length(),
            loading: loading.length(),
            waiting: waiting.length(),
            idle: idle.length(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LENGTH: u64 = 60;

    fn spans() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0..LENGTH, 0..=LENGTH), 0..12)
    }

    fn union(pairs: &[(u64, u64)]) -> Spans {
        Spans::union(pairs.iter().map(|(begin, end)| Span { begin: *begin, end: *end }))
    }

    /// Checks the same nanosecond by nanosecond.
    fn holds(pairs: &[(u64, u64)], at: u64) -> bool {
        pairs.iter().any(|(begin, end)| (*begin..*end).contains(&at))
    }

    proptest! {
        #[test]
        fn every_nanosecond_counts_once_in_its_order(
            all in (spans(), spans(), spans(), spans(), spans())
        ) {
            let (windows, busy, recording, loading, waiting) = &all;
            let mut want = Partition::default();
            for at in (0..LENGTH).filter(|at| holds(windows, *at)) {
                let count = if holds(busy, at) {
                    &mut want.busy
                } else if holds(recording, at) {
                    &mut want.recording
                } else if holds(loading, at) {
                    &mut want.loading
                } else if holds(waiting, at) {
                    &mut want.waiting
                } else {
                    &mut want.idle
                };
                *count += 1;
            }
            let got = Partition::new(
                &union(windows),
                &union(busy),
                &union(recording),
                &union(loading),
                &union(waiting),
            );
            prop_assert_eq!(got, want);
            let sum = got.busy + got.recording + got.loading + got.waiting + got.idle;
            prop_assert_eq!(sum, union(windows).length());
        }
    }

    #[test]
    fn stretches_that_touch_are_one() {
        assert_eq!(union(&[(3, 5), (0, 2), (5, 9), (4, 4), (1, 2)]), union(&[(0, 2), (3, 9)]));
        assert_eq!(union(&[(0, 2), (3, 9)]).length(), 8);
    }
}
