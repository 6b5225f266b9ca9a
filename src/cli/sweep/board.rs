//! The leaders of a sweep, drawn again and again on a terminal.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use terminal_size::{Height, Width, terminal_size_of};

use crate::cli::progress::room;
use crate::cli::text::grouped;

/// How often it is drawn, at most.
const INTERVAL: Duration = Duration::from_millis(200);
/// Lines of leaders.
const LEADERS: usize = 10;

/// Some lines of standard error that are written over again and again, if it is a terminal.
pub struct Board {
    is_wanted: bool,
    /// The columns of the lines that stand there.
    lines: Vec<usize>,
    drawn: Option<Instant>,
    began: Instant,
    /// Rows that were trained when it began.
    rows: u64,
}

/// How far a sweep is.
pub struct Standing {
    /// Members that have ended, and all; nothing where time alone ends it.
    pub members: (usize, Option<usize>),
    /// Rows trained, and all of them.
    pub rows: [u64; 2],
    /// Time that is left, where it is limited.
    pub left: Option<Duration>,
    /// The leaders, best first.
    pub leaders: Vec<String>,
}

impl Board {
    /// Nothing drawn yet.
    pub fn new(is_wanted: bool) -> Self {
        let is_wanted = is_wanted && stderr().is_terminal();
        Self { is_wanted, lines: Vec::new(), drawn: None, began: Instant::now(), rows: 0 }
    }

    /// Whether somebody sees it.
    pub fn is_seen(&self) -> bool {
        self.is_wanted
    }

    /// Draws it, if it is time to.
    pub fn draw(&mut self, standing: impl FnOnce() -> Standing) {
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= INTERVAL);
        if !(self.is_wanted && is_due) {
            return;
        }
        self.drawn = Some(Instant::now());
        let Standing { members: (ended, all), rows: [rows, of], left, leaders } = standing();
        let seconds = self.began.elapsed().as_secs_f64().max(1e-9);
        let rate = rows.saturating_sub(self.rows) as f64 / seconds;
        let by_rate =
            (rate > 0.0).then(|| Duration::from_secs_f64((of.saturating_sub(rows) as f64 / rate).min(1e9)));
        let left = match (left, by_rate.filter(|_| all.is_some())) {
            (Some(left), Some(by_rate)) => Some(left.min(by_rate)),
            (left, by_rate) => left.or(by_rate),
        };
        let all = all.map(|all| format!(" of {all}")).unwrap_or_default();
        let left = left.map(|left| format!(", {} left", clock(left))).unwrap_or_default();
        let mut lines = vec![format!("{ended}{all} members ended, {} rows/s{left}", grouped(rate as u64))];
        lines.extend(leaders);
        let (width, height) = terminal_size_of(stderr())
            .map_or((80, 24), |(Width(width), Height(height))| (usize::from(width), usize::from(height)));
        lines.truncate(LEADERS.min(height.saturating_sub(2)) + 1);
        let lines: Vec<String> = lines.iter().map(|line| line.chars().take(room(width)).collect()).collect();
        // Rows that a terminal has broken must be erased, or it joins them again when it becomes wider. All behind the first line
        // are, and not from the corner of the screen on: some terminals then keep what they erase above the screen.
        let mut shown = lines.join("\n");
        shown.insert_str(lines[0].len(), "\x1b[J");
        let text = back(&self.lines, width) + "\x1b[2K" + &shown + "\n";
        self.lines = lines.iter().map(|line| line.chars().count()).collect();
        // A sweep does not end because nobody sees how far it is.
        let _ = stderr().lock().write_all(text.as_bytes());
    }

    /// Takes it away.
    pub fn clear(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        let width = terminal_size_of(stderr()).map_or(80, |(Width(width), _)| usize::from(width));
        let text = back(&self.lines, width) + "\x1b[J";
        let _ = stderr().lock().write_all(text.as_bytes());
        self.lines.clear();
        self.drawn = None;
    }
}

/// What goes back to the first of lines of so many columns, which stand in as many rows as they take in a terminal that is now so wide.
fn back(lines: &[usize], width: usize) -> String {
    let rows: usize = lines.iter().map(|columns| columns.div_ceil(width.max(1)).max(1)).sum();
    if rows > 0 { format!("\x1b[{rows}A\r") } else { String::new() }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Time for people: `1:02:03`, or `2:03`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_a_narrower_terminal_has_broken_are_overwritten_from_their_first_row_on() {
        assert_eq!(back(&[], 80), "");
        assert_eq!(back(&[79, 0, 40], 80), "\x1b[3A\r");
        assert_eq!(back(&[79, 0, 40], 39), "\x1b[6A\r");
        assert_eq!(back(&[2], 0), "\x1b[2A\r");
    }

    #[test]
    fn a_time_is_read_at_a_glance() {
        assert_eq!(
            [5, 65, 3725].map(|seconds| clock(Duration::from_secs(seconds))),
            ["0:05", "1:05", "1:02:05"]
        );
    }
}
