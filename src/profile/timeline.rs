//! Execution of stages by a device, on the host's clock.

use super::spans::{Partition, Spans};
use crate::engine::{Clock, Log, Submission, Work};
use crate::timing::Span;

/// Nanoseconds by which a stage may exceed its submission's time on the host, since clocks differ slightly.
const SLACK: u64 = 1_000_000;

/// An executed stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageRun {
    /// Index in [`Log::stages`].
    pub stage: usize,
    /// Length in nanoseconds of the clock that timed it; `None` if its time stamps are impossible.
    pub length: Option<u64>,
    /// Span in nanoseconds of the host's clock since the recorder began.
    pub span: Span,
}

/// Returns all stages of a run in order, without overlap.
pub fn timeline(log: &Log) -> Vec<StageRun> {
    let shift = match log.clock {
        Some(Clock::Timestamps) => shifts(&log.submissions),
        Some(Clock::Host) | None => vec![0; log.submissions.len()],
    };
    let mut ran = Vec::new();
    // On both clocks, a stage begins when the previous one has ended, even if the stamps differ.
    let (mut free, mut host_free) = (0, 0);
    for (submission, shift) in log.submissions.iter().zip(shift) {
        for (stage, span) in &submission.stages {
            let most = submission.seen.saturating_sub(submission.submitted) + SLACK;
            let Some(span) = span.filter(|span| span.length() <= most) else {
                let span = Span { begin: host_free, end: host_free };
                ran.push(StageRun { stage: *stage, length: None, span });
                continue;
            };
            let (begin, end) = (span.begin.max(free), span.end.max(free));
            let host = |moment: u64| u64::try_from(moment as i64 + shift).unwrap_or(0).max(host_free);
            let on_host = Span { begin: host(begin), end: host(end) };
            (free, host_free) = (end, on_host.end);
            ran.push(StageRun { stage: *stage, length: Some(end - begin), span: on_host });
        }
    }
    ran
}

/// Returns for each submission the difference from the device's to the host's clock. No stage begins before
/// it is submitted or ends after it was seen to have ended: the smallest difference for which all begin in
/// time is the best estimate, as one of them will have begun at once. If clocks drift, the submission's own
/// limits take precedence.
fn shifts(submissions: &[Submission]) -> Vec<i64> {
    let limits: Vec<Option<(i64, i64)>> = submissions
        .iter()
        .map(|submission| {
            let mut spans = submission.stages.iter().filter_map(|(_, span)| *span);
            let first = spans.next()?;
            let last = spans.next_back().unwrap_or(first);
            let least = submission.submitted as i64 - first.begin as i64;
            Some((least, least.max(submission.seen as i64 - last.end as i64)))
        })
        .collect();
    let common = limits.iter().flatten().map(|(least, _)| *least).max().unwrap_or(0);
    limits.into_iter().map(|limit| limit.map_or(common, |(least, most)| common.clamp(least, most))).collect()
}

/// Divides the time of a run.
pub fn partition(log: &Log, ran: &[StageRun]) -> Partition {
    let host = |works: &[Work]| {
        let spans = log.host.iter().filter(|(work, _)| works.contains(work));
        Spans::union(spans.map(|(_, span)| *span))
    };
    Partition::new(
        &Spans::union(log.windows.iter().copied()),
        &Spans::union(ran.iter().map(|ran| ran.span)),
        &host(&[Work::Recording, Work::Submitting, Work::Finishing]),
        &host(&[Work::Reading, Work::Upload, Work::Distorting]),
        &host(&[Work::Waiting]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin: u64, end: u64) -> Span {
        Span { begin, end }
    }

    fn submission(submitted: u64, seen: u64, spans: &[Option<Span>]) -> Submission {
        Submission { submitted, seen, stages: spans.iter().map(|span| (0, *span)).collect() }
    }

    fn ran(clock: Clock, submissions: Vec<Submission>) -> Vec<(Option<u64>, u64, u64)> {
        let log = Log { submissions, clock: Some(clock), ..Log::default() };
        timeline(&log).into_iter().map(|ran| (ran.length, ran.span.begin, ran.span.end)).collect()
    }

    #[test]
    fn the_device_begins_after_the_submission_and_ends_before_that_is_seen() {
        // The device's clock is 1000 ahead; the first submission waited 3 to begin, the second began at once.
        let submissions = vec![
            submission(10, 40, &[Some(span(1013, 1020)), Some(span(1022, 1030))]),
            submission(50, 70, &[Some(span(1050, 1060))]),
        ];
        let expected = [(Some(7), 13, 20), (Some(8), 22, 30), (Some(10), 50, 60)];
        assert_eq!(ran(Clock::Timestamps, submissions), expected);
    }

    #[test]
    fn clocks_that_drift_apart_keep_to_the_limits_of_each_submission() {
        // The first requires at least 5, but then the second would end after it was seen to have ended.
        let submissions = vec![
            submission(105, 120, &[Some(span(100, 110))]),
            submission(200, 222, &[Some(span(199, 220))]),
        ];
        assert_eq!(ran(Clock::Timestamps, submissions), [(Some(10), 105, 115), (Some(21), 201, 222)]);
    }

    #[test]
    fn stages_do_not_overlap_and_refused_stamps_have_no_length() {
        let spans = [Some(span(10, 20)), None, Some(span(15, 30)), Some(span(12, 28))];
        let expected = [(Some(10), 10, 20), (None, 20, 20), (Some(10), 20, 30), (Some(0), 30, 30)];
        assert_eq!(ran(Clock::Host, vec![submission(10, 30, &spans)]), expected);
        // A stage that is longer than its submission is impossible; the following stages are unaffected.
        let spans = [Some(span(10, 20)), Some(span(20, 20 + 2 * SLACK)), Some(span(25, 30))];
        let expected = [(Some(10), 10, 20), (None, 20, 20), (Some(5), 25, 30)];
        assert_eq!(ran(Clock::Host, vec![submission(10, 40, &spans)]), expected);
    }
}
