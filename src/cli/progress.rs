//! Progress on a line of standard error, if that is a terminal: of a run, and of anything that can be counted.
//!
//! indicatif would need this file, too: it drops no figures where the terminal is narrow, and leaves remains of its line where
//! that becomes narrower.

use std::cell::Cell;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use terminal_size::{Width, terminal_size_of};

use super::text::{grouped, loss, percent};

/// How often the progress of an epoch is drawn anew, at most.
const INTERVAL: Duration = Duration::from_millis(50);
/// More seconds than these left are not said: a hundred days.
const MOST_LEFT: f64 = 8.64e6;
/// The columns of a bar: at least, where there is one, and at most.
const BAR: [usize; 2] = [6, 24];

/// How far a run is; it comes soon after the first batch and goes with the end.
pub struct Progress {
    line: Line,
    /// Which of several runs, counted from 0, and how many there are.
    part: [usize; 2],
    epochs: usize,
    /// When the first of all runs began to train, at what share of them all, and behind how many rows of its epoch.
    begun: Option<(Instant, f64, usize)>,
    drawn: Option<Instant>,
    /// Rows of the epochs before this one, and of this one.
    rows: [usize; 2],
}

impl Progress {
    /// Nothing shown yet. What is not `wanted`, or what nobody would see, never is.
    pub fn new(wanted: bool, epochs: usize) -> Self {
        Self { line: Line::new(wanted), part: [0, 1], epochs, begun: None, drawn: None, rows: [0; 2] }
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
        if !self.line.enabled {
            return;
        }
        let now = Instant::now();
        let share = total.map(|total| self.share(epoch, rows as f64 / total.max(1) as f64));
        let first = share.unwrap_or_else(|| self.share(epoch, 0.0));
        let begun = *self.begun.get_or_insert((now, first, rows));
        let [before, last] = self.rows;
        self.rows = [if rows > last { before } else { before + last }, rows];
        // Epochs may be shorter than the interval.
        if now - *self.drawn.get_or_insert(now) < INTERVAL {
            return;
        }
        self.drawn = Some(now);
        let seconds = (now - begun.0).as_secs_f64();
        let rate = (self.rows[0] + rows - begun.2) as f64 / seconds;
        let [fold, folds] = self.part;
        let part = if folds > 1 { format!("fold {}/{folds}, ", fold + 1) } else { String::new() };
        let mut head = format!("{part}epoch {epoch}/{}", self.epochs);
        if share.is_none() {
            head += &format!(", {} rows", grouped(rows as u64));
        }
        let left = share.and_then(|share| left(seconds, begun.1, share));
        let mut figures: Vec<String> = left.into_iter().collect();
        figures.push(format!("loss {}", loss(mean_loss)));
        figures.extend(accuracy.map(|accuracy| format!("accuracy {}", percent(accuracy))));
        figures.push(format!("{}/s", grouped(rate as u64)));
        self.line.draw(|room| fitted(room, &head, share, &figures));
    }

    /// The share of all epochs of all folds that is trained when such a share of this epoch is.
    fn share(&self, epoch: usize, of_epoch: f64) -> f64 {
        let [fold, folds] = self.part.map(|part| part as f64);
        let of_fold = (epoch.saturating_sub(1) as f64 + of_epoch) / self.epochs.max(1) as f64;
        (fold + of_fold) / folds
    }

    /// Takes it away.
    pub fn clear(&mut self) {
        self.line.clear();
    }

    /// Prints with the line out of the way.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.line.clear();
        print()
    }
}

/// The time left if what is left takes as long as what was done in these seconds: from the share `before` to `share`. Nothing before a
/// second has passed.
fn left(seconds: f64, before: f64, share: f64) -> Option<String> {
    let left = seconds * (1.0 - share) / (share - before);
    let is_known = seconds >= 1.0 && (0.0..MOST_LEFT).contains(&left);
    is_known.then(|| {
        format!("{} left", humantime::format_duration(Duration::from_secs(left.round().max(1.0) as u64)))
    })
}

/// How many are done of things that are done one after the other.
pub struct Bar {
    line: Line,
    what: &'static str,
}

impl Bar {
    /// Nothing done yet of what is called so.
    pub fn new(what: &'static str) -> Self {
        Self { line: Line::new(true), what }
    }

    /// Shows how many are done, of how many.
    pub fn update(&mut self, done: usize, of: usize) {
        let share = done as f64 / of.max(1) as f64;
        self.line.draw(|room| fitted(room, self.what, Some(share), &[format!("{done} of {of}")]));
    }

    /// Takes it away.
    pub fn clear(&mut self) {
        self.line.clear();
    }
}

/// A line of standard error that is written over again and again.
struct Line {
    enabled: bool,
    /// Columns of what stands there.
    length: Cell<usize>,
}

impl Line {
    fn new(wanted: bool) -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { enabled: wanted && stderr().is_terminal() && !is_dumb, length: Cell::new(0) }
    }

    /// Writes what `text` makes of so many columns.
    fn draw(&self, text: impl FnOnce(usize) -> String) {
        if self.enabled {
            let width = width();
            self.replace(&text(room(width)), width);
        }
    }

    fn clear(&self) {
        if self.length.get() > 0 {
            self.replace("", width());
        }
    }

    fn replace(&self, text: &str, width: usize) {
        let before = self.length.replace(text.chars().count());
        // A run does not end because nobody sees its progress.
        let _ = stderr().lock().write_all(redrawn(before, text, width).as_bytes());
    }
}

