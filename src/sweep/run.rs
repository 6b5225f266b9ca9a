//! Training of a sweep's members: on the processor each thread trains one member or team at a time, without
//! synchronization inside a step.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::halving::{Halving, ranked};
use super::member::{FinishedMember, Member, TrialStatus};
#[cfg(feature = "gpu")]
use super::pack;
use super::queue::Job;
use super::worker::{Outbox, PausedRun, WorkerContext, WorkerMessage};
use super::{team, worker};
use crate::clock::Instant;
use crate::engine::Device;
use crate::error::Result;
use crate::threads::{available, spawn};
use crate::train::{Epoch, Score};

/// The interval of [`Event::Tick`] while a caller waits.
const TICK: Duration = Duration::from_millis(100);

/// Training options of a sweep.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Device for training.
    pub device: Device,
    /// Threads of the CPU engine; `None` is one per core.
    pub threads: Option<usize>,
    /// Whether worse members are dropped early.
    pub halving: Option<Halving>,
    /// Current stage of halving of the members, counted from 0.
    pub first_stage: usize,
    /// Time at which the sweep ends, even if unfinished.
    pub deadline: Option<Instant>,
}

/// Events of a sweep.
#[derive(Debug)]
pub enum Event {
    /// A member has trained an epoch.
    Epoch {
        /// Number of the member.
        member: usize,
        /// Number of the fold, counted from 0.
        fold: usize,
        /// Metrics of the epoch.
        epoch: Box<Epoch>,
        /// Whether its model is the best so far.
        is_kept: bool,
    },
    /// A member's training has ended.
    FinishedMember(Box<FinishedMember>),
    /// All members have reached the end of a stage, and the worse ones were dropped.
    Halved {
        /// Share of their epochs trained so far.
        share: f64,
        /// Number of remaining members.
        left: usize,
    },
    /// Some time has passed.
    Tick,
}

/// A running sweep. Call [`Sweep::next`] until it returns `None`. Dropping the sweep stops it.
pub struct Sweep {
    plan: Plan,
    common: Arc<WorkerContext>,
    members: Vec<State>,
    /// Stage of halving, counted from 0.
    stage: usize,
    workers: Vec<JoinHandle<()>>,
    messages: Option<Receiver<Vec<WorkerMessage>>>,
    events: VecDeque<Event>,
    is_over: bool,
}

/// State of a member.
struct State {
    member: Member,
    /// Paused run of each fold.
    pieces: Vec<Option<PausedRun>>,
    /// Whether its training has ended.
    is_over: bool,
}

impl Sweep {
    /// Creates a sweep that has not started.
    pub fn new(members: Vec<Member>, plan: Plan) -> Self {
        let state = |member: Member| {
            let pieces = member.data.iter().map(|_| None).collect();
            State { member, pieces, is_over: false }
        };
        let rows = |member: &Member| member.rows() * member.config.epochs as u64;
        let total = members.iter().map(rows).sum();
        Self {
            common: Arc::new(WorkerContext::new(plan.device.clone(), plan.deadline, total)),
            stage: plan.first_stage,
            plan,
            members: members.into_iter().map(state).collect(),
            workers: Vec::new(),
            messages: None,
            events: VecDeque::new(),
            is_over: false,
        }
    }

    /// Stops it between two steps: unfinished members are not reported.
    pub fn stop(&mut self) {
        self.common.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Returns the rows trained so far, over all members and epochs, and the total if all continue.
    pub fn rows(&self) -> [u64; 2] {
        [self.common.rows.load(Ordering::Relaxed), self.common.total.load(Ordering::Relaxed)]
    }

    /// Waits for the next event, at the latest for a tick. Returns `None` when the sweep has ended.
    ///
    /// # Errors
    /// When no thread can be started.
    #[expect(clippy::should_implement_trait, reason = "an iterator would go on after an error")]
    pub fn next(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            let Some(messages) = &self.messages else {
                self.begin_stage()?;
                continue;
            };
            match messages.recv_timeout(TICK) {
                Ok(messages) => messages.into_iter().for_each(|message| self.take(message)),
                Err(RecvTimeoutError::Timeout) => return Ok(Some(Event::Tick)),
                Err(RecvTimeoutError::Disconnected) => self.end_stage()?,
            }
        }
    }

