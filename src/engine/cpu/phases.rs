//! Timing of the phases of a step for a recorder.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};

use super::costs::Costs;
use crate::engine::{Clock, Member, Recorder, Submission, Work};
use crate::timing::Span;

/// A part of a phase, done by one thread.
struct Part {
    /// Phase of the run; `None` for work outside the phases.
    phase: Option<usize>,
    thread: usize,
    span: Span,
}

/// Times the phases of a run, each from the start of its first part to the end of its last, on any threads.
/// Threads may do the parts of others, so no single thread can time a phase. If threads do not meet between
/// phases, their common time is divided in proportion to the threads' own times. Passes the times to the
/// recorder when dropped.
pub struct Phases {
    recorder: Arc<Recorder>,
    stages: Stages,
    parts: Mutex<Vec<Part>>,
}

/// Indices of the phases in the recorder's list.
struct Stages {
    gather: usize,
    /// The phases of a step.
    step: Vec<usize>,
}

/// Parts done by one thread; dropped when the thread ends.
pub struct Watch<'a> {
    phases: &'a Phases,
    thread: usize,
    parts: RefCell<Vec<Part>>,
    waited: RefCell<Vec<(Work, Span)>>,
    /// End of the thread's last work.
    worked: Cell<u64>,
}

impl Phases {
    /// Creates a timer.
    pub fn new(recorder: &Arc<Recorder>, costs: Costs) -> Self {
        recorder.log().clock = Some(Clock::Host);
        let stage = |phase: &Member| recorder.stage(vec![phase.clone()]);
        let Costs { gather, step } = &costs;
        let stages = Stages { gather: stage(gather), step: step.iter().map(stage).collect() };
        Self { recorder: Arc::clone(recorder), stages, parts: Mutex::default() }
    }

    /// Returns the stage of phase `phase` of the run: the first phase gathers a batch, the phases of each
    /// step follow.
    fn stage(&self, phase: Option<usize>) -> usize {
        let Stages { gather, step } = &self.stages;
        match phase.and_then(|phase| phase.checked_sub(1)) {
            None => *gather,
            Some(index) => step[index % step.len()],
        }
    }

    /// Starts timing thread `thread` of the run.
    pub fn watch(&self, thread: usize) -> Watch<'_> {
        let worked = Cell::new(self.recorder.now());
        Watch { phases: self, thread, parts: RefCell::default(), waited: RefCell::default(), worked }
    }
}

impl Watch<'_> {
    /// Times a part of phase `phase`, or work outside the phases.
    pub fn time(&self, phase: Option<usize>, work: impl FnOnce()) {
        let begin = self.phases.recorder.now();
        work();
        let span = Span { begin, end: self.phases.recorder.now() };
        self.worked.set(span.end);
        self.parts.borrow_mut().push(Part { phase, thread: self.thread, span });
    }

    /// Times how long the thread waits for others in a meeting, after its parts.
    pub fn wait(&self, wait: impl FnOnce()) {
        self.worked.set(self.phases.recorder.now());
        wait();
        // The leading thread counts as the host.
        if self.thread == 0 {
            let span = Span { begin: self.worked.get(), end: self.phases.recorder.now() };
            self.waited.borrow_mut().push((Work::Waiting, span));
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let Phases { recorder, parts, .. } = self.phases;
        parts.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.parts.borrow_mut());
        recorder.log().host.append(&mut self.waited.borrow_mut());
    }
}

impl Drop for Phases {
    fn drop(&mut self) {
        let mut parts = std::mem::take(&mut *self.parts.lock().unwrap_or_else(PoisonError::into_inner));
        parts.sort_unstable_by_key(|part| (part.phase, part.span.begin));
        let phases = parts.chunk_by(|a, b| a.phase == b.phase).filter(|parts| parts[0].phase.is_some());
        let mut timed: Vec<Timed> = Vec::new();
        for parts in phases {
            let time = |part: &Part| part.span.end - part.span.begin;
            let (begin, end) = parts.iter().fold((u64::MAX, 0), |(begin, end), part| {
                (begin.min(part.span.begin), end.max(part.span.end))
            });
            let busy = parts.iter().map(time).sum();
            timed.push(Timed { stage: self.stage(parts[0].phase), span: Span { begin, end }, busy });
        }
        share_regions(&mut timed);
        let stages: Vec<_> = timed.iter().map(|phase| (phase.stage, Some(phase.span))).collect();
        let ends = stages.first().zip(stages.last());
        let Some(((_, Some(first)), (_, Some(last)))) = ends else { return };
        let (submitted, seen) = (first.begin, last.end);
        let mut log = self.recorder.log();
        log.parts.extend(parts.iter().map(|part| (part.thread, self.stage(part.phase), part.span)));
        log.submissions.push(Submission { submitted, seen, stages });
    }
}

/// A phase of the run.
struct Timed {
    stage: usize,
    span: Span,
    /// Time of all threads combined.
    busy: u64,
}