/// What writes a line over one of so many columns, which stands in as many rows as it takes in a terminal that is now so wide.
fn redrawn(before: usize, text: &str, width: usize) -> String {
    let up = match before.saturating_sub(1) / width.max(1) {
        0 => String::new(),
        rows => format!("\x1b[{rows}A"),
    };
    format!("\r{up}{text}\x1b[J")
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Columns of the terminal, asked each time: it may have been resized.
fn width() -> usize {
    terminal_size_of(stderr()).map_or(80, |(Width(columns), _)| columns.into())
}

/// The columns that are used. Some stay free, so that a line seldom breaks into rows while the edge of the terminal is dragged.
pub fn room(width: usize) -> usize {
    width - width.div_ceil(8).min(width)
}

/// A line of at most `room` columns: what it is about, a bar, and as many of the figures, the first ones, as fit.
fn fitted(room: usize, head: &str, share: Option<f64>, figures: &[String]) -> String {
    let [least, most] = BAR;
    let full = (0..=figures.len()).rev().find_map(|count| {
        let tail: String = figures[..count].iter().map(|figure| format!(", {figure}")).collect();
        let Some(share) = share else {
            return Some(format!("{head}{tail}")).filter(|line| line.len() <= room);
        };
        let tail = format!("{:>3.0} %{tail}", share * 100.0);
        let columns = room.checked_sub(head.len() + " [] ".len() + tail.len())?.min(most);
        (columns >= least).then(|| format!("{head} [{}] {tail}", bar(share, columns)))
    });
    full.unwrap_or_else(|| head.chars().take(room).collect())
}

fn bar(share: f64, columns: usize) -> String {
    let filled = (share.clamp(0.0, 1.0) * columns as f64) as usize;
    let tip = if filled < columns { ">" } else { "" };
    format!("{:<columns$}", "=".repeat(filled) + tip)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(width: usize, share: Option<f64>) -> String {
        let figures = ["loss 0.1234", "accuracy 98.12 %", "1,234,567/s"].map(str::to_owned);
        fitted(room(width), "epoch 10/10", share, &figures)
    }

    #[test]
    fn everything_fits_on_a_line_of_80_columns() {
        let line = epoch(80, Some(0.5));
        assert_eq!(line, "epoch 10/10 [===>  ]  50 %, loss 0.1234, accuracy 98.12 %, 1,234,567/s");
        assert_eq!(line.len(), 70);
        assert_eq!(epoch(80, None), "epoch 10/10, loss 0.1234, accuracy 98.12 %, 1,234,567/s");
    }

    #[test]
    fn no_line_is_wider_than_its_room() {
        for width in 0..200 {
            for share in [None, Some(0.0), Some(0.37), Some(1.0)] {
                let line = epoch(width, share);
                assert!(line.len() <= width - width.div_ceil(8).min(width), "{width}: {line}");
            }
        }
        assert_eq!(epoch(60, Some(0.0)), "epoch 10/10 [>                  ]   0 %, loss 0.1234");
        assert_eq!(epoch(10, Some(0.0)), "epoch 10");
    }

    #[test]
    fn a_line_that_a_narrower_terminal_has_broken_is_overwritten_from_its_first_row_on() {
        assert_eq!(redrawn(0, "abc", 80), "\rabc\x1b[J");
        assert_eq!(redrawn(70, "abc", 70), "\rabc\x1b[J");
        assert_eq!(redrawn(70, "abc", 69), "\r\x1b[1Aabc\x1b[J");
        assert_eq!(redrawn(70, "", 20), "\r\x1b[3A\x1b[J");
        assert_eq!(redrawn(2, "", 0), "\r\x1b[1A\x1b[J");
    }

    #[test]
    fn the_share_is_that_of_all_epochs_and_folds() {
        let mut progress = Progress::new(false, 4);
        assert_eq!(
            [(1, 0.0), (3, 0.5), (4, 1.0)].map(|(epoch, of)| progress.share(epoch, of)),
            [0.0, 0.625, 1.0]
        );
        progress.begin(3, 5, 2);
        assert_eq!(progress.share(2, 0.5), 0.75);
    }

    #[test]
    fn rows_of_all_epochs_and_folds_are_counted_however_short_an_epoch_is() {
        let mut progress = Progress::new(false, 3);
        progress.line.enabled = true;
        for (epoch, rows) in [(1, 20), (1, 30), (2, 30), (3, 10), (3, 30)] {
            progress.update(epoch, rows, Some(30), 0.5, None);
        }
        progress.begin(1, 2, 3);
        progress.update(1, 5, Some(30), 0.5, None);
        assert_eq!((progress.rows, progress.begun.map(|begun| begun.2)), ([90, 5], Some(20)));
        assert!(progress.line.length.get() == 0, "no interval has passed");
        std::thread::sleep(INTERVAL);
        progress.update(1, 10, Some(30), 0.5, None);
        assert!(progress.line.length.get() > 0);
        progress.clear();
    }

    #[test]
    fn the_time_left_follows_from_what_this_process_has_trained() {
        assert_eq!(left(30.0, 0.0, 0.25).as_deref(), Some("1m 30s left"));
        // A run that goes on at a half.
        assert_eq!(left(10.0, 0.5, 0.6).as_deref(), Some("40s left"));
        assert_eq!(left(7200.0, 0.0, 0.5).as_deref(), Some("2h left"));
        for (seconds, before, share) in [(0.5, 0.0, 0.5), (10.0, 0.5, 0.5), (1e9, 0.0, 1e-3)] {
            assert_eq!(left(seconds, before, share), None);
        }
    }

    #[test]
    fn a_bar_grows_from_nothing_to_all() {
        assert_eq!([0.0, 0.5, 1.0, 7.0].map(|share| bar(share, 6)), [">     ", "===>  ", "======", "======"]);
    }
}
