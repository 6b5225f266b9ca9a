//! Work that reads results of kernels on a thread that must not block: instead of waiting it ends, and is
//! restarted when the data has arrived. It must do the same each time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Compute;
use crate::error::{Error, Result};
use crate::gpu::{read_buffer, read_buffer_at};

/// Data read so far by such work.
#[derive(Default)]
pub struct Replay {
    contents: Vec<Vec<u8>>,
    /// Number of reads in this turn.
    next: usize,
    /// Buffer and bytes for which this turn has ended.
    awaited: Option<(wgpu::Buffer, u64)>,
}

/// A [`Replay`] shared by a device and its user.
pub type SharedReplay = Arc<Mutex<Replay>>;

fn of(replay: &SharedReplay) -> MutexGuard<'_, Replay> {
    replay.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Compute {
    /// Returns the same device for work that is restarted, see [`Compute::arrived`].
    pub(crate) fn replaying(&self) -> Self {
        Self { replay: Some(Arc::default()), ..self.clone() }
    }

    /// Waits for the data for which a turn of the work has ended. Returns true if it has arrived and the work
    /// must be restarted, false if the work is complete.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device fails.
    pub(crate) async fn arrived(&self) -> Result<bool> {
        let Some(replay) = &self.replay else { return Ok(false) };
        let Some((buffer, bytes)) = of(replay).awaited.take() else { return Ok(false) };
        let contents = read_buffer_at(&self.context, &buffer, 0, bytes).await?;
        let mut replay = of(replay);
        replay.contents.push(contents);
        replay.next = 0;
        Ok(true)
    }

    /// Clears the reads when other work begins.
    pub(crate) fn begin_other(&self) {
        if let Some(replay) = &self.replay {
            *of(replay) = Replay::default();
        }
    }

    /// Returns whether a turn has ended to wait for data.
    pub(crate) fn awaits(&self) -> bool {
        self.replay.as_ref().is_some_and(|replay| of(replay).awaited.is_some())
    }

    /// Reads the first `bytes` of a buffer.
    pub(super) fn read_bytes(&self, buffer: &wgpu::Buffer, bytes: u64) -> Result<Vec<u8>> {
        let Some(replay) = &self.replay else { return read_buffer(&self.context, buffer, bytes) };
        let mut replay = of(replay);
        if let Some(contents) = replay.contents.get(replay.next).cloned() {
            replay.next += 1;
            return Ok(contents);
        }
        replay.awaited = Some((buffer.clone(), bytes));
        Err(Error::Gpu("what is read is not there yet".to_owned()))
    }
}
