//! Output in a terminal: the progress bar in a narrowed terminal, and text with control characters.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use vt100::Parser;

use crate::program::{Points, Workplace};

/// More rows than the run prints: nothing scrolls off.
const ROWS: u16 = 400;
const WIDE: u16 = 100;
const NARROW: u16 = 60;
/// Characters that occur only in bars.
const BAR: [char; 3] = ['━', '╸', '─'];

/// A terminal in which a program runs.
struct Terminal {
    control: OwnedFd,
    screen: Parser,
    /// Output of the program, as it arrives.
    output: Receiver<Vec<u8>>,
    /// All output so far.
    bytes: Vec<u8>,
    child: Child,
}

impl Terminal {
    /// Starts the program with these arguments; both of its outputs are the terminal.
    fn new(place: &Workplace, arguments: &[&str]) -> Self {
        let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&control).unwrap();
        unlockpt(&control).unwrap();
        resize(&control, WIDE);
        let name = ptsname(&control, Vec::new()).unwrap().into_string().unwrap();
        let open = || -> Stdio { OpenOptions::new().read(true).write(true).open(&name).unwrap().into() };
        let mut command = place.command(arguments);
        command.env("TERM", "xterm-256color").stdout(open()).stderr(open());
        let child = command.spawn().unwrap();
        // Otherwise this process would hold the other end open.
        drop(command);
        let mut reader = File::from(control.try_clone().unwrap());
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 1 << 16];
            loop {
                match reader.read(&mut buffer) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // Linux reports an error when the other end is closed.
                    Ok(0) | Err(_) => return,
                    Ok(count) if sender.send(buffer[..count].to_vec()).is_err() => return,
                    Ok(_) => {}
                }
            }
        });
        Self { control, screen: Parser::new(ROWS, WIDE, 0), output, bytes: Vec::new(), child }
    }

    /// Processes the program's output for this time; returns false when the program has ended.
    fn show(&mut self, time: Duration) -> bool {
        match self.output.recv_timeout(time) {
            Ok(bytes) => {
                self.screen.process(&bytes);
                self.bytes.extend(bytes);
                true
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => false,
        }
    }

    /// Processes the program's output until `is_enough` of the screen.
    fn until(&mut self, is_enough: impl Fn(&[String]) -> bool) {
        let start = Instant::now();
        while !is_enough(&self.lines()) {
            assert!(start.elapsed() < Duration::from_secs(120), "{}", self.lines().join("\n"));
            assert!(self.show(Duration::from_millis(100)), "{}", self.lines().join("\n"));
        }
    }

    /// Returns the lines of the screen, up to the last text.
    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.screen.screen().rows(0, self.screen.screen().size().1).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Narrows the terminal as most terminals do: long lines are wrapped into the next row, as is the cursor.
    fn narrow(&mut self) {
        let process = Pid::from_child(&self.child);
        // Between two redraws: while the program is stopped, nothing is written for the old width.
        kill_process(process, Signal::STOP).unwrap();
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(200)) {
            self.screen.process(&bytes);
            self.bytes.extend(bytes);
        }
        let (lines, (row, column)) = (self.lines(), self.screen.screen().cursor_position());
        resize(&self.control, NARROW);
        self.screen = Parser::new(ROWS, NARROW, 0);
        for (number, line) in lines.iter().take(usize::from(row) + 1).enumerate() {
            let end = if number < usize::from(row) { "\r\n" } else { "" };
            self.screen.process(format!("{line}{end}").as_bytes());
        }
        if usize::from(column) == 0 {
            self.screen.process(b"\r");
        }
        kill_process(process, Signal::CONT).unwrap();
    }
}

fn resize(control: &OwnedFd, columns: u16) {
    let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(control, size).unwrap();
}

/// Returns lines with a part of a bar.
fn bars(lines: &[String]) -> Vec<&String> {
    lines.iter().filter(|line| line.contains(BAR)).collect()
}

/// Returns the numbers of finished epochs from their lines.
fn epochs(lines: &[String]) -> Vec<usize> {
    let is_figures = |line: &&String| line.starts_with("  ") && line.contains('%');
    let number = |line: &String| line.split_whitespace().next()?.parse().ok();
    lines.iter().filter(is_figures).filter_map(number).collect()
}

