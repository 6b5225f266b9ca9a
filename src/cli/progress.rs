//! Progress on standard error, if it is a terminal: of a run, of a counted task, and of a sweep.

use std::fmt::Write;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use console::{Term, measure_text_width, truncate_str};
use indicatif::{
    FormattedDuration, ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle,
    TermLike,
};

use crate::report::text::{loss, percent};

/// Minimum time between redraws.
const INTERVAL: Duration = Duration::from_millis(100);

/// Standard error without the blanks with which `indicatif` pads lines: narrowing a terminal would wrap
/// padded lines and leave remains of them.
#[derive(Debug)]
struct Unpadded {
    term: Term,
    drawn: Mutex<Drawn>,
}

/// Lines drawn since the cursor was moved to the first line.
#[derive(Debug, Default)]
struct Drawn {
    /// Width of each line.
    widths: Vec<usize>,
    /// Whether the last line has ended.
    is_ended: bool,
}

impl Unpadded {
    fn new() -> Self {
        Self { term: Term::buffered_stderr(), drawn: Mutex::default() }
    }

    fn drawn(&self) -> MutexGuard<'_, Drawn> {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TermLike for Unpadded {
    fn width(&self) -> u16 {
        self.term.size().1
    }

    fn height(&self) -> u16 {
        self.term.size().0
    }

    /// Every redraw begins with this call.
    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        let (width, drawn) = (usize::from(self.width()).max(1), std::mem::take(&mut *self.drawn()));
        // A narrower terminal wraps a line into several.
        let broken: usize = drawn.widths.iter().map(|drawn| drawn.saturating_sub(1) / width).sum();
        for _ in 0..broken {
            self.term.clear_line()?;
            self.term.move_cursor_up(1)?;
        }
        self.term.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.term.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.term.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.term.move_cursor_left(n)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.term.write_line(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        let mut drawn = self.drawn();
        let shown = text.trim_end_matches(' ');
        if shown.is_empty() {
            // Blanks up to the end of a line move the cursor to the next line.
            drawn.is_ended = true;
            return Ok(());
        }
        if std::mem::take(&mut drawn.is_ended) {
            self.term.write_str("\r\n")?;
        }
        drawn.widths.push(measure_text_width(shown));
        self.term.write_str(shown)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.term.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.term.flush()
    }
}

/// A bar that is redrawn in place, and removed at the end.
pub struct Bar {
    is_seen: bool,
    /// `None` until the first draw.
    bar: Option<ProgressBar>,
    drawn: Option<Instant>,
    /// Texts before and after the bar: the style reads them, so that all changes are drawn at once.
    texts: Arc<Mutex<[String; 2]>>,
}

impl Bar {
    /// Creates an undrawn bar, which is never drawn without `is_wanted` or if standard error is not a
    /// terminal.
    pub fn new(is_wanted: bool) -> Self {
        Self {
            is_seen: is_wanted && !ProgressDrawTarget::stderr().is_hidden(),
            bar: None,
            drawn: None,
            texts: Arc::default(),
        }
    }

    /// Returns whether the bar is ever drawn.
    pub fn is_seen(&self) -> bool {
        self.is_seen
    }

    /// Returns whether a redraw is due.
    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self.is_seen && self.drawn.is_none_or(|drawn| now - drawn >= INTERVAL);
        if is_due {
            self.drawn = Some(now);
        }
        is_due
    }

    /// Draws the bar with this template and these texts.
    fn draw(&mut self, template: &str, texts: [String; 2], [done, all]: [u64; 2]) {
        let (template, texts) = fitting(template, texts, Term::stderr().size().1.into());
        *self.texts.lock().unwrap_or_else(PoisonError::into_inner) = texts;
        let is_new = self.bar.is_none();
        let bar = self.bar.get_or_insert_with(|| {
            let target = ProgressDrawTarget::term_like_with_hz(Box::new(Unpadded::new()), 100);
            ProgressBar::with_draw_target(None, target).with_finish(ProgressFinish::AndClear)
        });
        bar.set_style(style(template, &self.texts));
        if is_new {
            // Earlier progress does not predict the remaining time.
            bar.update(|state| state.set_pos(done));
            bar.reset_eta();
        }
        bar.update(|state| {
            state.set_len(all);
            state.set_pos(done);
        });
    }

    /// Shows that `done` of `of` items, named `what`, are done.
    pub fn count(&mut self, what: &'static str, done: usize, of: usize) {
        if self.is_due() {
            self.draw(COUNT, [what.to_owned(), format!("  {done}/{of}")], [done as u64, of as u64]);
        }
    }

    /// Shows lines, if a redraw is due.
    pub fn lines(&mut self, lines: impl FnOnce() -> Vec<String>) {
        if self.is_due() {
            let shown = lines().into_iter().take(usize::from(Term::stderr().size().0).saturating_sub(1));
            self.draw(LINES, [shown.collect::<Vec<String>>().join("\n"), String::new()], [0, 0]);
        }
    }

    /// Removes the bar until the next draw.
    pub fn clear(&mut self) {
        (self.bar, self.drawn) = (None, None);
    }

    /// Prints while the bar is hidden.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

