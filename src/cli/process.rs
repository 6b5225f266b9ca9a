//! The process: what drivers see of its environment, where the user's caches are, and the signals that end it (Ctrl-C and SIGTERM).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{env, fmt, io};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

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

/// Where compiled kernels and measured tile shapes are kept: the folder that TINYTRAIN_CACHE names, none if that is empty, by default one in the
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

/// The file of measured tile shapes, if there is a folder of caches.
pub fn tuning_file() -> Option<PathBuf> {
    cache_folder().map(|folder| folder.join("tuning.json"))
}

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