    /// Queues the work of a stage: the longest jobs first, or with a deadline in the order of the members, as
    /// the longest would leave no time for others.
    fn begin_stage(&mut self) -> Result<()> {
        let mut jobs = Vec::new();
        for (index, state) in self.members.iter_mut().enumerate().filter(|(_, state)| !state.is_over) {
            let epochs = state.member.config.epochs;
            let until = self.plan.halving.map_or(epochs, |halving| halving.end_epoch(self.stage, epochs));
            for (fold, piece) in state.pieces.iter_mut().enumerate() {
                // A run that has ended has nothing more to train.
                if piece.as_ref().is_some_and(|piece| piece.status.is_some()) {
                    continue;
                }
                let run = piece.take().map(|piece| (piece.run, piece.duration));
                let cost = state.member.cost(fold);
                jobs.push(Job { index, fold, until, run, cost, member: state.member.clone() });
            }
        }
        if self.plan.deadline.is_none() {
            jobs.sort_by(|a, b| b.cost.total_cmp(&a.cost));
        }
        let is_cpu = self.plan.device.is_cpu();
        let threads = if is_cpu { self.plan.threads.unwrap_or_else(available) } else { 1 };
        let workers = threads.min(jobs.len()).max(1);
        let each = (threads / workers).max(1);
        self.common.threads.store(each, Ordering::Relaxed);
        // A member of a team has no separate threads.
        let can_share = is_cpu && each == 1;
        let left = self.plan.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let jobs = match can_share {
            true => team::teams(jobs, workers, left),
            false => jobs.into_iter().map(|job| vec![job]).collect(),
        };
        self.common.queue.push(jobs);
        let (sender, messages) = channel();
        self.messages = Some(messages);
        for number in 0..workers {
            let (common, mut outbox) = (Arc::clone(&self.common), Outbox::new(sender.clone()));
            #[cfg(feature = "gpu")]
            let work = if is_cpu { worker::work } else { pack::work };
            #[cfg(not(feature = "gpu"))]
            let work = worker::work;
            let started = spawn("sweep", "trains a network of a sweep", move || work(&common, &mut outbox));
            match started {
                Ok(worker) => self.workers.push(worker),
                // The other threads do the work.
                Err(_) if number > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take(&mut self, message: WorkerMessage) {
        match message {
            WorkerMessage::Epoch { index, fold, epoch, is_kept } => {
                let member = self.members[index].member.number;
                self.events.push_back(Event::Epoch { member, fold, epoch, is_kept });
            }
            WorkerMessage::Paused { index, fold, piece } => {
                let state = &mut self.members[index];
                state.pieces[fold] = Some(piece);
                let pieces: Option<Vec<&PausedRun>> = state.pieces.iter().map(Option::as_ref).collect();
                if let Some(status) = pieces.and_then(|pieces| status(&pieces)) {
                    self.end(index, status);
                }
            }
        }
    }

    /// Reports the result of a member.
    fn end(&mut self, index: usize, status: TrialStatus) {
        let state = &mut self.members[index];
        state.is_over = true;
        let mut ended = FinishedMember {
            member: state.member.number,
            status,
            runs: Vec::new(),
            duration: Duration::ZERO,
        };
        for piece in state.pieces.iter_mut().filter_map(Option::take) {
            ended.duration += piece.duration;
            ended.runs.extend(piece.trained());
        }
        self.events.push_back(Event::FinishedMember(Box::new(ended)));
    }

    /// Drops the worse members, if others continue.
    fn end_stage(&mut self) -> Result<()> {
        self.messages = None;
        for worker in self.workers.drain(..) {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        let is_stopped = self.common.is_stopped.load(Ordering::Relaxed);
        let waiting = |state: &State| !state.is_over && state.pieces.iter().all(Option::is_some);
        let left: Vec<usize> =
            (0..self.members.len()).filter(|index| waiting(&self.members[*index])).collect();
        let halving = self.plan.halving.filter(|halving| self.stage + 1 < halving.stages());
        let Some(halving) = halving.filter(|_| !is_stopped && !left.is_empty()) else {
            self.is_over = true;
            return Ok(());
        };
        let (share, epochs) = (halving.share(self.stage), |state: &State| {
            state.pieces.iter().flatten().map(|piece| piece.run.epochs().len()).max().unwrap_or(0)
        });
        let scored = left.iter().map(|index| (*index, self.members[*index].score())).collect();
        let order = ranked(scored);
        let keep = halving.keeps(order.len());
        for index in &order[keep..] {
            let epochs = epochs(&self.members[*index]);
            let member = &self.members[*index].member;
            let untrained = member.rows() * member.config.epochs.saturating_sub(epochs) as u64;
            self.common.total.fetch_sub(untrained, Ordering::Relaxed);
            self.end(*index, TrialStatus::Dropped(epochs));
        }
        self.stage += 1;
        self.events.push_back(Event::Halved { share, left: keep });
        Ok(())
    }
}

impl State {
    /// Returns the member's score so far.
    fn score(&self) -> Option<Score> {
        let runs = self.pieces.iter().flatten().filter_map(PausedRun::trained).collect();
        let ended = FinishedMember {
            member: self.member.number,
            status: TrialStatus::Done,
            runs,
            duration: Duration::ZERO,
        };
        ended.score(self.member.is_tested)
    }
}

/// Returns the status of a member whose folds have all been trained; `None` if some are still waiting.
fn status(pieces: &[&PausedRun]) -> Option<TrialStatus> {
    let fates: Option<Vec<&TrialStatus>> = pieces.iter().map(|piece| piece.status.as_ref()).collect();
    let fates = fates?;
    let failed = fates.iter().find(|status| matches!(status, TrialStatus::Failed(_)));
    let late = fates.iter().find(|status| matches!(status, TrialStatus::Time));
    Some(failed.or(late).map_or(TrialStatus::Done, |status| (*status).clone()))
}

impl Drop for Sweep {
    fn drop(&mut self) {
        self.stop();
        self.messages = None;
        for worker in self.workers.drain(..) {
            // It has no more messages.
            let _ = worker.join();
        }
    }
}
