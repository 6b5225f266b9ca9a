//! Progress on standard error, if that is a terminal: of a run, of anything that can be counted, and of a sweep.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use super::text::{loss, percent};

/// How often it is drawn anew, at most.
const INTERVAL: Duration = Duration::from_millis(100);

/// Something that is drawn over again and again, and goes with the end.
pub struct Bar {
    is_seen: bool,
    /// Nothing until it is drawn.
    bar: Option<ProgressBar>,
    drawn: Option<Instant>,
}

impl Bar {
    /// Nothing drawn yet. What is not `wanted`, or what nobody would see, never is.
    pub fn new(is_wanted: bool) -> Self {
        Self { is_seen: is_wanted && !ProgressDrawTarget::stderr().is_hidden(), bar: None, drawn: None }
    }

    /// Whether somebody sees it.
    pub fn is_seen(&self) -> bool {
        self.is_seen
    }

    /// What is to be drawn, in this form, if it is time to.
    fn due(&mut self, template: &str) -> Option<&ProgressBar> {
        let now = Instant::now();
        if !self.is_seen || self.drawn.is_some_and(|drawn| now - drawn < INTERVAL) {
            return None;
        }
        self.drawn = Some(now);
        let target = || ProgressDrawTarget::stderr_with_hz(100);
        let new = || ProgressBar::with_draw_target(None, target()).with_finish(ProgressFinish::AndClear);
        let bar = self.bar.get_or_insert_with(new);
        // What cannot be read, which a test excludes, is a plain bar.
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        Some(bar)
    }

    /// Shows how many are done, of how many that are called so.
    pub fn count(&mut self, what: &'static str, done: usize, of: usize) {
        if let Some(bar) = self.due(COUNT) {
            bar.set_prefix(what);
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        }
    }

    /// Shows lines, if it is time to.
    pub fn lines(&mut self, lines: impl FnOnce() -> Vec<String>) {
        if let Some(bar) = self.due(LINES) {
            let (height, width) = console::Term::stderr().size();
            let shown = lines().into_iter().take(usize::from(height).saturating_sub(1));
            let fitted = shown.map(|line| console::truncate_str(&line, width.into(), "").into_owned());
            bar.set_message(fitted.collect::<Vec<String>>().join("\n"));
        }
    }

    /// Takes it away, until it is drawn again.
    pub fn clear(&mut self) {
        (self.bar, self.drawn) = (None, None);
    }

    /// Prints with it out of the way.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

/// A run of which it is known how many rows an epoch has, and one of which that is not known yet.
const RUN: [&str; 2] = [
    "{prefix} [{bar:24}] {percent:>3} %, {eta} left, {per_sec:0}{wide_msg}",
    "{prefix}, {human_pos} rows, {per_sec:0}{wide_msg}",
];
/// Things that are done one after the other.
const COUNT: &str = "{prefix} [{bar:24}] {percent:>3} %, {pos} of {len}";
/// Lines of any kind.
const LINES: &str = "{msg}";

/// How far a run is.
pub struct Progress {
    pub bar: Bar,
    /// Which of several runs, counted from 0, and how many there are.
    part: [usize; 2],
    epochs: usize,
}

impl Progress {
    /// Nothing shown yet, of so many epochs.
    pub fn new(is_wanted: bool, epochs: usize) -> Self {
        Self { bar: Bar::new(is_wanted), part: [0, 1], epochs }
    }

    /// Begins with a fold, counted from 0, of so many, which has so many epochs.
    pub fn begin(&mut self, fold: usize, folds: usize, epochs: usize) {
        (self.part, self.epochs) = ([fold, folds], epochs);
    }

    /// Shows how far the run is. May be called for every batch.
    pub fn update(
        &mut self,
        epoch: usize,
        rows: usize,
        total: Option<usize>,
        mean_loss: f64,
        accuracy: Option<f64>,
    ) {
        let [done, all] = self.rows(epoch, rows, total.unwrap_or(0));
        let ([fold, folds], epochs, is_new) = (self.part, self.epochs, self.bar.bar.is_none());
        let Some(bar) = self.bar.due(RUN[usize::from(total.is_none())]) else { return };
        let part = if folds > 1 { format!("fold {}/{folds}, ", fold + 1) } else { String::new() };
        let accuracy = accuracy.map(|accuracy| format!(", accuracy {}", percent(accuracy)));
        bar.set_length(all);
        bar.set_position(done);
        if is_new {
            // What was trained before tells nothing of how long the rest takes.
            bar.reset_eta();
        }
        bar.set_prefix(format!("{part}epoch {epoch}/{epochs}"));
        bar.set_message(format!(", loss {}{}", loss(mean_loss), accuracy.unwrap_or_default()));
    }

    /// Rows that are trained, and all of them, over all epochs of all folds.
    fn rows(&self, epoch: usize, rows: usize, total: usize) -> [u64; 2] {
        let [fold, folds] = self.part;
        let before = (fold * self.epochs + epoch.saturating_sub(1)) * total;
        [before + rows, folds * self.epochs * total].map(|rows| rows as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_all_epochs_and_folds() {
        let mut progress = Progress::new(false, 4);
        let rows = |progress: &Progress, epoch, rows| progress.rows(epoch, rows, 10);
        assert_eq!([rows(&progress, 1, 0), rows(&progress, 3, 5)], [[0, 40], [25, 40]]);
        assert_eq!(rows(&progress, 4, 10), [40, 40]);
        progress.begin(3, 5, 2);
        assert_eq!(rows(&progress, 2, 5), [75, 100]);
        assert_eq!(progress.rows(1, 7, 0)[0], 7);
    }

    #[test]
    fn what_nobody_sees_is_not_drawn() {
        let mut progress = Progress::new(false, 1);
        progress.update(1, 5, Some(10), 0.5, None);
        progress.bar.count("things", 1, 2);
        progress.bar.lines(|| unreachable!());
        assert!(progress.bar.bar.is_none());
        assert_eq!(progress.bar.suspend(|| 3), 3);
    }

    #[test]
    fn all_forms_can_be_read() {
        for template in RUN.into_iter().chain([COUNT, LINES]) {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
