//! Networks that one dispatch of `resident` trains, a workgroup each: their buffers, and the dispatch.

use crate::engine::gpu::bound::{MOST_STEPS, MetricSlots, RULE_BYTES};
use crate::engine::gpu::rows::DeviceRows;
use crate::error::{Error, Result};
use crate::gpu::{Context, Prepared};
use crate::kernels::{Compute, Resident, Samples, StepRecord, StepShape};

/// Networks of a pack that share their code, one behind the other in a buffer.
pub struct ResidentGroup {
    /// Which of the pack they are.
    pub members: Vec<usize>,
    /// How each is trained and where it stands.
    pub shapes: Vec<StepShape>,
    pub parameters: wgpu::Buffer,
    /// (loss, correct) [slots, networks]
    pub metrics: wgpu::Buffer,
    /// [`StepRecord`]s [slots, networks]
    rules: wgpu::Buffer,
    /// Steps that a submission has room for.
    pub most_steps: usize,
    dispatch: Option<Prepared>,
}

impl ResidentGroup {
    /// Divides networks into groups: those that share code, as many as the largest buffers of the device hold.
    ///
    /// # Errors
    /// [`Error::Device`] when the device has no buffers of such sizes.
    pub fn divide(context: &Context, shapes: Vec<(usize, StepShape)>) -> Result<Vec<Self>> {
        let mut groups: Vec<(Vec<usize>, Vec<StepShape>)> = Vec::new();
        for (member, shape) in shapes {
            let fitting = groups.iter_mut().find(|(_, others)| fits(context, others, &shape));
            let (members, others) = match fitting {
                Some(group) => group,
                None => groups.push_mut((Vec::new(), Vec::new())),
            };
            members.push(member);
            others.push(shape.shifted(end(others)));
        }
        groups.into_iter().map(|(members, shapes)| Self::new(context, members, shapes)).collect()
    }

    fn new(context: &Context, members: Vec<usize>, shapes: Vec<StepShape>) -> Result<Self> {
        let record = size_of::<StepRecord>() * members.len();
        let most_steps = (RULE_BYTES / record).clamp(1, MOST_STEPS);
        Ok(Self {
            parameters: context.storage("parameters", 16 * end(&shapes) as u64)?,
            metrics: context.storage("metrics", (8 * members.len() * most_steps) as u64)?,
            rules: context.storage("rules", (record * most_steps) as u64)?,
            members,
            shapes,
            most_steps,
            dispatch: None,
        })
    }

    /// Compiles the dispatch and binds it to these rows.
    ///
    /// # Errors
    /// When the device refuses it.
    pub fn bind(&mut self, compute: &Compute, rows: &DeviceRows) -> Result<()> {
        let kernel = self.kernel(rows.samples())?;
        let DeviceRows { features, targets, order, .. } = rows;
        let buffers = [features, targets, order, &self.rules, &self.parameters, &self.metrics];
        let batch = self.shapes[0].rows();
        // No record of a submission reaches further.
        let most = StepRecord {
            first: rows.positions.saturating_sub(batch) as u32,
            rows: batch as u32,
            slot: self.most_steps as u32 - 1,
            ..StepRecord::default()
        };
        self.dispatch = Some(compute.prepare(&kernel, &buffers, &most)?);
        Ok(())
    }

    /// The kernel over such a data set.
    ///
    /// # Errors
    /// [`Error::Config`] for networks that do not share their code.
    pub fn kernel(&self, samples: Samples) -> Result<Resident> {
        Resident::pack(self.shapes.clone(), samples)
            .ok_or_else(|| Error::Config("networks of a group do not share their code".to_owned()))
    }

    /// Says what the networks `live` of the group do in each step of the next submission: `rule` gives it of a network and a
    /// step. Call it when the submission before is submitted.
    pub fn place(
        &self,
        context: &Context,
        steps: usize,
        live: &[usize],
        rule: impl Fn(usize, u64) -> StepRecord,
    ) {
        let mut rules = Vec::with_capacity(steps * self.members.len());
        for step in 0..steps as u64 {
            let of_network = |number: &usize| StepRecord { slot: *number as u32, ..rule(*number, step) };
            rules.extend(live.iter().map(of_network));
            // What nobody reads.
            rules.resize((step as usize + 1) * self.members.len(), StepRecord::default());
        }
        context.queue.write_buffer(&self.rules, 0, bytemuck::cast_slice(&rules));
    }

    /// Where the metrics of the networks `live` stand in a slot.
    pub fn slots(&self, live: &[usize]) -> MetricSlots {
        let of = |number: &usize| (self.members[*number], *number..*number + 1);
        MetricSlots { pairs: self.members.len(), live: live.iter().map(of).collect() }
    }

    /// The dispatch, once it is bound.
    pub fn dispatch(&self) -> Option<&Prepared> {
        self.dispatch.as_ref()
    }
}

/// Where the last of these networks ends, in vec4s.
fn end(shapes: &[StepShape]) -> usize {
    shapes.last().map_or(0, |last| last.base() + last.layout().model())
}

/// Whether one more network fits a group.
fn fits(context: &Context, others: &[StepShape], one: &StepShape) -> bool {
    let layers = |shape: &StepShape| shape.layout().layers().len();
    let all: usize = others.iter().map(layers).sum();
    let tables = Resident::table_bytes(others.len() + 1, all + layers(one)) as u64;
    let bytes = 16 * (end(others) + one.layout().model()) as u64;
    others.first().is_some_and(|first| first.shares_code(one))
        && tables <= context.limits.max_uniform_buffer_binding_size
        && bytes <= context.largest_storage()
}