/// Templates for a run with a known number of rows per epoch, and with an unknown one.
const RUN: [&str; 2] = ["{before} {bar:20}{rate}{behind}{left}", "{before}  {human_pos} rows{rate}{behind}"];
/// Template for items that are done one by one.
const COUNT: &str = "{before} {bar:20}{behind}{left}";
/// Time for which a bar is drawn before it shows a rate.
const LEAST_TIME: Duration = Duration::from_millis(500);
/// Template for any lines.
const LINES: &str = "{before}";

/// Maximum number of columns of a bar and its numbers.
const NUMBERS: usize = 48;

/// Returns a template and texts without lines wider than a terminal of `width` columns, since `indicatif`
/// counts the rows of wrapped lines too, as terminals do. Narrow terminals get the texts without a bar.
fn fitting(template: &str, [before, behind]: [String; 2], width: usize) -> (&str, [String; 2]) {
    let cut = |text: &str, room: usize| truncate_str(text, room, "").into_owned();
    match width.checked_sub(measure_text_width(&before) + NUMBERS) {
        Some(room) if template != LINES => (template, [before, cut(&behind, room)]),
        _ => {
            let lines: Vec<String> = (before + &behind).lines().map(|line| cut(line, width)).collect();
            (LINES, [lines.join("\n"), String::new()])
        }
    }
}

/// Returns the style of a bar; a plain bar for an invalid template, which a test excludes.
fn style(template: &str, texts: &Arc<Mutex<[String; 2]>>) -> ProgressStyle {
    let text = |which: usize| {
        let texts = Arc::clone(texts);
        move |_: &ProgressState, out: &mut dyn Write| {
            // Writing into a string cannot fail.
            let _ = out.write_str(&texts.lock().unwrap_or_else(PoisonError::into_inner)[which]);
        }
    };
    let rate = |state: &ProgressState, out: &mut dyn Write| {
        let _ = match state.per_sec() {
            _ if state.elapsed() < LEAST_TIME => Ok(()),
            rate if rate >= 1e6 => write!(out, "  {:.1}M rows/s", rate / 1e6),
            rate if rate >= 1e4 => write!(out, "  {:.0}k rows/s", rate / 1e3),
            rate => write!(out, "  {rate:.0} rows/s"),
        };
    };
    let left = |state: &ProgressState, out: &mut dyn Write| {
        if state.elapsed() >= LEAST_TIME {
            let _ = write!(out, "  {}", FormattedDuration(state.eta()));
        }
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style
        .progress_chars("━╸─")
        .with_key("before", text(0))
        .with_key("behind", text(1))
        .with_key("rate", rate)
        .with_key("left", left)
}

/// Progress of a run.
pub struct Progress {
    pub bar: Bar,
    /// Index of this run, from 0, and number of runs.
    part: [usize; 2],
    epochs: usize,
}

impl Progress {
    /// Creates the progress of `epochs` epochs.
    pub fn new(is_wanted: bool, epochs: usize) -> Self {
        Self { bar: Bar::new(is_wanted), part: [0, 1], epochs }
    }

    /// Begins fold `fold` (from 0) of `folds`, which has `epochs` epochs.
    pub fn begin(&mut self, fold: usize, folds: usize, epochs: usize) {
        (self.part, self.epochs) = ([fold, folds], epochs);
    }

    /// Shows the progress of the run. May be called for every batch.
    pub fn update(
        &mut self,
        epoch: usize,
        rows: usize,
        total: Option<usize>,
        mean_loss: f64,
        accuracy: Option<f64>,
    ) {
        if !self.bar.is_due() {
            return;
        }
        let ([fold, folds], epochs) = (self.part, self.epochs);
        let part = if folds > 1 { format!("fold {}/{folds}, ", fold + 1) } else { String::new() };
        let accuracy = accuracy.map(|accuracy| format!("  {}", percent(accuracy))).unwrap_or_default();
        let texts =
            [format!("{part}epoch {epoch}/{epochs}"), format!("  loss {}{accuracy}", loss(mean_loss))];
        let (form, done) = match total {
            Some(total) => (RUN[0], self.rows(epoch, rows, total)),
            None => (RUN[1], [rows as u64, 0]),
        };
        self.bar.draw(form, texts, done);
    }

    /// Returns the number of rows trained so far, and the total, over all epochs of all folds.
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
    fn no_line_is_wider_than_the_terminal() {
        let texts = || ["fold 1/5, epoch 1/10".to_owned(), "  loss 0.1234  97.12 %".to_owned()];
        assert_eq!(fitting(RUN[0], texts(), 100), (RUN[0], texts()));
        let (form, [before, behind]) = fitting(RUN[0], texts(), 80);
        assert_eq!((form, &before[..], &behind[..]), (RUN[0], "fold 1/5, epoch 1/10", "  loss 0.123"));
        for width in [0, 1, 19, 20, 40, 67] {
            let (form, [before, behind]) = fitting(RUN[0], texts(), width);
            assert_eq!((form, &before[..], behind.len()), (LINES, &texts().concat()[..width.min(42)], 0));
        }
        let board = ["a longer line\nb".to_owned(), String::new()];
        assert_eq!(fitting(LINES, board, 8).1[0], "a longer\nb");
    }

    #[test]
    fn all_forms_can_be_read() {
        for template in RUN.into_iter().chain([COUNT, LINES]) {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
