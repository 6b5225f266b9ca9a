//! Progress on a line of standard error, if that is a terminal: of an epoch, and of anything that can be counted.

use std::cell::Cell;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use terminal_size::{Width, terminal_size_of};

use super::text::{grouped, loss, percent};

/// How often the progress of an epoch is drawn anew, at most.
const INTERVAL: Duration = Duration::from_millis(50);
/// The columns of a bar: at least, where there is one, and at most.
const BAR: [usize; 2] = [6, 24];

/// How far an epoch is; it comes with the first batch of an epoch and goes with its end.
pub struct Progress {
    line: Line,
    /// What stands in front.
    part: String,
    epochs: usize,
    times: Option<Times>,
}

struct Times {
    epoch: usize,
    start: Instant,
    drawn: Instant,
}

impl Progress {
    /// Nothing shown yet. What is not `wanted`, or what nobody would see, never is.
    pub fn new(wanted: bool, epochs: usize) -> Self {
        Self { line: Line::new(wanted), part: String::new(), epochs, times: None }
    }

    /// Begins with one of several runs, which is called so and has so many epochs.
    pub fn begin(&mut self, part: &str, epochs: usize) {
        (self.part, self.epochs, self.times) = (format!("{part}, "), epochs, None);
    }

    /// Shows how far an epoch is. May be called for every batch.
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
        if self.times.as_ref().is_none_or(|times| times.epoch != epoch) {
            self.times = Some(Times { epoch, start: now, drawn: now });
        }
        let is_due = |times: &&mut Times| now - times.drawn >= INTERVAL;
        let Some(times) = self.times.as_mut().filter(is_due) else { return };
        times.drawn = now;
        let rate = rows as f64 / (now - times.start).as_secs_f64().max(1e-9);
        let share = total.map(|total| rows as f64 / total.max(1) as f64);
        let mut head = format!("{}epoch {epoch}/{}", self.part, self.epochs);
        if share.is_none() {
            head += &format!(", {} rows", grouped(rows as u64));
        }
        let mut figures = vec![format!("loss {}", loss(mean_loss))];
        figures.extend(accuracy.map(|accuracy| format!("accuracy {}", percent(accuracy))));
        figures.push(format!("{}/s", grouped(rate as u64)));
        self.line.draw(|room| fitted(room, &head, share, &figures));
    }

    /// Takes it away.
    pub fn clear(&mut self) {
        self.line.clear();
        self.times = None;
    }

    /// Prints with the line out of the way.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.line.clear();
        print()
    }
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
        Self { enabled: wanted && stderr().is_terminal(), length: Cell::new(0) }
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
        let length = text.chars().count();
        // Blanks over the end of a longer one, but never into the next row.
        let blanks = self.length.replace(length).min(width.saturating_sub(1)).saturating_sub(length);
        let back = if length == 0 { "\r" } else { "" };
        let line = format!("\r{text}{:blanks$}{back}", "");
        // A run does not end because nobody sees its progress.
        let _ = stderr().lock().write_all(line.as_bytes());
    }
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

/// The columns that are used. A terminal that becomes narrower breaks a line that no longer fits into rows, of which
/// only the last can be written over; so that dragging its edge does not outrun the next draw, some stay free.
fn room(width: usize) -> usize {
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
    fn a_bar_grows_from_nothing_to_all() {
        assert_eq!([0.0, 0.5, 1.0, 7.0].map(|share| bar(share, 6)), [">     ", "===>  ", "======", "======"]);
    }
}
