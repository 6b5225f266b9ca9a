//! A thread that ends encoders: wgpu does the work of recording there, some microseconds per dispatch.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::engine::{Observer, Work, recorder};
use crate::error::{Error, Result};
use crate::threads::{hand_over, spawn};

/// The thread, and what goes there and back. It lives as long as this does.
pub struct EncoderThread {
    /// `None` once the thread is to end.
    encoders: Option<Sender<(wgpu::CommandEncoder, Observer)>>,
    commands: Receiver<wgpu::CommandBuffer>,
    thread: Option<JoinHandle<()>>,
}

impl EncoderThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Error::Thread`] when the system has no more threads.
    pub fn new() -> Result<Self> {
        let (encoders, incoming) = channel::<(wgpu::CommandEncoder, Observer)>();
        let (outgoing, commands) = channel();
        let work = move || {
            for (encoder, observer) in incoming {
                let finishing = recorder::begin(&observer, Work::Finishing);
                hand_over();
                let commands = encoder.finish();
                hand_over();
                drop(finishing);
                if outgoing.send(commands).is_err() {
                    break;
                }
            }
        };
        let thread = spawn("finisher", "ends encoders", work)?;
        Ok(Self { encoders: Some(encoders), commands, thread: Some(thread) })
    }

    /// Sends an encoder to the thread; an observer records the work.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the thread is gone.
    pub fn send(&self, encoder: wgpu::CommandEncoder, observer: Observer) -> Result<()> {
        self.encoders.as_ref().and_then(|encoders| encoders.send((encoder, observer)).ok()).ok_or_else(gone)
    }

    /// Waits for the commands of the encoder that was handed over first.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the thread is gone.
    pub fn receive(&self) -> Result<wgpu::CommandBuffer> {
        hand_over();
        self.commands.recv().map_err(|_| gone())
    }
}

impl Drop for EncoderThread {
    fn drop(&mut self) {
        self.encoders = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, the engine has said so.
            let _ = thread.join();
        }
    }
}

fn gone() -> Error {
    Error::Gpu("the thread that ends encoders is gone".to_owned())
}
