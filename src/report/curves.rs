//! The curves of a run as small plots of text, for its end in a terminal.

use std::io::{IsTerminal, stdout};

use crate::train::{Epoch, Score};

use super::html::short;

/// Columns of a plot, with what stands before it; lines of it.
const COLUMNS: usize = 60;
const LINES: usize = 7;
/// Columns of the numbers before it, with the axis.
const NUMBERS: usize = 9;
/// Epochs from which on there is a curve to see.
const LEAST: usize = 3;

/// How many times the least the greatest number is where lines stand for its logarithms.
const WIDE: f64 = 20.0;

/// The marks of training, validation and test rows: letters, and colours of a terminal.
const SETS: [(&str, char, &str); 3] =
    [("training", '.', "\x1b[34m"), ("validation", 'o', "\x1b[33m"), ("test", 'x', "\x1b[35m")];
const PLAIN: &str = "\x1b[0m";

/// What a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotStyle {
    /// Dots in colours, eight to a character (braille).
    Dots,
    /// ASCII alone.
    Ascii,
}

impl PlotStyle {
    /// The style for standard output; `None` if it is not a terminal.
    pub fn of_terminal() -> Option<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_dumb = variable("TERM").is_some_and(|term| term == "dumb");
        let is_ascii = is_dumb || variable("NO_COLOR").is_some();
        stdout().is_terminal().then_some(if is_ascii { Self::Ascii } else { Self::Dots })
    }

    /// Dots of a character across and down.
    fn dots(self) -> [usize; 2] {
        if self == Self::Dots { [2, 4] } else { [1, 1] }
    }
}

/// The loss by epochs, and the accuracy or R2, as lines; none of so few epochs that there is nothing to see.
pub fn lines(epochs: &[Epoch], of_classes: bool, look: PlotStyle) -> Vec<String> {
    let curve = |of: &dyn Fn(&Epoch) -> Option<f64>| -> Vec<Option<f64>> { epochs.iter().map(of).collect() };
    let sets = |of: &dyn Fn(&Score) -> Option<f64>, train: &dyn Fn(&Epoch) -> Option<f64>| {
        [
            curve(train),
            curve(&|epoch| epoch.validation.as_ref().and_then(of)),
            curve(&|epoch| epoch.test.as_ref().and_then(of)),
        ]
    };
    let mut lines = plot("loss", &sets(&|score| Some(score.loss), &|epoch| Some(epoch.train.loss)), look);
    lines.extend(if of_classes {
        plot("accuracy", &sets(&|score| Some(score.accuracy), &|epoch| Some(epoch.train.accuracy)), look)
    } else {
        plot("R2", &sets(&|score| score.values.as_ref().map(|values| values.r2), &|_| None), look)
    });
    lines
}

/// One plot under its legend: values of each set by epochs.
fn plot(name: &str, sets: &[Vec<Option<f64>>; 3], look: PlotStyle) -> Vec<String> {
    let finite = |value: &&f64| value.is_finite();
    let mut all: Vec<f64> = sets.iter().flatten().flatten().filter(finite).copied().collect();
    all.sort_unstable_by(f64::total_cmp);
    let epochs = sets[0].len();
    let (Some(low), Some(high), true) = (all.first(), all.last(), epochs >= LEAST) else { return Vec::new() };
    let is_log = *low > 0.0 && high / low >= WIDE;
    let log_name = format!("{name} (logarithmic)");
    let scale = |value: f64| if is_log { value.ln() } else { value };
    let [across, down] = look.dots();
    let size = [(COLUMNS - NUMBERS) * across, LINES * down];
    let mut cells = vec![Cell::default(); (COLUMNS - NUMBERS) * LINES];
    for (set, curve) in sets.iter().enumerate() {
        let known: Vec<(usize, f64)> = (0..)
            .zip(curve)
            .filter_map(|(epoch, value)| Some((epoch, value.filter(|value| value.is_finite())?)))
            .collect();
        for column in 0..size[0] {
            // The epoch that is nearest, so that every column has one.
            let epoch = (column as f64 / (size[0] - 1) as f64 * (epochs - 1) as f64).round() as usize;
            let Ok(found) = known.binary_search_by_key(&epoch, |(epoch, _)| *epoch) else { continue };
            let share = if high > low {
                (scale(known[found].1) - scale(*low)) / (scale(*high) - scale(*low))
            } else {
                0.0
            };
            let row = ((1.0 - share) * (size[1] - 1) as f64).round() as usize;
            let cell = &mut cells[row / down * (COLUMNS - NUMBERS) + column / across];
            cell.dots |= bit(column % across, row % down);
            cell.set = set;
        }
    }
    let drawn = |cell: &Cell| match (cell.dots, look) {
        (0, _) => " ".to_owned(),
        (_, PlotStyle::Ascii) => SETS[cell.set].1.to_string(),
        (dots, PlotStyle::Dots) => {
            let letter = char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ');
            format!("{}{letter}{PLAIN}", SETS[cell.set].2)
        }
    };
    let bar = if look == PlotStyle::Ascii { '|' } else { '│' };
    let mut lines = vec![String::new(), legend(if is_log { &log_name } else { name }, sets, look)];
    lines.extend(cells.chunks(COLUMNS - NUMBERS).enumerate().map(|(row, cells)| {
        let number = match row {
            0 => short(*high),
            row if row + 1 == LINES => short(*low),
            _ => String::new(),
        };
        let text: String = cells.iter().map(drawn).collect();
        format!("{number:>width$} {bar}{}", text.trim_end(), width = NUMBERS - 2)
    }));
    let end = format!("epoch {epochs}");
    lines.push(format!("{:NUMBERS$}1{end:>width$}", "", width = COLUMNS - NUMBERS - 1));
    lines
}