/// Divides the time of each region between its phases in proportion to the threads' times: threads go from
/// one phase to the next without waiting, and one may do all parts of a region that another has not begun.
fn share_regions(phases: &mut [Timed]) {
    let mut rest = phases;
    while let Some(first) = rest.first() {
        let (begin, mut end, mut count) = (first.span.begin, first.span.end, 1);
        while let Some(phase) = rest.get(count).filter(|phase| phase.span.begin < end) {
            end = end.max(phase.span.end);
            count += 1;
        }
        let (region, others) = rest.split_at_mut(count);
        let busy = region.iter().map(|phase| phase.busy).sum::<u64>().max(1);
        let (mut done, mut from) = (0, begin);
        for phase in region {
            done += phase.busy;
            let to = begin + (u128::from(end - begin) * u128::from(done) / u128::from(busy)) as u64;
            phase.span = Span { begin: from, end: if done == busy { end } else { to } };
            from = phase.span.end;
        }
        rest = others;
    }
}

#[cfg(test)]
mod tests {
    use super::super::costs::costs;
    use super::super::plan::{Phase, Plan};
    use super::*;
    use crate::data::{Dataset, Features};
    use crate::engine::{Detail, EngineOptions, Log};
    use crate::model::Network;

    #[test]
    fn phases_share_the_time_of_their_region() {
        let phase = |begin, end, busy| Timed { stage: 0, span: Span { begin, end }, busy };
        // Two threads in sequence, in a region of two phases; then a single phase, and one that took no time.
        let mut phases = [phase(10, 45, 10), phase(15, 70, 50), phase(80, 90, 15), phase(90, 90, 0)];
        share_regions(&mut phases);
        let spans = phases.map(|phase| (phase.span.begin, phase.span.end));
        assert_eq!(spans, [(10, 20), (20, 70), (80, 90), (90, 90)]);
    }

    fn recorded(plan: Plan, work: impl Fn(&Watch<'_>, &Watch<'_>)) -> Log {
        let recorder = Arc::new(Recorder::new(Detail::Stages));
        let network = Network::classifier(&[8, 4]).unwrap();
        let data = Dataset {
            inputs: 8,
            features: Features::Bytes(vec![1; 80]),
            targets: (vec![0; 10]).into(),
            weights: Vec::new(),
        };
        let phases = [Phase::FirstLayer, Phase::Rows, Phase::Update];
        let costs = costs(plan, &phases, &network, &EngineOptions::sgd(10, 0.1), &data.view(), None);
        let phases = Phases::new(&recorder, costs);
        let (leader, other) = (phases.watch(0), phases.watch(1));
        work(&leader, &other);
        drop((leader, other));
        drop(phases);
        recorder.take()
    }

    fn names(log: &Log) -> Vec<&str> {
        let stages = &log.submissions[0].stages;
        stages.iter().map(|(stage, _)| &*log.stages[*stage][0].kernel).collect()
    }

    #[test]
    fn a_phase_lasts_from_its_first_part_to_its_last() {
        let log = recorded(Plan::Rows(2), |leader, other| {
            for phase in 0..7 {
                // The other does both parts of the last phases.
                leader.wait(|| {
                    if phase < 5 {
                        leader.time(Some(phase), || ());
                    }
                });
                other
                    .wait(|| (0..if phase < 5 { 1 } else { 2 }).for_each(|_| other.time(Some(phase), || ())));
            }
        });
        assert_eq!(log.clock, Some(Clock::Host));
        assert_eq!((log.stages.len(), log.submissions.len(), log.host.len(), log.parts.len()), (4, 1, 7, 14));
        let step = ["first_layer", "rows", "update"];
        assert_eq!(names(&log), [&["gather"][..], &step, &step].concat());
        let threads: Vec<usize> = log.parts.iter().map(|(thread, ..)| *thread).collect();
        assert_eq!(threads[..10], [0, 1].repeat(5));
        assert_eq!(threads[10..], [1; 4]);
        for ((stage, phase), parts) in log.submissions[0].stages.iter().zip(log.parts.chunks(2)) {
            let [(_, one, first), (_, two, last)] = parts else { panic!("two parts") };
            assert_eq!((one, two), (stage, stage));
            assert_eq!(*phase, Some(Span { begin: first.begin, end: last.end }));
        }
    }

    #[test]
    fn what_is_done_beside_the_phases_is_none_of_them() {
        let log = recorded(Plan::Apart, |leader, other| {
            leader.wait(|| leader.time(Some(0), || ()));
            for step in 0..2 {
                leader.wait(|| (0..3).for_each(|index| leader.time(Some(1 + 3 * step + index), || ())));
                other.wait(|| other.time(None, || ()));
            }
        });
        let step = ["first_layer", "rows", "update"];
        assert_eq!(names(&log), [&["gather"][..], &step, &step].concat());
        let beside = log.parts.iter().filter(|(thread, ..)| *thread == 1);
        assert!(beside.clone().all(|(_, stage, _)| log.stages[*stage][0].kernel == "gather"));
        assert_eq!((beside.count(), log.parts.len(), log.host.len()), (2, 9, 3));
    }
}
