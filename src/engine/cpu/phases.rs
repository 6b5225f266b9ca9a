//! The phases of a step under the eyes of a recorder.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};

use super::plan::{Phase, Plan};
use crate::data::{Features, Rows};
use crate::engine::{Clock, EngineOptions, Member, Recorder, Submission, Work};
use crate::gpu::Span;
use crate::model::Network;

/// A part of a phase, done by one thread.
struct Part {
    /// Which phase of the run; none of what is done beside them.
    phase: Option<usize>,
    thread: usize,
    span: Span,
}

/// Times the phases of a run: each from the begin of its first part to the end of its last, whichever threads do them. Where
/// threads do not meet between phases, their time together is divided as the threads have divided theirs.
/// One that has no core is stood in for, so no single thread sees how long a phase takes. Tells the recorder when it
/// is dropped.
pub struct Phases {
    recorder: Arc<Recorder>,
    stages: Stages,
    parts: Mutex<Vec<Part>>,
}

/// Places of the phases in the recorder's list.
struct Stages {
    gather: usize,
    /// Those of a step.
    step: Vec<usize>,
}

/// The parts that one thread does; dropped when it has ended.
pub struct Watch<'a> {
    phases: &'a Phases,
    thread: usize,
    parts: RefCell<Vec<Part>>,
    waited: RefCell<Vec<(Work, Span)>>,
    /// When it last did something.
    worked: Cell<u64>,
}

impl Phases {
    /// Nothing timed yet.
    pub fn new(recorder: &Arc<Recorder>, costs: Costs) -> Self {
        recorder.log().clock = Some(Clock::Host);
        let stage = |phase: &Member| recorder.stage(vec![phase.clone()]);
        let Costs { gather, step } = &costs;
        let stages = Stages { gather: stage(gather), step: step.iter().map(stage).collect() };
        Self { recorder: Arc::clone(recorder), stages, parts: Mutex::default() }
    }

    /// What phase `phase` of the run is: the first gathers a batch, then come those of each step.
    fn stage(&self, phase: Option<usize>) -> usize {
        let Stages { gather, step } = &self.stages;
        match phase.and_then(|phase| phase.checked_sub(1)) {
            None => *gather,
            Some(index) => step[index % step.len()],
        }
    }

    /// For thread `thread` of the run.
    pub fn watch(&self, thread: usize) -> Watch<'_> {
        let worked = Cell::new(self.recorder.now());
        Watch { phases: self, thread, parts: RefCell::default(), waited: RefCell::default(), worked }
    }
}

impl Watch<'_> {
    /// Times a part of phase `phase`, or of what is done beside the phases.
    pub fn time(&self, phase: Option<usize>, work: impl FnOnce()) {
        let begin = self.phases.recorder.now();
        work();
        let span = Span { begin, end: self.phases.recorder.now() };
        self.worked.set(span.end);
        self.parts.borrow_mut().push(Part { phase, thread: self.thread, span });
    }

    /// Times how long the thread waits for others in a meeting, behind the parts that it does there.
    pub fn meet(&self, meet: impl FnOnce()) {
        self.worked.set(self.phases.recorder.now());
        meet();
        // The thread that leads stands for the host.
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
    /// Time of all threads together.
    busy: u64,
}

/// Divides the time of each region between its phases, as the threads have: they go from one phase to the next without
/// waiting for others, and one may do all parts of a region that another has not begun.
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

/// What is done of a step, and what it costs.
pub struct Costs {
    /// The inputs of a batch.
    gather: Member,
    /// The phases of a step.
    step: Vec<Member>,
}