/// The legend: the meaning of the letters or colours of a plot.
fn legend(name: &str, sets: &[Vec<Option<f64>>; 3], look: PlotStyle) -> String {
    let is_there = |curve: &[Option<f64>]| curve.iter().any(Option::is_some);
    let shown = SETS.iter().zip(sets).filter(|(_, curve)| is_there(curve)).map(
        |((set, letter, color), _)| match look {
            PlotStyle::Ascii => format!("{letter} {set}"),
            PlotStyle::Dots => format!("{color}⠒{PLAIN} {set}"),
        },
    );
    format!("{name}: {}", shown.collect::<Vec<String>>().join(", "))
}

/// A character of a plot: its dots, and the last set that has one of them.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    dots: u8,
    set: usize,
}

/// The bit of a braille dot; the lowest row was added later, and so stands last.
fn bit(column: usize, row: usize) -> u8 {
    if row == 3 { 0x40 << column } else { 1 << (row + 3 * column) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_goes_from_corner_to_corner() {
        let falling: Vec<Option<f64>> = (0..7).map(|epoch| Some(f64::from(6 - epoch) / 2.0)).collect();
        let flat = vec![Some(0.0); 7];
        let text = plot("loss", &[falling.clone(), flat, vec![None; 7]], PlotStyle::Ascii);
        assert_eq!(text[1], "loss: . training, o validation");
        assert_eq!(text[2], "      3 |.....");
        assert_eq!(text[3], format!("        |{}........", " ".repeat(5)));
        assert_eq!(text[8], format!("      0 |{}", "o".repeat(51)));
        assert_eq!(text[9], format!("         1{:>50}", "epoch 7"));
        assert!(text.iter().all(|line| line.len() <= COLUMNS && line.is_ascii()));
        let dots = plot("loss", &[falling, vec![None; 7], vec![None; 7]], PlotStyle::Dots);
        assert!(dots[2].starts_with("      3 │\x1b[34m⠉\x1b[0m"), "{:?}", dots[2]);
        assert_eq!(
            plot("loss", &[vec![Some(1.0); 2], vec![None; 2], vec![None; 2]], PlotStyle::Dots).len(),
            0
        );
    }

    #[test]
    fn what_is_not_finite_is_left_out() {
        let values = vec![Some(f64::NAN), Some(1.0), Some(f64::INFINITY), Some(1.0)];
        let text = plot("R2", &[vec![None; 4], values, vec![None; 4]], PlotStyle::Ascii);
        assert_eq!(text[1], "R2: o validation");
        assert!(text[8].starts_with("      1 |") && text[8].ends_with('o') && text[2] == "      1 |");
    }

    #[test]
    fn of_a_wide_range_the_logarithms_are_drawn() {
        let values: Vec<Option<f64>> = [1.0, 0.1, 0.01].map(Some).to_vec();
        let text = plot("loss", &[values, vec![None; 3], vec![None; 3]], PlotStyle::Ascii);
        assert_eq!(text[1], "loss (logarithmic): . training");
        assert!(
            text[5].contains(".........................") && text[8].starts_with("   0.01 |"),
            "{text:?}"
        );
    }
}
