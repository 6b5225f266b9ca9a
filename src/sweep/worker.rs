//! A thread that trains members of a sweep, one after the other or several together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::member::{Member, TrainedModel, TrialStatus};
use super::member_engine::{BatchTrainer, MemberEngine};
use super::queue::{Job, Queue};
use super::team;
use crate::clock::Instant;
use crate::engine::Device;
use crate::threads::block;
use crate::threads::hand_over;
use crate::train::{End, Epoch, Event, Run};

/// Shared data of all threads of a sweep.
pub(super) struct WorkerContext {
    pub device: Device,
    deadline: Option<Instant>,
    pub queue: Queue,
    /// Threads of the CPU engine for each member.
    pub threads: AtomicUsize,
    pub is_stopped: AtomicBool,
    /// Rows trained so far, over all members and epochs.
    pub rows: AtomicU64,
    /// Total number of rows if all members continue to the end.
    pub total: AtomicU64,
}

/// Messages from a worker thread.
pub(super) enum WorkerMessage {
    Epoch { index: usize, fold: usize, epoch: Box<Epoch>, is_kept: bool },
    Paused { index: usize, fold: usize, piece: PausedRun },
}

/// Longest time that a thread buffers epochs: members that are trained together finish thousands per second,
/// and waking the receiver for each would cost as much as a small epoch.
const KEPT: Duration = Duration::from_millis(10);

/// Buffered messages of a thread.
pub(super) struct Outbox {
    sender: Sender<Vec<WorkerMessage>>,
    kept: Vec<WorkerMessage>,
    sent: Instant,
}

impl Outbox {
    pub fn new(sender: Sender<Vec<WorkerMessage>>) -> Self {
        Self { sender, kept: Vec::new(), sent: Instant::now() }
    }

    /// Sends a message, for an epoch possibly later; returns false if the receiver is gone.
    fn send(&mut self, message: WorkerMessage) -> bool {
        let can_wait = matches!(message, WorkerMessage::Epoch { .. }) && self.sent.elapsed() < KEPT;
        self.kept.push(message);
        can_wait || self.flush()
    }

    /// Sends the buffered messages; returns false if the receiver is gone.
    fn flush(&mut self) -> bool {
        self.sent = Instant::now();
        self.sender.send(std::mem::take(&mut self.kept)).is_ok()
    }
}

/// A paused or finished run.
pub(super) struct PausedRun {
    pub run: Box<Run>,
    /// Final status, if finished.
    pub status: Option<TrialStatus>,
    pub duration: Duration,
}

impl PausedRun {
    /// Returns the result of the run so far.
    pub fn trained(&self) -> Option<TrainedModel> {
        let (kept, model) = self.run.kept()?;
        Some(TrainedModel { epochs: self.run.epochs().to_vec(), kept, model: Arc::clone(model) })
    }
}

