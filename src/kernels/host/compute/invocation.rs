//! Lists of dispatches, to run several kernels at once or record them repeatedly.

use std::sync::Arc;

use crate::error::Result;
use crate::kernels::{Compute, Kernel, StepRecord};

/// A kernel and its buffers, in the order of its bindings.
#[derive(Clone)]
pub struct Invocation {
    kernel: Arc<dyn Kernel>,
    buffers: Vec<wgpu::Buffer>,
}

impl Invocation {
    pub(crate) fn new(kernel: impl Kernel + 'static, buffers: &[&wgpu::Buffer]) -> Self {
        Self { kernel: Arc::new(kernel), buffers: buffers.iter().copied().cloned().collect() }
    }

    fn bound(&self) -> Vec<&wgpu::Buffer> {
        self.buffers.iter().collect()
    }
}

impl Compute {
    /// Dispatches all steps in sequence. Does not wait.
    ///
    /// # Errors
    /// See [`Compute::run`].
    pub(crate) fn run_steps(&self, steps: &[Invocation]) -> Result<()> {
        steps.iter().try_for_each(|step| self.run(&*step.kernel, &step.bound(), StepRecord::default()))
    }
}
