//! Host half of `shaders/multiply_add.wgsl`.

use crate::error::Result;
use crate::gpu::Access;
use crate::kernels::{Cost, Kernel, Shader, StepRecord, ThreadLayout, Tuning, uniform, vec4s, word};

static SHADER: Shader = Shader {
    name: "multiply_add",
    source: include_str!("../../../shaders/multiply_add.wgsl"),
    bindings: &[Access::Write],
    records: 0,
};

/// Eight chains x <- a x + b a thread, `rounds` long, and their sum. Buffers: `Y [threads]` vec4s.
#[derive(Debug, Clone, Copy)]
pub struct MultiplyAdd {
    /// Number of threads.
    pub threads: usize,
    /// Length of the chains.
    pub rounds: usize,
    /// The factor.
    pub a: f32,
    /// What is added.
    pub b: f32,
}

impl Kernel for MultiplyAdd {
    fn shader(&self) -> &'static Shader {
        &SHADER
    }

    fn params(&self) -> Vec<u8> {
        uniform(&[word(self.threads), word(self.rounds), self.a.to_bits(), self.b.to_bits()])
    }

    fn layout(&self) -> ThreadLayout {
        ThreadLayout::Elements(self.threads)
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![vec4s(&[&[self.threads]])])
    }

    fn shape(&self) -> String {
        format!("{} x {}", self.threads, self.rounds)
    }

    fn cost(&self, _: &Tuning) -> Cost {
        Cost::dispatch(0, 4 * self.threads, self.threads * (64 * self.rounds + 28))
    }
}
