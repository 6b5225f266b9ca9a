//! Progress bars: of an epoch, and of anything that can be counted.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use super::text::{grouped, loss, percent};

/// How often the bar is drawn anew, at most.
const INTERVAL: Duration = Duration::from_millis(50);

/// A bar on standard error, if that is a terminal; it comes with the first batch of an epoch and goes with its end.
pub struct Progress {
    enabled: bool,
    epochs: usize,
    bar: Option<EpochBar>,
}

struct EpochBar {
    epoch: usize,
    start: Instant,
    drawn: Instant,
    total: Option<usize>,
    bar: ProgressBar,
}

impl Progress {
    /// No bar yet. A bar that is not `wanted`, or that nobody would see, never comes.
    pub fn new(wanted: bool, epochs: usize) -> Self {
        Self { enabled: wanted && stderr().is_terminal(), epochs, bar: None }
    }

    /// Shows how far an epoch is. May be called for every batch.
    pub fn update(&mut self, epoch: usize, rows: usize, total: Option<usize>, mean_loss: f64, accuracy: f64) {
        if !self.enabled {
            return;
        }
        if self.bar.as_ref().is_some_and(|bar| bar.epoch != epoch) {
            self.clear();
        }
        let epochs = self.epochs;
        let bar = self.bar.get_or_insert_with(|| EpochBar::new(epoch, epochs));
        let now = Instant::now();
        if now - bar.drawn < INTERVAL {
            return;
        }
        bar.drawn = now;
        if let (Some(total), None) = (total, bar.total) {
            bar.total = Some(total);
            bar.bar.set_length(total as u64);
            bar.bar.set_style(style("{prefix} [{wide_bar}] {percent:>3} %, {msg}"));
        }
        // Each of these may draw: the position first, so that what is drawn fits together.
        bar.bar.set_position(rows as u64);
        let rate = rows as f64 / (now - bar.start).as_secs_f64().max(1e-9);
        bar.bar.set_message(format!(
            "{} samples/s, loss {}, accuracy {}",
            grouped(rate as u64),
            loss(mean_loss),
            percent(accuracy)
        ));
    }

    /// Takes the bar away.
    pub fn clear(&mut self) {
        if let Some(EpochBar { bar, .. }) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Prints with the bar out of the way.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(EpochBar { bar, .. }) => bar.suspend(print),
            None => print(),
        }
    }
}

impl EpochBar {
    fn new(epoch: usize, epochs: usize) -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(20);
        let bar = ProgressBar::with_draw_target(None, target).with_finish(ProgressFinish::AndClear);
        bar.set_style(style("{prefix} {spinner} {human_pos} rows, {msg}"));
        bar.set_prefix(format!("epoch {epoch}/{epochs}"));
        let start = Instant::now();
        Self { epoch, start, drawn: start, total: None, bar }
    }
}

/// A bar on standard error, if that is a terminal, for things that are done one after the other.
pub struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// Nothing done yet of what is called so.
    pub fn new(what: &'static str) -> Self {
        let target = match stderr().is_terminal() {
            true => ProgressDrawTarget::stderr_with_hz(20),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(None, target).with_finish(ProgressFinish::AndClear);
        bar.set_style(style("{prefix} [{wide_bar}] {pos} of {len}"));
        bar.set_prefix(what);
        Self { bar }
    }

    /// Shows how many are done, of how many.
    pub fn update(&mut self, done: usize, of: usize) {
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
    }

    /// Takes the bar away.
    pub fn clear(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    // A template that cannot be parsed costs its looks, not the run.
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}
