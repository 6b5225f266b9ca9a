//! Networks of a pack that share their code, and are trained by the same dispatches.

use super::fused::FusedGroup;
use super::resident::ResidentGroup;
use crate::engine::gpu::bound::MetricSlots;
use crate::engine::gpu::rows::{DeviceRows, SharedBatch};
use crate::error::Result;
use crate::kernels::Compute;
use crate::model::ParameterLayout;

/// Networks that share their code.
pub enum Group {
    /// A workgroup each, any number of layers and of units.
    Resident(ResidentGroup),
    /// Networks of one shape, each a z of the grid.
    Fused(FusedGroup),
}

impl Group {
    /// Which of the pack they are.
    pub fn members(&self) -> &[usize] {
        match self {
            Group::Resident(group) => &group.members,
            Group::Fused(group) => &group.members,
        }
    }

    /// Steps that a submission has room for.
    pub fn most_steps(&self) -> usize {
        match self {
            Group::Resident(group) => group.most_steps,
            Group::Fused(group) => group.most_steps,
        }
    }

    /// Compiles the kernels and binds them to these rows, and to what the groups share of a batch.
    ///
    /// # Errors
    /// When the device refuses it.
    pub fn bind(&mut self, compute: &Compute, rows: &DeviceRows, batch: &SharedBatch) -> Result<()> {
        match self {
            Group::Resident(group) => group.bind(compute, rows),
            Group::Fused(group) => group.bind(compute, rows, batch),
        }
    }

    /// Where all of its network `number` stands: buffer, first vec4, and how from there on.
    pub fn region(&self, number: usize) -> (&wgpu::Buffer, usize, &ParameterLayout) {
        match self {
            Group::Resident(group) => {
                let shape = &group.shapes[number];
                (&group.parameters, shape.base(), shape.layout())
            }
            Group::Fused(group) => (&group.parameters, number * group.layout.model(), &group.layout),
        }
    }

    /// The metrics, slot after slot.
    pub fn metrics(&self) -> &wgpu::Buffer {
        match self {
            Group::Resident(group) => &group.metrics,
            Group::Fused(group) => &group.metrics,
        }
    }

    /// Where the metrics of the networks `live` stand in a slot.
    pub fn slots(&self, live: &[usize]) -> MetricSlots {
        match self {
            Group::Resident(group) => group.slots(live),
            Group::Fused(group) => group.slots(live),
        }
    }
}
