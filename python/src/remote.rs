//! Long work that Ctrl-C ends at once.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How long work goes on before signals are looked for.
const INTERVAL: Duration = Duration::from_millis(20);

type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// A value that is worked on without the interpreter's lock: here where the work is short, else in a thread of its own, so that
/// signals are answered meanwhile. What an interrupted thread is doing it still ends, and drops.
pub(crate) enum Remote<T> {
    Here(T),
    Thread(Sender<Job<T>>),
}

impl<T: Send + 'static> Remote<T> {
    /// The value, in a thread if the work is long.
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

    /// Works on the value.
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
        // Nobody may wait for it any more.
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
