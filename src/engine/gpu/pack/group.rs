//! Networks of one shape that the dispatches of `fused` train together, each as a z of their grids.

use std::collections::BTreeMap;

use crate::engine::EngineOptions;
use crate::engine::gpu::bound::{MOST_STEPS, MetricSlots, RULE_BYTES};
use crate::engine::gpu::rows::{DeviceRows, SharedBatch};
use crate::engine::gpu::training_step;
use crate::error::Result;
use crate::gpu::{Context, Prepared, StepBinding, StepRecords};
use crate::kernels::{
    Compute, FeatureFormat, MOST_MEMBERS, Members, Samples, Share, StepRecord, Tuning, program,
};
use crate::model::{Dense, Network, ParameterLayout};
use crate::schedule::{Buffer, Dispatch, DispatchPlan, ScheduleKind, TrainingStep, parameter_layout};

/// Networks of a pack that differ only in numbers: shape, activations and optimizer are the same.
pub struct Group {
    /// Numbers of the networks in the pack.
    pub members: Vec<usize>,
    /// Layout of the parameters.
    layout: ParameterLayout,
    parameters: wgpu::Buffer,
    /// (loss, correct) [slots, trained networks, pairs]
    pub metrics: wgpu::Buffer,
    /// Most steps of a submission.
    pub most_steps: usize,
    /// Networks and their options.
    trained: Vec<(Network, EngineOptions)>,
    /// Pairs per network in a slot.
    pairs: usize,
    /// Records of the trained networks, step after step.
    records: StepRecords,
    /// Gathers the batch, if there is an input layer.
    gather: Option<Prepared>,
    dispatches: Vec<Prepared>,
}

/// A network with its number in the pack and its options.
type TrainedNetwork<'a> = (usize, &'a Network, &'a EngineOptions);

/// Records of a submission: for each step, the records of all trained networks.
pub struct PlacedSteps {
    records: Vec<StepRecord>,
    live: usize,
}