impl WorkerContext {
    pub fn new(device: Device, deadline: Option<Instant>, total: u64) -> Self {
        Self {
            device,
            deadline,
            queue: Queue::default(),
            threads: AtomicUsize::new(1),
            is_stopped: AtomicBool::new(false),
            rows: AtomicU64::new(0),
            total: AtomicU64::new(total),
        }
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}

/// A member in training.
struct ActiveMember {
    index: usize,
    fold: usize,
    member: Member,
    until: usize,
    cost: f64,
    run: Box<Run>,
    /// Training time.
    duration: Duration,
    /// Counted rows of the epoch.
    counted: usize,
    /// If it is trained with others, its share of their training time in this epoch.
    shared: Option<Duration>,
}

/// Result of advancing a member.
enum Outcome {
    /// The epoch continues.
    More,
    /// An epoch has ended, and the run continues.
    Epoch,
    /// The run is paused or finished.
    Paused(Option<TrialStatus>),
    /// The run was interrupted.
    Broken,
}

/// Trains until there are no more jobs.
pub(super) fn work(common: &WorkerContext, outbox: &mut Outbox) {
    while let Some((jobs, _working)) = common.queue.take() {
        let is_heard = match team::networks(&jobs, &common.device) {
            Some(networks) => train_together(common, networks, jobs, outbox),
            None => jobs.into_iter().all(|job| train(common, job, outbox)),
        };
        if !is_heard {
            return;
        }
    }
}

/// Trains a member; returns false if the receiver is gone.
fn train(common: &WorkerContext, job: Job, outbox: &mut Outbox) -> bool {
    let Some(mut going) = ActiveMember::begin(common, job) else { return true };
    loop {
        let begun = Instant::now();
        let outcome = going.advance(common, outbox);
        going.duration += begun.elapsed();
        if !matches!(outcome, Outcome::More | Outcome::Epoch) {
            return going.tell(outcome, outbox);
        }
    }
}

/// Trains members together, none of them an epoch further than the others; returns false if the receiver is
/// gone.
pub(super) fn train_together(
    common: &WorkerContext,
    networks: Box<dyn BatchTrainer>,
    jobs: Vec<Job>,
    outbox: &mut Outbox,
) -> bool {
    let mut waiting = Vec::with_capacity(jobs.len());
    let data = Arc::clone(jobs[0].data());
    let engines = MemberEngine::for_members(networks, jobs.len(), &data);
    // All members register first, since any submission trains all of them.
    for (engine, job) in engines.zip(jobs) {
        let Some(mut going) = ActiveMember::begin(common, job) else { continue };
        match going.attach_engine(common, engine) {
            Outcome::More => waiting.push(going),
            outcome => {
                if !going.tell(outcome, outbox) {
                    return false;
                }
            }
        }
    }
    while !waiting.is_empty() {
        if waiting.len() > 1 && common.queue.has_idle_thread() {
            // Take every other one, since they are in the order of their costs.
            let mut number = 0;
            let others = waiting.extract_if(.., |_| {
                number += 1;
                number % 2 == 0
            });
            let mut jobs = Vec::new();
            for mut going in others {
                match going.run.suspend() {
                    Ok(()) => jobs.push(going.job()),
                    Err(error) => {
                        let outcome = going.ended(common, TrialStatus::Failed(error.to_string()));
                        if !going.tell(outcome, outbox) {
                            return false;
                        }
                    }
                }
            }
            // Another thread reports the next epochs of these.
            outbox.flush();
            common.queue.push([jobs]);
        }
        let mut in_epoch = std::mem::take(&mut waiting);
        while !in_epoch.is_empty() {
            // The first call does the work of all.
            let begun = Instant::now();
            let advanced: Vec<(ActiveMember, Outcome)> = in_epoch
                .drain(..)
                .map(|mut going| {
                    let outcome = going.advance(common, outbox);
                    (going, outcome)
                })
                .collect();
            let share = begun.elapsed() / advanced.len() as u32;
            for (mut going, outcome) in advanced {
                going.duration += share;
                match outcome {
                    Outcome::More => {
                        going.shared = going.shared.map(|shared| shared + share);
                        in_epoch.push(going);
                    }
                    Outcome::Epoch => waiting.push(going),
                    outcome => {
                        if !going.tell(outcome, outbox) {
                            return false;
                        }
                    }
                }
            }
        }
    }
    true
}

impl ActiveMember {
    /// Starts or continues a run; returns `None` if there is no time left for it, or the sweep was stopped.
    fn begin(common: &WorkerContext, job: Job) -> Option<Self> {
        let Job { index, fold, member, until, run, cost } = job;
        if common.is_stopped() || common.is_late() && run.is_none() {
            return None;
        }
        let (run, duration) = match run {
            Some(run) => run,
            // Impossible settings are reported before a sweep begins.
            None => (begin(common, &member, fold).ok()?, Duration::ZERO),
        };
        Some(Self { index, fold, member, until, cost, run, duration, counted: 0, shared: None })
    }

    /// Returns the remaining work for another thread. Its run is suspended.
    fn job(self) -> Job {
        let Self { index, fold, member, until, cost, run, duration, .. } = self;
        Job { index, fold, member, until, run: Some((run, duration)), cost }
    }

