//! Ctrl-C and SIGTERM while a network is trained.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// What a shell adds to a signal's number for the exit code of a program that the signal has ended.
const SIGNALLED: i32 = 128;

/// Watches for signals: the first asks the run to end, a second one ends the program at once.
#[derive(Debug)]
pub struct Interrupts {
    signal: Arc<AtomicUsize>,
}

/// The run ended because a signal asked for it.
#[derive(Debug)]
pub struct Interrupted {
    /// The exit code.
    pub code: u8,
    /// How far it came, and what was saved.
    pub message: String,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Interrupted {}

impl Interrupts {
    /// Begins to watch.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn watch() -> io::Result<Self> {
        let (signal, again) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for number in [SIGINT, SIGTERM] {
            // In this order: what is registered first is asked first, and at the first signal `again` is not set yet.
            flag::register_conditional_shutdown(number, SIGNALLED + number, Arc::clone(&again))?;
            flag::register(number, Arc::clone(&again))?;
            flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        Ok(Self { signal })
    }

    /// Whether a signal has come.
    pub fn has_come(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// What ends the program after a signal.
    pub fn ended(&self, message: String) -> Interrupted {
        Interrupted { code: (SIGNALLED as usize + self.signal.load(Ordering::Relaxed)) as u8, message }
    }
}
