//! Long work that Ctrl-C ends immediately.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Interval at which signals are checked during work.
const INTERVAL: Duration = Duration::from_millis(20);

type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// A value processed without the interpreter's lock: on this thread if the work is short, otherwise on a
/// separate thread, so that signals are handled meanwhile. An interrupted thread finishes its current call,
/// and drops the value.
pub(crate) enum Remote<T> {
    Here(T),
    Thread(Sender<Job<T>>),
}

impl<T: Send + 'static> Remote<T> {
    /// Stores the value, in a thread if the work is long.
    pub(crate) fn new(value: T, is_long: bool) -> PyResult<Self> {
        if !is_long {
            return Ok(Self::Here(value));
        }
        let (jobs, queue): (Sender<Job<T>>, Receiver<Job<T>>) = channel();
        let mut value = value;
        let work = move || queue.into_iter().for_each(|job| job(&mut value));
        let builder = std::thread::Builder::new().name("tinytrain".to_owned());
        builder.spawn(work).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(Self::Thread(jobs))
    }

    /// Calls a function on the value.
    pub(crate) fn call<R: Send + 'static>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> PyResult<R> {
        let jobs = match self {
            Self::Here(value) => {
                let found = py.detach(|| work(value));
                return py.check_signals().map(|()| found);
            }
            Self::Thread(jobs) => jobs,
        };
        let (done, found) = channel();
        // The receiver may be gone.
        let job = move |value: &mut T| drop(done.send(work(value)));
        let lost = || PyRuntimeError::new_err("the thread that trains has ended");
        jobs.send(Box::new(job)).map_err(|_| lost())?;
        let mut found = found;
        loop {
            let answer;
            (answer, found) = py.detach(move || (found.recv_timeout(INTERVAL), found));
            py.check_signals()?;
            match answer {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(lost()),
            }
        }
    }
}