/// What a step of batches of `batch` rows costs; `taken` is the share of the inputs that is, where zeros are skipped. Each
/// tensor counts as read or written once; with B rows, a first layer of I inputs and O outputs, Z numbers among the B I inputs that are multiplied (all, or where zeros
/// are skipped those of the groups that are not all 0), X the bytes in which they stand (4 Z, or 5 Z with the lists), the
/// layers above, each of i inputs and o outputs, C classes, P weights in all, and an optimizer other than plain gradient
/// descent that has S numbers of state per parameter and does F FLOP for it:
///
/// | phase | bytes | FLOP |
/// |---|---|---|
/// | gather | Z inputs as stored, and X | Z |
/// | first_layer | X + 4 I O + 4 B O | 2 Z O |
/// | rows, over the layers above the second | sum of 8 i o + 8 B (i + o), and 8 B C | sum of 4 B i o, and 5 B C for the loss |
/// | forward, of one layer | 4 i o + 4 B (i + o) | 2 B i o |
/// | loss | 8 B C | 5 B C |
/// | backward, of one layer | 4 i o + 4 B (i + o) | 2 B i o |
/// | update | X + 4 B O + 8 I O, sum of 8 i o + 4 B (i + o) | 2 Z O, sum of 2 B i o |
/// | the same with an optimizer | (8 + 8 S) P more | F P more |
/// | gradient, where it is clipped | X + 4 B O + 8 I O, sum of 8 i o + 4 B (i + o) | 2 Z O, sum of 2 B i o, and 2 P |
/// | update behind it | (16 + 8 S) P | (F + 1) P |
pub fn costs(
    plan: Plan,
    phases: &[Phase],
    network: &Network,
    options: &EngineOptions,
    rows: &Rows<'_>,
    taken: Option<f64>,
) -> Costs {
    let EngineOptions { batch, ref rule, .. } = *options;
    let sizes = network.sizes();
    let (inputs, outputs, classes) = (sizes[0], sizes[1], sizes[sizes.len() - 1]);
    let stored = match rows.features {
        Features::Bytes(_) => 1,
        Features::Floats(_) => 4,
    };
    let all = batch * inputs;
    let used = taken.map_or(all, |share| (all as f64 * share) as usize);
    // A group has the number of its row beside it.
    let x = 4 * used + if taken.is_some() { used } else { 0 };
    let above: Vec<_> = sizes[1..].windows(2).map(|pair| (pair[0], pair[1])).collect();
    let products: usize = above.iter().map(|(i, o)| i * o).sum();
    let between: usize = above.iter().map(|(i, o)| batch * (i + o)).sum();
    let member = |kernel: &str, shape: String, bytes: usize, flop: usize| Member {
        kernel: kernel.to_owned(),
        fused: Vec::new(),
        shape: format!("{batch} x {shape}"),
        workgroups: plan.parts() as u64,
        bytes: bytes as u64,
        flop: flop as u64,
        modelled: None,
    };
    let layer = |kernel, (i, o): (usize, usize)| {
        let bytes = 4 * i * o + 4 * batch * (i + o);
        member(kernel, format!("{i} x {o}"), bytes, 2 * batch * i * o)
    };
    let loss = 5 * batch * classes;
    let (kind, clips) = (rule.optimizer.kind, rule.clip_norm.is_some());
    let weights = inputs * outputs + products;
    let gradient_bytes = x + 4 * batch * outputs + 8 * weights + 4 * between;
    let gradient_flop = 2 * used * outputs + 2 * batch * products;
    let gather = || member("gather", inputs.to_string(), stored * used + x, used);
    let phase = |phase: &Phase| match phase {
        Phase::Gather => gather(),
        Phase::FirstLayer => member(
            "first_layer",
            format!("{inputs} x {outputs}"),
            x + 4 * inputs * outputs + 4 * batch * outputs,
            2 * used * outputs,
        ),
        Phase::Rows => {
            let unpaired = above.get(1..).unwrap_or_default();
            let layers = sizes[sizes.len().min(2)..].iter().map(usize::to_string).collect::<Vec<_>>();
            let products: usize = unpaired.iter().map(|(i, o)| i * o).sum();
            let between: usize = unpaired.iter().map(|(i, o)| batch * (i + o)).sum();
            let layers = if layers.is_empty() { classes.to_string() } else { layers.join("-") };
            member("rows", layers, 8 * (products + between + batch * classes), 4 * batch * products + loss)
        }
        Phase::Forward(index) => layer("forward", above[*index]),
        Phase::Loss => member("loss", classes.to_string(), 8 * batch * classes, loss),
        Phase::Backward(index) => layer("backward", (above[*index].1, above[*index].0)),
        Phase::Gradient => {
            member("gradient", network.to_string(), gradient_bytes, gradient_flop + 2 * weights)
        }
        Phase::Update if clips => {
            let bytes = (16 + 8 * kind.states()) * weights;
            member("update", network.to_string(), bytes, (kind.flop() + 1) * weights)
        }
        Phase::Update => {
            let (bytes, flop) =
                if rule.is_plain_sgd() { (0, 0) } else { (8 + 8 * kind.states(), kind.flop()) };
            let (bytes, flop) = (gradient_bytes + bytes * weights, gradient_flop + flop * weights);
            member("update", network.to_string(), bytes, flop)
        }
    };
    Costs { step: phases.iter().map(phase).collect(), gather: gather() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::engine::{Detail, Log};
    use crate::step::OptimizerKind;

    #[test]
    fn costs_are_those_of_the_formulas() {
        let network = Network::classifier(&[8, 4, 3, 2]).unwrap();
        let features = Features::Bytes([1, 0, 0, 2, 0, 0, 0, 0].repeat(10));
        let data = Dataset { inputs: 8, features, targets: (vec![0; 10]).into(), weights: Vec::new() };
        let mut options = EngineOptions::sgd(10, 0.1);
        let costs_of = |options: &EngineOptions, sparse: bool, plan: Plan| {
            let phases = plan.regions(2, options.rule.clip_norm.is_some()).concat();
            let taken = sparse.then_some(0.5);
            let Costs { gather, step } = costs(plan, &phases, &network, options, &data.view(), taken);
            assert_eq!(step.len(), phases.len());
            // Where a step has them, the next one's inputs are gathered as the first's are.
            assert!(phases.iter().zip(&step).all(|(phase, it)| *phase != Phase::Gather || *it == gather));
            step.iter().map(|phase| (phase.bytes, phase.flop)).collect::<Vec<_>>()
        };
        let figures = |sparse, plan| costs_of(&options, sparse, plan);
        // B I = 80, of which half stand in groups that are taken; B O = 40; products 4*3 + 3*2 = 18; B (i + o) = 70 + 50.
        let (large, small, loss) = ((48 + 280, 240), (24 + 200, 120), (160, 100));
        let (rows, gather, first) = ((48 + 400 + 160, 240 + 100), (80 + 320, 80), (320 + 128 + 160, 640));
        let update = (320 + 160 + 256 + 144 + 480, 640 + 360);
        let dense = [first, large, rows, gather, large, update];
        assert_eq!(figures(false, Plan::Rows(2)), dense);
        assert_eq!(figures(false, Plan::Apart), dense);
        let (gather_lists, first_lists) = ((40 + 200, 40), (200 + 128 + 160, 320));
        let lists = (200 + 160 + 256 + 144 + 480, 320 + 360);
        assert_eq!(figures(true, Plan::Rows(2)), [first_lists, large, rows, gather_lists, large, lists]);
        let wide = [first, large, small, loss, gather, small, large, update];
        assert_eq!(figures(false, Plan::Columns(2)), wide);
        // P = 32 + 18 weights.
        let kind = OptimizerKind::Adam;
        options.rule.optimizer = kind.defaults();
        let with_adam = costs_of(&options, false, Plan::Rows(2));
        let (bytes, flop) = update;
        assert_eq!(with_adam[..5], dense[..5]);
        assert_eq!(with_adam[5], (bytes + 24 * 50, flop + kind.flop() as u64 * 50));
        options.rule.clip_norm = Some(1.0);
        let clipped = costs_of(&options, false, Plan::Rows(2));
        assert_eq!(clipped[5], (bytes, flop + 2 * 50));
        assert_eq!(clipped[6], (32 * 50, (kind.flop() as u64 + 1) * 50));
    }

    #[test]
    fn phases_share_the_time_of_their_region() {
        let phase = |begin, end, busy| Timed { stage: 0, span: Span { begin, end }, busy };
        // Two threads, one after the other, in a region of two phases; then a phase alone, and one that took no time.
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
                leader.meet(|| {
                    if phase < 5 {
                        leader.time(Some(phase), || ());
                    }
                });
                other
                    .meet(|| (0..if phase < 5 { 1 } else { 2 }).for_each(|_| other.time(Some(phase), || ())));
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
            leader.meet(|| leader.time(Some(0), || ()));
            for step in 0..2 {
                leader.meet(|| (0..3).for_each(|index| leader.time(Some(1 + 3 * step + index), || ())));
                other.meet(|| other.time(None, || ()));
            }
        });
        let step = ["first_layer", "rows", "update"];
        assert_eq!(names(&log), [&["gather"][..], &step, &step].concat());
        let beside = log.parts.iter().filter(|(thread, ..)| *thread == 1);
        assert!(beside.clone().all(|(_, stage, _)| log.stages[*stage][0].kernel == "gather"));
        assert_eq!((beside.count(), log.parts.len(), log.host.len()), (2, 9, 3));
    }
}
