//! The process: what drivers see of its environment, where the user's caches are, and the signals that end it (Ctrl-C and SIGTERM).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{env, fmt, io, thread};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::clock::now;
use crate::output;

/// Keeps Mesa's Vulkan layer that chooses among GPUs from asking Wayland, which complains on standard error where
/// there is no session. Call it before any thread starts.
pub fn quieten_drivers() {
    let has_session = env::var_os("XDG_RUNTIME_DIR").is_some_and(|folder| Path::new(&folder).is_absolute());
    if !has_session {
        #[expect(unsafe_code, reason = "the layer listens to nothing but its environment variable")]
        // SAFETY: called first of all in `main`: no other thread is there to read the environment.
        unsafe {
            env::set_var("NODEVICE_SELECT", "1");
        }
    }
}

/// Where compiled kernels are kept: the folder that TINYTRAIN_CACHE names, none if that is empty, by default one in the
/// user's folder of caches, if there is one.
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

/// The time to seconds, as names of folders have it: `2026-11-22T10-20-30Z`.
pub fn stamp() -> String {
    format!("{:.0}", now()).replace(':', "-")
}

/// What a shell adds to a signal's number for the exit code of a program that the signal has ended.
const SIGNALLED: i32 = 128;
/// The stack of the thread that looks for signals.
const STACK_BYTES: usize = 128 << 10;

/// How often a signal is looked for.
const POLL: Duration = Duration::from_millis(50);

/// A thread that still prints after this many polls is blocked: its output is not read.
const BLOCKED: u32 = 4;

/// Watches for signals. The first one ends the program, unless a loop asks for signals itself ([`Interrupts::ask`]); the second one ends it
/// in any case.
#[derive(Debug, Clone)]
pub struct Interrupts {
    signal: Arc<AtomicUsize>,
    /// Set by the first signal, so that readers of data wait no longer.
    come: Arc<AtomicBool>,
    /// The message with which the first signal ends the program; nothing where a loop asks for it.
    message: Arc<Mutex<Option<String>>>,
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
    /// Begins to watch. The first signal ends the program, whatever it does: files that are nothing to keep yet are removed.
    ///
    /// # Errors
    /// When the system does not let it.
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
        // Where there is no room for a thread, the second signal ends the program.
        let _ = thread::Builder::new().name("signals".to_owned()).stack_size(STACK_BYTES).spawn(watch);
        Ok(watched)
    }

    /// From now on the caller asks for the first signal by [`Interrupts::has_come`].
    pub fn ask(&self) {
        *self.message() = None;
    }

    /// From now on the first signal ends the program with this message.
    pub fn end_with(&self, message: String) {
        *self.message() = Some(message);
    }

    fn message(&self) -> MutexGuard<'_, Option<String>> {
        self.message.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the program if a signal has come that no loop asks for, or that none can ask for as it waits to print.
    fn end_if_unasked(&self, is_blocked: bool) {
        let (signal, message) = (self.signal.load(Ordering::Relaxed), self.message());
        if signal == 0 || message.is_none() && !is_blocked {
            return;
        }
        output::remove_all();
        if let Some(message) = message.as_ref().filter(|_| !is_blocked) {
            super::output::print_end(message);
        }
        // Other threads are at work, so nothing of them is taken down.
        low_level::exit(SIGNALLED + signal as i32);
    }

    /// Whether a signal has come.
    pub fn has_come(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// Set by the first signal.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.come)
    }

    /// The error that ends the program after a signal.
    pub fn ended(&self, message: String) -> Interrupted {
        Interrupted { code: (SIGNALLED as usize + self.signal.load(Ordering::Relaxed)) as u8, message }
    }
}
