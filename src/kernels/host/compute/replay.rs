//! Work that reads what kernels have written, on a thread that must not wait: where it would have to, it ends, and begins again when
//! what it reads is there. It has to do the same again each time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Compute;
use crate::error::{Error, Result};
use crate::gpu::{read_buffer, read_buffer_at};

/// What such work has read so far.
#[derive(Default)]
pub struct Replay {
    contents: Vec<Vec<u8>>,
    /// How much of that this turn has read.
    next: usize,
    /// What this turn has ended for.
    awaited: Option<(wgpu::Buffer, u64)>,
}

/// A [`Replay`] that a device and whoever works with it share.
pub type SharedReplay = Arc<Mutex<Replay>>;

fn of(replay: &SharedReplay) -> MutexGuard<'_, Replay> {
    replay.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Compute {
    /// The same device for work that begins again, see [`Compute::arrived`].
    pub(crate) fn replaying(&self) -> Self {
        Self { replay: Some(Arc::default()), ..self.clone() }
    }

    /// Waits for what a turn of the work has ended for: true if it is there and the work is to begin again, false if it has ended
    /// by itself.
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

    /// Some work has ended, and other work begins.
    pub(crate) fn begin_other(&self) {
        if let Some(replay) = &self.replay {
            *of(replay) = Replay::default();
        }
    }

    /// Whether a turn has ended for something that it reads.
    pub(crate) fn awaits(&self) -> bool {
        self.replay.as_ref().is_some_and(|replay| of(replay).awaited.is_some())
    }

    /// The first `bytes` of a buffer.
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
