//! The process: environment for drivers, cache folder of the user, and signals that end it (Ctrl-C and
//! SIGTERM).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{env, fmt, io, thread};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::clock::now;
use crate::output;

/// Keeps Mesa's Vulkan layer for GPU selection from connecting to Wayland, which prints an error if there is
/// no session. Must be called before any thread starts.
pub fn quieten_drivers() {
    let has_session = env::var_os("XDG_RUNTIME_DIR").is_some_and(|folder| Path::new(&folder).is_absolute());
    if !has_session {
        #[expect(unsafe_code, reason = "the layer listens to nothing but its environment variable")]
        // SAFETY: `main` calls this first, so no other thread reads the environment.
        unsafe {
            env::set_var("NODEVICE_SELECT", "1");
        }
    }
}

/// Returns the folder for compiled kernels: the value of TINYTRAIN_CACHE, none if that is empty, by default a
/// folder in the user's cache folder, if there is one.
pub fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from);
    if let Some(own) = folder("TINYTRAIN_CACHE") {
        return Some(own).filter(|own| !own.as_os_str().is_empty());
    }
    let home = |below: &str| folder("HOME").map(|home| home.join(below));
    let caches = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        home("Library/Caches")
    } else {
        folder("XDG_CACHE_HOME").filter(|caches| caches.is_absolute()).or_else(|| home(".cache"))
    };
    caches.filter(|caches| caches.is_absolute()).map(|caches| caches.join("tinytrain"))
}

/// Returns the time in seconds, in the format for folder names: `2026-11-22T10-20-30Z`.
pub fn stamp() -> String {
    format!("{:.0}", now()).replace(':', "-")
}

/// Offset that a shell adds to a signal's number for the exit code of a program ended by the signal.
const SIGNALLED: i32 = 128;
/// Stack size of the thread that polls for signals.
const STACK_BYTES: usize = 128 << 10;

/// Interval between polls for signals.
const POLL: Duration = Duration::from_millis(50);

/// Number of polls after which a thread that still prints is blocked: its output is not read.
const BLOCKED: u32 = 4;

/// Watches for signals. The first signal ends the program, unless a loop polls for signals itself
/// ([`Interrupts::ask`]); the second one always ends it.
#[derive(Debug, Clone)]
pub struct Interrupts {
    signal: Arc<AtomicUsize>,
    /// Set by the first signal, so that readers of data stop waiting.
    come: Arc<AtomicBool>,
    /// Message with which the first signal ends the program; `None` if a loop polls for it.
    message: Arc<Mutex<Option<String>>>,
}

/// Error of a run that was ended by a signal.
#[derive(Debug)]
pub struct Interrupted {
    /// Exit code.
    pub code: u8,
    /// Progress so far, and the saved files.
    pub message: String,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Interrupted {}

impl Interrupts {
    /// Starts watching. The first signal ends the program at any point and removes incomplete files.
    ///
    /// # Errors
    /// If the system does not permit it.
    pub fn watch() -> io::Result<Self> {
        let watched = Self {
            signal: Arc::default(),
            come: Arc::default(),
            message: Arc::new(Mutex::new(Some("interrupted".to_owned()))),
        };
        for number in [SIGINT, SIGTERM] {
            // Handlers run in order of registration: at the first signal `come` is not set yet.
            flag::register_conditional_shutdown(number, SIGNALLED + number, Arc::clone(&watched.come))?;
            flag::register(number, Arc::clone(&watched.come))?;
            flag::register_usize(number, Arc::clone(&watched.signal), number as usize)?;
        }
        let watcher = watched.clone();
        let watch = move || {
            let mut printed = 0;
            loop {
                thread::sleep(POLL);
                printed = if super::output::is_printing() { printed + 1 } else { 0 };
                watcher.end_if_unasked(printed >= BLOCKED);
            }
        };
        // If no thread can be started, the second signal ends the program.
        let _ = thread::Builder::new().name("signals".to_owned()).stack_size(STACK_BYTES).spawn(watch);
        Ok(watched)
    }

    /// Makes the caller responsible for the first signal, through [`Interrupts::has_come`].
    pub fn ask(&self) {
        *self.message() = None;
    }

    /// Sets the message with which the first signal ends the program.
    pub fn end_with(&self, message: String) {
        *self.message() = Some(message);
    }

    fn message(&self) -> MutexGuard<'_, Option<String>> {
        self.message.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the program if a signal has come that no loop polls for, or while printing is blocked.
    fn end_if_unasked(&self, is_blocked: bool) {
        let (signal, message) = (self.signal.load(Ordering::Relaxed), self.message());
        if signal == 0 || message.is_none() && !is_blocked {
            return;
        }
        output::remove_all();
        if let Some(message) = message.as_ref().filter(|_| !is_blocked) {
            super::output::print_end(message);
        }
        // Other threads are still running, so no destructors are run.
        low_level::exit(SIGNALLED + signal as i32);
    }

    /// Returns whether a signal has come.
    pub fn has_come(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// Returns the flag that the first signal sets.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.come)
    }

    /// Returns the error that ends the program after a signal.
    pub fn ended(&self, message: String) -> Interrupted {
        Interrupted { code: (SIGNALLED as usize + self.signal.load(Ordering::Relaxed)) as u8, message }
    }
}
