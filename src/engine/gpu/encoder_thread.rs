//! A thread that finishes encoders, where wgpu does the work of recording: some microseconds per dispatch.
//! Browsers have no threads for this, so encoders are finished by the sender.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::engine::{Observer, Work, recorder};
use crate::error::{Error, Result};
use crate::threads::{EXIST, hand_over, spawn};

/// The thread and its channels. It ends when this is dropped.
pub struct EncoderThread {
    /// `None` once the thread is to end.
    encoders: Option<Encoders>,
    commands: Receiver<wgpu::CommandBuffer>,
    thread: Option<JoinHandle<()>>,
}

/// Destination of encoders.
enum Encoders {
    ToThread(Sender<(wgpu::CommandEncoder, Observer)>),
    /// Finishes encoders in place; the channel holds their commands.
    Here(Sender<wgpu::CommandBuffer>),
}

impl EncoderThread {
    /// Starts the thread, if threads are available.
    ///
    /// # Errors
    /// [`Error::Thread`] when the system has no more threads.
    pub fn new() -> Result<Self> {
        let (encoders, incoming) = channel::<(wgpu::CommandEncoder, Observer)>();
        let (outgoing, commands) = channel();
        if !EXIST {
            return Ok(Self { encoders: Some(Encoders::Here(outgoing)), commands, thread: None });
        }
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
        Ok(Self { encoders: Some(Encoders::ToThread(encoders)), commands, thread: Some(thread) })
    }

    /// Sends an encoder to the thread; an observer records the work.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the thread is gone.
    pub fn send(&self, encoder: wgpu::CommandEncoder, observer: Observer) -> Result<()> {
        let sent = match &self.encoders {
            Some(Encoders::ToThread(encoders)) => encoders.send((encoder, observer)).ok(),
            Some(Encoders::Here(commands)) => {
                let _finishing = recorder::begin(&observer, Work::Finishing);
                commands.send(encoder.finish()).ok()
            }
            None => None,
        };
        sent.ok_or_else(gone)
    }

    /// Waits for the commands of the oldest encoder.
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
            // If the thread panicked, the engine has already reported it.
            let _ = thread.join();
        }
    }
}

fn gone() -> Error {
    Error::Gpu("the thread that ends encoders is gone".to_owned())
}
