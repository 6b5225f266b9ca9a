//! Time stamps that the device writes at the start and end of compute passes, and their readback.

use super::buffers::Readback;
use super::context::Context;
use crate::error::Result;
use crate::threads::block;
use crate::timing::Span;

/// Pairs of stamps per query set: the most that WebGPU allows.
const SET_PAIRS: usize = wgpu::QUERY_SET_MAX_QUERIES as usize / 2;

/// Bytes of a stamp.
const STAMP_BYTES: u64 = wgpu::QUERY_SIZE as u64;

/// Stamps at the start and the end of some passes of one submission.
pub struct Timestamps {
    sets: Vec<wgpu::QuerySet>,
    resolved: wgpu::Buffer,
    readback: Readback,
    capacity: usize,
    /// Nanoseconds per tick of the device's clock.
    period: f64,
}

impl Timestamps {
    /// Creates stamps for up to `pairs` passes. The device must [support](Context::has_timestamps) them.
    pub fn new(context: &Context, pairs: usize) -> Self {
        let device = &context.device;
        let set = |number: usize| {
            device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("stamps"),
                ty: wgpu::QueryType::Timestamp,
                count: 2 * (pairs - number * SET_PAIRS).min(SET_PAIRS) as u32,
            })
        };
        let bytes = 2 * STAMP_BYTES * pairs as u64;
        let resolved = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("stamps"),
            size: bytes,
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        Self {
            sets: (0..pairs.div_ceil(SET_PAIRS)).map(set).collect(),
            resolved,
            readback: Readback::new(context, bytes),
            capacity: pairs,
            period: f64::from(context.queue.get_timestamp_period()),
        }
    }

    /// Returns the number of passes.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Begins a pass with stamp pair `pair` at its start and end.
    pub fn pass<'a>(&self, encoder: &'a mut wgpu::CommandEncoder, pair: usize) -> wgpu::ComputePass<'a> {
        let first = 2 * (pair % SET_PAIRS) as u32;
        encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: None,
            timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                query_set: &self.sets[pair / SET_PAIRS],
                beginning_of_pass_write_index: Some(first),
                end_of_pass_write_index: Some(first + 1),
            }),
        })
    }

    /// Records the readback of the first `pairs`, after all passes.
    pub fn record(&self, encoder: &mut wgpu::CommandEncoder, pairs: usize) {
        for (number, set) in self.sets.iter().enumerate().take(pairs.div_ceil(SET_PAIRS)) {
            let first = number * SET_PAIRS;
            let queries = 2 * (pairs - first).min(SET_PAIRS) as u32;
            encoder.resolve_query_set(set, 0..queries, &self.resolved, 2 * STAMP_BYTES * first as u64);
        }
        self.readback.record(encoder, &self.resolved, 0, 2 * STAMP_BYTES * pairs as u64);
    }

    /// Returns the first `pairs` of a submission that has ended, on the device's clock. Impossible pairs give
    /// `None`: a device that wrote none leaves zeros, and some write the end before the start.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when they cannot be read.
    pub fn take(&self, pairs: usize) -> Result<Vec<Option<Span>>> {
        block(self.readback.ready())?;
        let ticks: Vec<u64> =
            bytemuck::pod_collect_to_vec(&self.readback.take(2 * STAMP_BYTES * pairs as u64)?);
        Ok(ticks.chunks_exact(2).map(|pair| accepted(pair[0], pair[1], self.period)).collect())
    }
}

/// Converts a pair of time stamps to a span, if end > begin > 0.
fn accepted(begin: u64, end: u64, period: f64) -> Option<Span> {
    let nanoseconds = |ticks: u64| (ticks as f64 * period) as u64;
    (end > begin && begin > 0).then(|| Span { begin: nanoseconds(begin), end: nanoseconds(end) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_that_cannot_be_true_are_refused() {
        for (begin, end) in [(0, 0), (0, 5), (7, 7), (8, 7)] {
            assert_eq!(accepted(begin, end, 1.0), None);
        }
        assert_eq!(accepted(7, 9, 1.0), Some(Span { begin: 7, end: 9 }));
        assert_eq!(accepted(1000, 3000, 83.333), Some(Span { begin: 83_333, end: 249_999 }));
        assert_eq!(Span { begin: 83_333, end: 249_999 }.length(), 166_666);
    }
}
