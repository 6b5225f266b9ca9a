//! The regions of a step under the eyes of a recorder.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};

use super::sparse::share_taken;
use crate::data::{Features, Rows};
use crate::gpu::Span;
use crate::model::Spec;
use crate::trainer::recorder::{Clock, Member, Recorder, Submission, Work};

/// A part of a region, done by one thread.
struct Part {
    region: usize,
    thread: usize,
    span: Span,
}

/// Times the regions of a run: each from the begin of its first part to the end of its last, whichever threads do them.
/// One that has no core is stood in for, so no single thread sees how long a region takes. Tells the recorder when it
/// is dropped.
pub struct Phases {
    recorder: Arc<Recorder>,
    stages: Stages,
    steps: usize,
    parts: Mutex<Vec<Part>>,
}

/// Places of the regions in the recorder's list.
struct Stages {
    gather: usize,
    first_layer: usize,
    rows: usize,
    update_and_gather: usize,
    update: usize,
}

/// The parts that one thread does; dropped when it has ended.
pub struct Watch<'a> {
    phases: &'a Phases,
    thread: usize,
    parts: RefCell<Vec<Part>>,
    waited: RefCell<Vec<(Work, Span)>>,
}

impl Phases {
    /// Nothing timed yet of a run of so many steps.
    pub fn new(recorder: &Arc<Recorder>, costs: Costs, steps: usize) -> Self {
        recorder.log().clock = Some(Clock::Host);
        let stage = |phase: &Member| recorder.stage(vec![phase.clone()]);
        let Costs { gather, first_layer, rows, update } = &costs;
        let stages = Stages {
            gather: stage(gather),
            first_layer: stage(first_layer),
            rows: stage(rows),
            update_and_gather: stage(&joined(update, gather)),
            update: stage(update),
        };
        Self { recorder: Arc::clone(recorder), stages, steps, parts: Mutex::default() }
    }

    /// What region `region` is: the first gathers a batch, then each step has three. The last of all has no batch to
    /// gather.
    fn stage(&self, region: usize) -> usize {
        match region % 3 {
            _ if region == 0 => self.stages.gather,
            _ if region == 3 * self.steps => self.stages.update,
            1 => self.stages.first_layer,
            2 => self.stages.rows,
            _ => self.stages.update_and_gather,
        }
    }

    /// For thread `thread` of the run.
    pub fn watch(&self, thread: usize) -> Watch<'_> {
        Watch { phases: self, thread, parts: RefCell::default(), waited: RefCell::default() }
    }
}

impl Watch<'_> {
    /// Times what this thread does of region `region`: `meet` takes part in it with the work that it is given.
    pub fn region(&self, region: usize, work: &dyn Fn(usize), meet: impl FnOnce(&dyn Fn(usize))) {
        let now = || self.phases.recorder.now();
        let worked = Cell::new(now());
        meet(&|part| {
            let begin = now();
            work(part);
            let span = Span { begin, end: now() };
            worked.set(span.end);
            self.parts.borrow_mut().push(Part { region, thread: self.thread, span });
        });
        // The thread that leads stands for the host.
        if self.thread == 0 {
            let span = Span { begin: worked.get(), end: now() };
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
        parts.sort_unstable_by_key(|part| (part.region, part.span.begin));
        let regions = parts.chunk_by(|a, b| a.region == b.region).map(|parts| {
            let (begin, end) = parts.iter().fold((u64::MAX, 0), |(begin, end), part| {
                (begin.min(part.span.begin), end.max(part.span.end))
            });
            (self.stage(parts[0].region), Some(Span { begin, end }))
        });
        let stages: Vec<_> = regions.collect();
        let ends = stages.first().zip(stages.last());
        let Some(((_, Some(first)), (_, Some(last)))) = ends else { return };
        let (submitted, seen) = (first.begin, last.end);
        let mut log = self.recorder.log();
        log.parts.extend(parts.iter().map(|part| (part.thread, self.stage(part.region), part.span)));
        log.submissions.push(Submission { submitted, seen, stages });
    }
}

/// What is done of a step, and what it costs.
pub struct Costs {
    /// The inputs of a batch.
    gather: Member,
    /// The first layer forward.
    first_layer: Member,
    /// The layers above, forward and back.
    rows: Member,
    /// All weights.
    update: Member,
}

