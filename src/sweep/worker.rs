//! A thread that trains members of a sweep, one after the other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::member::{Fate, Member, Trained};
use crate::engine::Device;
use crate::train::{End, Epoch, Event, Run};

/// What all threads of a sweep share.
pub(super) struct Common {
    pub device: Device,
    deadline: Option<Instant>,
    jobs: Mutex<VecDeque<Job>>,
    /// Threads of the CPU engine for each member.
    pub threads: AtomicUsize,
    pub is_stopped: AtomicBool,
    /// Rows trained so far, over all members and epochs.
    pub rows: AtomicU64,
    /// How many there are if all members go on to their ends.
    pub total: AtomicU64,
}

/// A member to be trained for some epochs.
pub(super) struct Job {
    /// Which of the members.
    pub index: usize,
    pub fold: usize,
    pub member: Member,
    /// The epoch after which it waits for the others.
    pub until: usize,
    /// Its run, if it has begun, and how long that has taken.
    pub run: Option<(Box<Run>, Duration)>,
    /// What its training costs, in any unit.
    pub cost: f64,
}

/// What a thread tells.
pub(super) enum Message {
    Epoch { index: usize, fold: usize, epoch: Box<Epoch>, is_kept: bool },
    Piece { index: usize, fold: usize, piece: Piece },
}

/// A run that waits, or has ended.
pub(super) struct Piece {
    pub run: Box<Run>,
    /// How it has ended.
    pub fate: Option<Fate>,
    pub duration: Duration,
}

impl Piece {
    /// What the run has given so far.
    pub fn trained(&self) -> Option<Trained> {
        let (kept, model) = self.run.kept()?;
        Some(Trained { epochs: self.run.epochs().to_vec(), kept, model: Arc::clone(model) })
    }
}

impl Common {
    pub fn new(device: Device, deadline: Option<Instant>, total: u64) -> Self {
        Self {
            device,
            deadline,
            jobs: Mutex::default(),
            threads: AtomicUsize::new(1),
            is_stopped: AtomicBool::new(false),
            rows: AtomicU64::new(0),
            total: AtomicU64::new(total),
        }
    }

    /// Work that is taken from the front on.
    pub fn give(&self, jobs: Vec<Job>) {
        *self.jobs.lock().unwrap_or_else(PoisonError::into_inner) = jobs.into();
    }

    pub fn job(&self) -> Option<Job> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}

/// A member that a thread trains.
pub(super) struct Going {
    index: usize,
    fold: usize,
    until: usize,
    /// Rows of a whole training.
    rows: u64,
    epochs: usize,
    run: Box<Run>,
    /// How long it has taken.
    duration: Duration,
    /// Rows of the epoch that were counted.
    counted: usize,
}

/// What has become of a member after an epoch.
pub(super) enum Outcome {
    /// It goes on.
    More,
    /// It waits, or has ended.
    Piece(Option<Fate>),
    /// It was broken off.
    Broken,
}

/// Trains until there is no more to train.
pub(super) fn work(common: &Common, sender: &Sender<Message>) {
    while let Some(job) = common.job() {
        let Some(mut going) = Going::begin(common, job) else { continue };
        let outcome = loop {
            match going.epoch(common, sender) {
                Outcome::More => {}
                outcome => break outcome,
            }
        };
        if !going.tell(outcome, sender) {
            return;
        }
    }
}

impl Going {
    /// Takes a run up; nothing of one for which there is no time, or which was stopped.
    pub fn begin(common: &Common, job: Job) -> Option<Self> {
        let Job { index, fold, member, until, run, .. } = job;
        if common.is_stopped() || common.is_late() && run.is_none() {
            return None;
        }
        let (run, duration) = match run {
            Some(run) => run,
            // Settings that cannot be are found out before a sweep begins.
            None => (begin(common, &member, fold).ok()?, Duration::ZERO),
        };
        let (rows, epochs) = (member.rows_of(fold), member.config.epochs);
        Some(Self { index, fold, until, rows, epochs, run, duration, counted: 0 })
    }

    /// The run.
    pub fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Trains an epoch.
    pub fn epoch(&mut self, common: &Common, sender: &Sender<Message>) -> Outcome {
        let begun = Instant::now();
        let outcome = self.advance(common, sender);
        self.duration += begun.elapsed();
        outcome
    }

    fn advance(&mut self, common: &Common, sender: &Sender<Message>) -> Outcome {
        if common.is_late() && self.run.end().is_none() && self.run.is_aside() {
            return Outcome::Piece(Some(Fate::Time));
        }
        loop {
            if common.is_stopped() {
                return Outcome::Broken;
            }
            match self.run.next() {
                Ok(Some(Event::Progress { rows, .. })) => {
                    common.rows.fetch_add((rows - self.counted) as u64, Ordering::Relaxed);
                    self.counted = rows;
                }
                Ok(Some(Event::Epoch { epoch, is_kept, .. })) => {
                    self.counted = 0;
                    let (index, fold, number) = (self.index, self.fold, epoch.epoch);
                    // Where nobody listens any more, the next look at `is_stopped` ends it.
                    let _ = sender.send(Message::Epoch { index, fold, epoch, is_kept });
                    if self.run.end().is_some() || number < self.until {
                        return Outcome::More;
                    }
                    let fate = self.run.set_aside().err().map(|error| Fate::Failed(error.to_string()));
                    return Outcome::Piece(fate);
                }
                Ok(Some(_)) => {}
                Ok(None) => {
                    let is_late = self.run.end() == Some(End::Time) && common.is_late();
                    return self.ended(common, if is_late { Fate::Time } else { Fate::Done });
                }
                Err(error) => return self.ended(common, Fate::Failed(error.to_string())),
            }
        }
    }

    /// It trains no more: the rows that are left are no work any more.
    fn ended(&self, common: &Common, fate: Fate) -> Outcome {
        let left = self.epochs.saturating_sub(self.run.epochs().len()) as u64;
        common.total.fetch_sub((self.rows * left).saturating_sub(self.counted as u64), Ordering::Relaxed);
        Outcome::Piece(Some(fate))
    }

    /// Tells what has become of it; whether anybody listens.
    pub fn tell(self, outcome: Outcome, sender: &Sender<Message>) -> bool {
        let Outcome::Piece(fate) = outcome else { return true };
        let Self { index, fold, run, duration, .. } = self;
        sender.send(Message::Piece { index, fold, piece: Piece { run, fate, duration } }).is_ok()
    }
}

/// A run of a member that has not begun.
fn begin(common: &Common, member: &Member, fold: usize) -> crate::Result<Box<Run>> {
    let mut config = member.config.clone();
    config.threads = Some(common.threads.load(Ordering::Relaxed));
    if let Some(deadline) = common.deadline {
        let left = deadline.saturating_duration_since(Instant::now());
        config.max_time = Some(config.max_time.map_or(left, |most| most.min(left)));
    }
    let data = Arc::clone(&member.data[fold]);
    Ok(Box::new(Run::shared(config, data, common.device.clone())?))
}