impl Group {
    /// Divides networks into groups of one shape, each as large as the device's largest buffers allow.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) when the device has no buffers of such sizes.
    pub fn divide(context: &Context, tuning: &Tuning, networks: &[TrainedNetwork<'_>]) -> Result<Vec<Self>> {
        let mut groups: Vec<(usize, Vec<TrainedNetwork<'_>>)> = Vec::new();
        for one in networks {
            let step = training_step(one.1, one.2);
            let fitting = groups.iter_mut().find(|(most, others)| {
                others.len() < *most && shares_shape(&training_step(others[0].1, others[0].2), &step)
            });
            match fitting {
                Some((_, group)) => group.push(*one),
                None => {
                    let widest = own_bytes(&step, tuning).max().unwrap_or(1);
                    let most = (context.largest_storage() / widest.max(16)) as usize;
                    groups.push((most.clamp(1, MOST_MEMBERS), vec![*one]));
                }
            }
        }
        groups.into_iter().map(|(_, networks)| Self::new(context, tuning, &networks)).collect()
    }

    fn new(context: &Context, tuning: &Tuning, networks: &[TrainedNetwork<'_>]) -> Result<Self> {
        let (_, network, options) = networks[0];
        let count = networks.len();
        let step = training_step(network, options);
        let layout = parameter_layout(ScheduleKind::Fused, &step, tuning).with_models(count);
        let pairs = schedule(&step, any_samples(), tuning).metrics_groups;
        let record = size_of::<StepRecord>();
        // A device may require a dispatch's records at a multiple of 256 bytes.
        let bytes = (record * (count + 1)).next_multiple_of(256).max(8 * count * pairs);
        let most_steps = (RULE_BYTES / bytes).clamp(1, MOST_STEPS);
        Ok(Self {
            members: networks.iter().map(|(member, ..)| *member).collect(),
            parameters: context.storage("parameters", layout.bytes())?,
            metrics: context.storage("metrics", (8 * count * pairs * most_steps) as u64)?,
            layout,
            most_steps,
            trained: networks
                .iter()
                .map(|(_, network, options)| ((*network).clone(), (*options).clone()))
                .collect(),
            pairs,
            records: StepRecords::new(context, record, most_steps, count, MOST_MEMBERS),
            gather: None,
            dispatches: Vec::new(),
        })
    }

    /// Compiles the dispatches of a step and binds them to these rows; with an input layer, to the shared
    /// batch.
    ///
    /// # Errors
    /// When the device rejects them.
    pub fn bind(&mut self, compute: &Compute, rows: &DeviceRows, batch: &SharedBatch) -> Result<()> {
        let Compute { context, tuning, pipelines, .. } = compute;
        let of = |(network, options): &(Network, EngineOptions)| {
            schedule(&training_step(network, options), rows.samples(), tuning)
        };
        let schedules: Vec<DispatchPlan> = self.trained.iter().map(of).collect();
        let count = schedules.len();
        let numbers = |at: usize| {
            schedules.iter().map(|it| it.dispatches[at].kernel.description().numbers).collect::<Vec<_>>()
        };
        let numbers: Vec<Vec<[u32; 2]>> = (0..schedules[0].dispatches.len()).map(numbers).collect();
        let Some(DispatchPlan { dispatches, buffers, rows: most_rows, .. }) = schedules.into_iter().next()
        else {
            return Ok(());
        };
        let own = |buffer: &Buffer| buffers.get(buffer).map_or(0, |bytes| own_vec4s(*bytes));
        let mut made = BTreeMap::new();
        for buffer in buffers.keys().filter(|buffer| is_own(**buffer)) {
            made.insert(*buffer, context.storage(&buffer.to_string(), 16 * (count * own(buffer)) as u64)?);
        }
        let bound = |buffer: &Buffer| match buffer {
            Buffer::Features => &rows.features,
            Buffer::Targets => &rows.targets,
            Buffer::Order => &rows.order,
            Buffer::TableRows => &batch.rows,
            Buffer::BatchTargets => &batch.targets,
            Buffer::Parameters => &self.parameters,
            Buffer::Metrics => &self.metrics,
            other => &made[other],
        };
        let share = |buffer: &Buffer| match buffer {
            Buffer::Parameters => Share::Own(self.layout.model()),
            Buffer::Metrics => Share::Slots,
            buffer if is_own(*buffer) => Share::Own(own(buffer)),
            _ => Share::Common,
        };
        let several = |(dispatch, numbers): (Dispatch, Vec<[u32; 2]>)| {
            let shares: Vec<Share> = dispatch.buffers.iter().map(share).collect();
            // A shared batch is gathered once.
            let is_common = shares.iter().all(|share| *share == Share::Common);
            let numbers = if is_common { vec![[0; 2]] } else { numbers };
            (Members::new(dispatch.kernel, shares, numbers), dispatch.buffers, is_common)
        };
        let kernels: Vec<_> = dispatches.into_iter().zip(numbers).map(several).collect();
        let programs = kernels.iter().map(|(kernel, ..)| program(kernel, tuning, context.transport));
        pipelines.compile(context, programs)?;
        // Upper bounds of the records of a submission.
        let most = StepRecord {
            first: rows.positions.saturating_sub(most_rows) as u32,
            rows: most_rows as u32,
            slot: self.most_steps as u32 - 1,
            ..StepRecord::default()
        };
        for (kernel, buffers, is_common) in &kernels {
            let buffers: Vec<&wgpu::Buffer> = buffers.iter().map(bound).collect();
            let prepared = compute.prepare(kernel, &buffers, &most)?;
            match is_common {
                true => self.gather = Some(prepared),
                false => self.dispatches.push(prepared),
            }
        }
        Ok(())
    }

    /// Returns buffer, first vec4 and layout of the parameters of network `number`.
    pub fn region(&self, number: usize) -> (&wgpu::Buffer, usize, &ParameterLayout) {
        (&self.parameters, number * self.layout.model(), &self.layout)
    }

    /// Returns the number of dispatches of a step, without the gather dispatch.
    pub fn dispatches(&self) -> usize {
        self.dispatches.len()
    }

    /// Writes the records of the networks `live` for these steps of the next submission; `rule` returns the
    /// record of a network and a step. Call this after the previous submission is submitted.
    pub fn place(
        &self,
        context: &Context,
        steps: &[StepRecord],
        live: &[usize],
        rule: impl Fn(usize, u64) -> StepRecord,
    ) -> PlacedSteps {
        let mut records = Vec::with_capacity(steps.len() * live.len());
        for (number, step) in (0..).zip(steps) {
            let StepRecord { first, rows, slot, .. } = *step;
            let of_network = |network: &usize| StepRecord {
                first,
                rows,
                slot,
                next_rows: *network as u32,
                ..rule(*network, number)
            };
            records.extend(live.iter().map(of_network));
        }
        self.records.write(context, bytemuck::cast_slice(&records), live.len());
        PlacedSteps { records, live: live.len() }
    }

    /// Returns the records of each step.
    pub fn steps<'a>(&'a self, placed: &'a PlacedSteps) -> Vec<StepBinding<'a>> {
        self.records.each(bytemuck::cast_slice(&placed.records), placed.live).collect()
    }

    /// Records the gather dispatch of the batch, if this group needs one; returns whether it does.
    pub fn record_gather(&self, pass: &mut wgpu::ComputePass<'_>, step: StepBinding<'_>) -> bool {
        let gather = self.gather.as_ref();
        gather.inspect(|gather| gather.record(pass, Some(step))).is_some()
    }

    /// Records dispatch `at` of a step of the networks `live`, if there is one.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>, at: usize, step: StepBinding<'_>, live: usize) {
        if let Some(dispatch) = self.dispatches.get(at) {
            dispatch.record_first(pass, Some(step), [u32::MAX, u32::MAX, live as u32]);
        }
    }

    /// Returns the ranges of the metrics of the networks `live` in a slot.
    pub fn slots(&self, live: &[usize]) -> MetricSlots {
        let of = |(z, number): (usize, &usize)| (self.members[*number], z * self.pairs..(z + 1) * self.pairs);
        MetricSlots { pairs: self.pairs * live.len(), live: live.iter().enumerate().map(of).collect() }
    }
}

/// Returns the bytes of a network in batches of its size, without shared buffers.
pub fn member_bytes(step: &TrainingStep<'_>, tuning: &Tuning) -> u64 {
    own_bytes(step, tuning).fold(0, u64::saturating_add)
}

/// Returns the bytes per network of each buffer that networks do not share.
fn own_bytes(step: &TrainingStep<'_>, tuning: &Tuning) -> impl Iterator<Item = u64> {
    let parameters = parameter_layout(ScheduleKind::Fused, step, tuning).bytes();
    let buffers = schedule(step, any_samples(), tuning).buffers.into_iter();
    let own = buffers.filter(|(buffer, _)| is_own(*buffer)).map(|(_, bytes)| 16 * own_vec4s(bytes) as u64);
    own.chain([parameters])
}

/// Returns the vec4s of one network in a buffer with `bytes` bytes per network.
fn own_vec4s(bytes: u64) -> usize {
    bytes.div_ceil(16).max(1) as usize
}

fn schedule(step: &TrainingStep<'_>, samples: Samples, tuning: &Tuning) -> DispatchPlan {
    DispatchPlan::train(ScheduleKind::Fused, step, samples, tuning)
}

/// Placeholder for an unknown data set: buffer sizes do not depend on it.
fn any_samples() -> Samples {
    Samples { stored: FeatureFormat::Floats, count: 1 }
}

/// Returns whether each network has a separate part of this buffer of the batch.
fn is_own(buffer: Buffer) -> bool {
    !buffer.is_external() && !matches!(buffer, Buffer::TableRows | Buffer::BatchTargets | Buffer::Metrics)
}

/// Returns whether two networks differ only in numbers that each member of a group stores separately: the
/// record of a step, dropout rates, and label smoothing.
fn shares_shape(one: &TrainingStep<'_>, other: &TrainingStep<'_>) -> bool {
    let layers = |step: &TrainingStep<'_>| -> Vec<_> {
        let layers = step.network.dense().iter().enumerate();
        let of = |(number, layer): (usize, &Dense)| {
            (layer.units, layer.activation, step.network.dropout(number).is_some())
        };
        layers.map(of).collect()
    };
    let rule = |step: &TrainingStep<'_>| {
        let rule = step.rule;
        (rule.optimizer.kind, rule.bias_decay(), rule.clip_norm.is_some())
    };
    let network =
        |step: &TrainingStep<'_>| (step.network.inputs(), step.network.loss(), step.rows, step.weighted);
    network(one) == network(other)
        && one.network.input_layer() == other.network.input_layer()
        && layers(one) == layers(other)
        && rule(one) == rule(other)
        && one.rule.factors == other.rule.factors
}