/// What a step of batches of `batch` rows costs on so many threads. Each tensor counts as read or written once; with B
/// rows, a first layer of I inputs and O outputs, Z numbers among the B I inputs that are multiplied (all, or where zeros
/// are skipped those of the fours that are not all 0), X the bytes in which they stand (4 Z, or 5 Z with the lists), and
/// over the layers above, each of i inputs and o outputs:
///
/// | phase | bytes | FLOP |
/// |---|---|---|
/// | gather | inputs as stored, and X | Z |
/// | first_layer | X + 4 I O + 4 B O | 2 Z O |
/// | rows | sum of 8 i o + 8 B (i + o) | sum of 4 B i o, and 5 B o for the loss |
/// | update | X + 4 B O + 8 I O, sum of 8 i o + 4 B (i + o) | 2 Z O, sum of 2 B i o |
pub fn costs(spec: &Spec, batch: usize, threads: usize, rows: &Rows<'_>, sparse: bool) -> Costs {
    let sizes = spec.sizes();
    let (inputs, outputs, classes) = (sizes[0], sizes[1], sizes[sizes.len() - 1]);
    let (stored, share) = taken(rows);
    let all = batch * inputs;
    let used = if sparse { (all as f64 * share) as usize } else { all };
    // A four has the number of its row beside it.
    let x = 4 * used + if sparse { used } else { 0 };
    let above = || sizes[1..].windows(2).map(|pair| (pair[0], pair[1]));
    let products: usize = above().map(|(i, o)| i * o).sum();
    let between: usize = above().map(|(i, o)| batch * (i + o)).sum();
    let phase = |kernel: &str, shape: String, bytes: usize, flop: usize| Member {
        kernel: kernel.to_owned(),
        fused: Vec::new(),
        shape,
        workgroups: threads as u64,
        bytes: bytes as u64,
        flop: flop as u64,
    };
    let layers = sizes[1..].iter().map(usize::to_string).collect::<Vec<_>>().join("-");
    Costs {
        gather: phase("gather", format!("{batch} x {inputs}"), stored * all + x, used),
        first_layer: phase(
            "first_layer",
            format!("{batch} x {inputs} x {outputs}"),
            x + 4 * inputs * outputs + 4 * batch * outputs,
            2 * used * outputs,
        ),
        rows: phase(
            "rows",
            format!("{batch} x {layers}"),
            8 * products + 8 * between,
            4 * batch * products + 5 * batch * classes,
        ),
        update: phase(
            "update",
            format!("{batch} x {spec}"),
            x + 4 * batch * outputs + 8 * inputs * outputs + 8 * products + 4 * between,
            2 * used * outputs + 2 * batch * products,
        ),
    }
}

/// Two phases of one region, on the same threads.
fn joined(one: &Member, other: &Member) -> Member {
    Member {
        kernel: format!("{} + {}", one.kernel, other.kernel),
        fused: Vec::new(),
        shape: format!("{} + {}", one.shape, other.shape),
        workgroups: one.workgroups,
        bytes: one.bytes + other.bytes,
        flop: one.flop + other.flop,
    }
}

/// Bytes of an input as it is stored, and which share of the first rows' inputs is taken where zeros are skipped.
fn taken(rows: &Rows<'_>) -> (usize, f64) {
    let bytes = match rows.features {
        Features::Bytes(_) => 1,
        Features::Floats(_) => 4,
    };
    (bytes, share_taken(rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::trainer::Detail;

    #[test]
    fn costs_are_those_of_the_formulas() {
        let spec = Spec::new(vec![8, 4, 3, 2]).unwrap();
        let features = Features::Bytes([1, 0, 0, 2, 0, 0, 0, 0].repeat(10));
        let data = Dataset { inputs: 8, features, labels: vec![0; 10] };
        let figures = |sparse| {
            let Costs { gather, first_layer, rows, update } = costs(&spec, 10, 2, &data.view(), sparse);
            [gather, first_layer, rows, update].map(|phase| (phase.bytes, phase.flop))
        };
        // B I = 80, of which half stand in fours that are taken; B O = 40; products 4*3 + 3*2 = 18; B (i + o) = 70 + 50.
        let rows = (144 + 960, 720 + 100);
        let dense = [(80 + 320, 80), (320 + 128 + 160, 640), rows, (320 + 160 + 256 + 144 + 480, 640 + 360)];
        assert_eq!(figures(false), dense);
        let sparse = [(80 + 200, 40), (200 + 128 + 160, 320), rows, (200 + 160 + 256 + 144 + 480, 320 + 360)];
        assert_eq!(figures(true), sparse);
    }

    #[test]
    fn a_region_lasts_from_its_first_part_to_its_last() {
        let recorder = Arc::new(Recorder::new(Detail::Stages));
        let spec = Spec::new(vec![8, 4]).unwrap();
        let data = Dataset { inputs: 8, features: Features::Bytes(vec![1; 80]), labels: vec![0; 10] };
        let phases = Phases::new(&recorder, costs(&spec, 10, 2, &data.view(), false), 2);
        let (leader, other) = (phases.watch(0), phases.watch(1));
        for region in 0..7 {
            // The other does both parts of the last regions.
            leader.region(region, &|_| (), |work| {
                if region < 5 {
                    work(0)
                }
            });
            other.region(region, &|_| (), |work| (0..if region < 5 { 1 } else { 2 }).for_each(work));
        }
        drop((leader, other));
        drop(phases);
        let log = recorder.take();
        assert_eq!(log.clock, Some(Clock::Host));
        assert_eq!((log.stages.len(), log.submissions.len(), log.host.len(), log.parts.len()), (5, 1, 7, 14));
        let stages = &log.submissions[0].stages;
        let names: Vec<&str> = stages.iter().map(|(stage, _)| &*log.stages[*stage][0].kernel).collect();
        let step = ["first_layer", "rows", "update + gather"];
        assert_eq!(names, [&["gather"][..], &step, &step[..2], &["update"]].concat());
        let threads: Vec<usize> = log.parts.iter().map(|(thread, ..)| *thread).collect();
        assert_eq!(threads[..10], [0, 1].repeat(5));
        assert_eq!(threads[10..], [1; 4]);
        for ((stage, region), parts) in stages.iter().zip(log.parts.chunks(2)) {
            let [(_, one, first), (_, two, last)] = parts else { panic!("two parts") };
            assert_eq!((one, two), (stage, stage));
            assert_eq!(*region, Some(Span { begin: first.begin, end: last.end }));
        }
    }
}
