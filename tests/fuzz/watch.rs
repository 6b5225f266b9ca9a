//! Detects panics of any thread, and cases that do not end.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// Time after which a case is assumed to hang.
const LIMIT: Duration = Duration::from_secs(60);

/// The running case: its reader, its bytes, and its start.
static RUNNING: Mutex<Option<(&'static str, Vec<u8>, Instant)>> = Mutex::new(None);

/// Panics since the start of the case.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Held by the running test: counters are global to the process.
static ALONE: Mutex<()> = Mutex::new(());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no other test runs.
pub fn alone() -> MutexGuard<'static, ()> {
    lock(&ALONE)
}

/// A running case, ended by dropping.
pub struct Watched;

impl Drop for Watched {
    fn drop(&mut self) {
        *lock(&RUNNING) = None;
    }
}

/// Begins a case.
pub fn begin(name: &'static str, bytes: &[u8]) -> Watched {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            match lock(&RUNNING).is_some() {
                true => lock(&PANICS).push(info.to_string().replace('\n', " ")),
                false => usual(info),
            };
        }));
        std::thread::spawn(end_what_hangs);
    });
    lock(&PANICS).clear();
    *lock(&RUNNING) = Some((name, bytes.to_vec(), Instant::now()));
    Watched
}

/// Returns the panics of the running case.
pub fn panics() -> Vec<String> {
    std::mem::take(&mut *lock(&PANICS))
}

fn end_what_hangs() {
    loop {
        std::thread::sleep(LIMIT / 10);
        if let Some((name, bytes, begun)) = &*lock(&RUNNING)
            && begun.elapsed() > LIMIT
        {
            let kept = keep(&format!("{name}-hangs"), bytes);
            eprintln!("{name}: a case does not end; kept in {}", kept.display());
            std::process::abort();
        }
    }
}

/// Saves the bytes of a case.
pub fn keep(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}.bin"));
    std::fs::write(&path, bytes).unwrap();
    path
}