    /// Attaches it to an engine that trains it together with others.
    fn attach_engine(&mut self, common: &WorkerContext, engine: MemberEngine) -> Outcome {
        self.shared = Some(Duration::ZERO);
        if self.waits_too_long(common) {
            return Outcome::Paused(Some(TrialStatus::Time));
        }
        match self.run.attach_engine(Box::new(engine)) {
            Ok(()) => Outcome::More,
            Err(error) => self.ended(common, TrialStatus::Failed(error.to_string())),
        }
    }

    /// Returns whether there is no time left for a suspended run.
    fn waits_too_long(&self, common: &WorkerContext) -> bool {
        common.is_late() && self.run.end().is_none() && self.run.is_suspended()
    }

    /// Advances until there is a result to report.
    fn advance(&mut self, common: &WorkerContext, outbox: &mut Outbox) -> Outcome {
        if self.waits_too_long(common) {
            return Outcome::Paused(Some(TrialStatus::Time));
        }
        loop {
            if common.is_stopped() {
                return Outcome::Broken;
            }
            match self.run.next() {
                Ok(Some(Event::Progress { rows, .. })) => {
                    common.rows.fetch_add((rows - self.counted) as u64, Ordering::Relaxed);
                    self.counted = rows;
                    return Outcome::More;
                }
                Ok(Some(Event::Epoch { mut epoch, is_kept, .. })) => {
                    self.counted = 0;
                    if let Some(shared) = &mut self.shared {
                        epoch.duration = std::mem::take(shared);
                        self.run.record_duration(epoch.duration);
                    }
                    let (index, fold, number) = (self.index, self.fold, epoch.epoch);
                    // If the receiver is gone, the next check of `is_stopped` ends the run.
                    outbox.send(WorkerMessage::Epoch { index, fold, epoch, is_kept });
                    if self.run.end().is_some() {
                        continue;
                    }
                    if number < self.until {
                        return Outcome::Epoch;
                    }
                    let status = self.run.suspend().err().map(|error| TrialStatus::Failed(error.to_string()));
                    return Outcome::Paused(status);
                }
                Ok(Some(_)) => {}
                Ok(None) => {
                    if let Err(error) = block(self.run.temper()) {
                        return self.ended(common, TrialStatus::Failed(error.to_string()));
                    }
                    let is_late = self.run.end() == Some(End::Time) && common.is_late();
                    return self.ended(common, if is_late { TrialStatus::Time } else { TrialStatus::Done });
                }
                Err(error) => return self.ended(common, TrialStatus::Failed(error.to_string())),
            }
        }
    }

    /// Ends a member: its remaining rows no longer count as work.
    fn ended(&self, common: &WorkerContext, status: TrialStatus) -> Outcome {
        let left = self.member.config.epochs.saturating_sub(self.run.epochs().len()) as u64;
        let rows = self.member.rows_of(self.fold);
        common.total.fetch_sub((rows * left).saturating_sub(self.counted as u64), Ordering::Relaxed);
        Outcome::Paused(Some(status))
    }

    /// Reports its result; returns false if the receiver is gone.
    fn tell(self, outcome: Outcome, outbox: &mut Outbox) -> bool {
        let Outcome::Paused(status) = outcome else { return true };
        let Self { index, fold, mut run, duration, .. } = self;
        run.detach_engine();
        hand_over();
        outbox.send(WorkerMessage::Paused { index, fold, piece: PausedRun { run, status, duration } })
    }
}

/// Creates the run of a member that has not begun.
fn begin(common: &WorkerContext, member: &Member, fold: usize) -> crate::error::Result<Box<Run>> {
    let mut config = member.config.clone();
    config.threads = Some(common.threads.load(Ordering::Relaxed));
    if let Some(deadline) = common.deadline {
        let left = deadline.saturating_duration_since(Instant::now());
        config.max_time = Some(config.max_time.map_or(left, |most| most.min(left)));
    }
    let data = Arc::clone(&member.data[fold]);
    Ok(Box::new(Run::shared(config, data, common.device.clone())?))
}