#[test]
fn a_bar_leaves_no_remains_in_a_narrowed_terminal() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(20_000, 4).csv(["low", "mid", "high"]));
    let train =
        ["train", "--data", "t.csv", "--device", "cpu", "--preset", "plain", "--validation-fraction", "0.2"];
    let more = ["--hidden", "256,256", "--epochs", "12", "--batch-size", "16", "--threads", "1"];
    let mut terminal = Terminal::new(&place, &[&train[..], &more].concat());
    // A bar with all its numbers is wrapped by a narrower terminal.
    let is_broken = |bar: &&String| bar.chars().count() > usize::from(NARROW);
    terminal.until(|lines| matches!(bars(lines)[..], [bar] if is_broken(&bar)) && epochs(lines).len() >= 2);
    terminal.narrow();
    let before = epochs(&terminal.lines()).len();
    terminal.until(|lines| epochs(lines).len() >= before + 2 && lines.last().unwrap().contains("/12"));
    let lines = terminal.lines();
    assert!(bars(&lines).len() <= 1, "one bar at most:\n{}", lines.join("\n"));
    while terminal.show(Duration::from_secs(60)) {}
    assert!(terminal.child.wait().unwrap().success());
    let lines = terminal.lines();
    let text = lines.join("\n");
    assert!(bars(&lines).is_empty(), "{text}");
    assert!(!text.contains("epoch 1/12") && !text.contains("rows/s  loss"), "{text}");
    assert_eq!(epochs(&lines), (1..=12).collect::<Vec<usize>>(), "{text}");
    assert!(lines.iter().any(|line| line.starts_with("validation accuracy ")), "{text}");
    // A narrower terminal would wrap trailing blanks.
    let written = String::from_utf8_lossy(&terminal.bytes);
    for line in written.split(['\r', '\n']) {
        // Colour codes may be between blanks and the text after them.
        let plain = console::strip_ansi_codes(line);
        let shown = plain.as_ref();
        assert!(!shown.ends_with("  "), "{line:?}");
    }
}

/// Class names of models from others may contain control characters.
#[test]
fn predictions_on_a_terminal_are_printable() {
    let place = Workplace::new();
    let names = ["\u{1b}[2Jlow", "mid", "hi\u{202e}gh"];
    place.write("t.csv", Points::new(60, 4).csv(names));
    let train =
        ["train", "--data", "t.csv", "--device", "cpu", "--preset", "plain", "--epochs", "1", "--quiet"];
    place.succeed(&[&train[..], &["--out", "m.safetensors"]].concat());
    let predict = ["predict", "--model", "m.safetensors", "--device", "cpu", "t.csv"];
    let mut terminal = Terminal::new(&place, &predict);
    while terminal.show(Duration::from_secs(60)) {}
    assert!(terminal.child.wait().unwrap().success());
    let written = String::from_utf8_lossy(&terminal.bytes).into_owned();
    assert!(!written.contains(['\u{1b}', '\u{202e}']), "{written:?}");
    assert!(written.contains("p(\\u{1b}[2Jlow)") && written.contains("p(hi\\u{202e}gh)"), "{written:?}");
    // Other programs get the unescaped names.
    let piped = place.succeed(&predict).stdout;
    assert!(piped.starts_with("class,p(hi\u{202e}gh),") || piped.contains("p(\u{1b}[2Jlow)"), "{piped:?}");
}

#[test]
fn errors_are_red_on_a_terminal() {
    let place = Workplace::new();
    for (color, expected) in [("auto", "\u{1b}[31merror:\u{1b}[0m "), ("never", "error: ")] {
        let mut terminal = Terminal::new(&place, &["eval", "--model", "none", "--color", color]);
        while terminal.show(Duration::from_secs(60)) {}
        assert_eq!(terminal.child.wait().unwrap().code(), Some(2));
        let written = String::from_utf8_lossy(&terminal.bytes).into_owned();
        assert!(written.starts_with(expected), "{color}: {written:?}");
    }
}
