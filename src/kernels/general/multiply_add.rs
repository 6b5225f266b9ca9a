//! Host half of `shaders/multiply_add.wgsl`.

use crate::error::Result;
use crate::gpu::Access::Write;
use crate::kernels::{
    Cost, Description, Kernel, Seal, Shader, StepRecord, ThreadLayout, Tuning, vec4s, word,
};

static SHADER: Shader = Shader::new("multiply_add", &[Write]);

/// Eight chains x <- a x + b per thread, `rounds` long, and their sum. Buffers: `Y [threads]` vec4s.
#[derive(Debug, Clone, Copy)]
pub struct MultiplyAdd {
    /// Number of threads.
    pub threads: usize,
    /// Length of the chains.
    pub rounds: usize,
    /// The factor.
    pub a: f32,
    /// The addend.
    pub b: f32,
}

impl Kernel for MultiplyAdd {
    fn describe(&self, _: Seal) -> Description {
        let Self { threads, rounds, a, b } = *self;
        let words = [word(threads), word(rounds), a.to_bits(), b.to_bits()];
        let layout = ThreadLayout::Elements(threads);
        Description::new(&SHADER, &words, layout, format!("{threads} x {rounds}"))
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        Ok(vec![vec4s(&[&[self.threads]])])
    }

    fn cost(&self, _: &Tuning) -> Cost {
        Cost::dispatch(0, 4 * self.threads, self.threads * (64 * self.rounds + 28))
    }
}
