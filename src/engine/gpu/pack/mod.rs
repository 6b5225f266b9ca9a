//! Many networks in training at once, all on the same rows in the same order: networks of one shape share
//! dispatches, each as a z of their grids.

mod group;
mod members;

use group::{Group, PlacedSteps};

use super::bound::step_records;
use super::rows::{DeviceRows, SharedBatch, row_bytes, stored};
use super::submissions::{MemberMetrics, Submissions};
use super::{GpuEngine, training_step};
use crate::data::Rows;
use crate::engine::order::{HostOrder, check_epoch, check_order};
use crate::engine::{Batches, EngineOptions, EngineState};
use crate::error::{Error, Result};
use crate::gpu::{Adapter, Context, StepBinding};
use crate::kernels::{Compute, LossTargets, StepRecord, Tuning, blocks};
use crate::model::{Network, Parameters};
use crate::schedule::ScheduleKind;
use crate::threads::block;

/// A network of a pack and its options.
#[derive(Debug, Clone, Copy)]
pub struct PackMember<'a> {
    /// The network.
    pub network: &'a Network,
    /// Its first parameters.
    pub parameters: &'a Parameters,
    /// Training options; the schedule is `fused`. The number of threads has no effect.
    pub options: &'a EngineOptions,
}

/// State of a member.
struct Member {
    network: Network,
    options: EngineOptions,
    /// Group of the member, and its number there.
    place: (usize, usize),
    /// Number of steps done.
    steps: u64,
    is_live: bool,
}

/// Training rows of all members.
struct PackRows {
    rows: DeviceRows,
    uploaded: usize,
}

/// Networks on an adapter that are trained together by the schedule `fused`. They share rows, order, batch
/// size, inputs and outputs, and may differ in everything else. Each is trained to the same bits as
/// separately with its schedule and the same tile shapes, independently of the others. Networks with
/// different activations, optimizer, loss, use of dropout, widths or depth have separate dispatches. The rows
/// stay on the device.
pub struct GpuPack {
    compute: Compute,
    members: Vec<Member>,
    groups: Vec<Group>,
    rows: Option<PackRows>,
    host_order: HostOrder,
    submissions: Submissions,
    /// Evaluates members: created for the last evaluated network.
    evaluator: Option<GpuEngine>,
}

impl GpuPack {
    /// Creates a pack with these parameters on an adapter.
    ///
    /// # Errors
    /// [`Error::Config`] when there are no members, when they do not share all that they have to, or when a
    /// requested schedule is unavailable; [`Error::Device`] when the adapter cannot be opened or has no room.
    pub fn new(adapter: &Adapter, members: &[PackMember<'_>]) -> Result<Self> {
        let compute = Compute::open(adapter)?;
        let tuning = compute.tuning;
        Self::with_tuning(compute, tuning, members)
    }

    /// Creates a pack as [`GpuPack::new`] does, on an open device with these tile shapes.
    ///
    /// # Errors
    /// See [`GpuPack::new`].
    pub fn with_tuning(compute: Compute, tuning: Tuning, members: &[PackMember<'_>]) -> Result<Self> {
        let compute = compute.with_tuning(tuning);
        let context = &compute.context;
        check_shared(members)?;
        let groups = divide(context, members, &tuning)?;
        let mut places = vec![(0, 0); members.len()];
        for (number, group) in groups.iter().enumerate() {
            for (place, member) in group.members.iter().enumerate() {
                places[*member] = (number, place);
            }
        }
        let known = members.iter().zip(places).map(|(member, place)| Member {
            network: member.network.clone(),
            options: member.options.clone(),
            place,
            steps: 0,
            is_live: true,
        });
        let mut pack = Self {
            members: known.collect(),
            groups,
            rows: None,
            host_order: HostOrder::default(),
            submissions: Submissions::new()?,
            evaluator: None,
            compute,
        };
        for (number, member) in members.iter().enumerate() {
            pack.restore(number, member.parameters, &EngineState::default())?;
        }
        Ok(pack)
    }

    /// Returns the bytes of a member on a device in batches of its size: parameters, the optimizer's state,
    /// activations and deltas. A pack takes the sum, and the rows once. No member may exceed the largest
    /// buffer, [`Context::largest_storage`](crate::gpu::Context::largest_storage); wgpu does not report how
    /// much memory a device has.
    pub fn member_bytes(network: &Network, options: &EngineOptions) -> u64 {
        // Tile shapes change only a few words.
        group::member_bytes(&training_step(network, options), &Tuning::GPU)
    }

    /// Returns the bytes of the rows on a device; `None` if their number is unknown.
    pub fn rows_bytes(rows: &Rows<'_>, network: &Network) -> Option<u64> {
        let of_row = row_bytes(network.columns(), stored(rows));
        rows.total.map(|total| of_row.saturating_mul(total as u64))
    }

    /// Returns the members that have not stopped, in ascending order.
    pub fn live(&self) -> impl Iterator<Item = usize> + '_ {
        self.members.iter().enumerate().filter(|(_, member)| member.is_live).map(|(number, _)| number)
    }

    /// Copies rows to the device before any batch of them is submitted, creates the evaluator of the largest
    /// member, and waits until all is finished: a device without room reports the error here, before training
    /// begins.
    ///
    /// # Errors
    /// Errors of the device; [`Error::Config`] when the number of rows is unknown.
    pub fn upload(&mut self, rows: &Rows<'_>) -> Result<()> {
        self.rows = Some(self.take_rows(rows)?);
        self.prepare_evaluation(rows)?;
        let context = &self.compute.context;
        // Errors of allocations are known already; errors of copies are known when the copies have ended.
        context.check()?;
        context.wait(context.queue.submit([]))
    }

    /// Begins to train all members that have not stopped on `batches`, as
    /// [`Engine::submit`](crate::engine::Engine::submit) does one network.
    ///
    /// # Errors
    /// Errors of the device; [`Error::Config`] for rows that do not exist, when the number of rows is
    /// unknown, or when all members have stopped.
    pub fn submit(&mut self, batches: &Batches<'_>) -> Result<usize> {
        if !self.submissions.has_room() || batches.positions.is_empty() {
            return Ok(0);
        }
        if self.live().next().is_none() {
            return Err(Error::Config("all networks of the pack have stopped".to_owned()));
        }
        check_epoch(batches)?;
        let mut rows = self.take_rows(&batches.rows)?;
        let (compute, submissions) = (&self.compute, &mut self.submissions);
        rows.rows.distort(compute, batches.epoch, rows.uploaded, || submissions.flush(&compute.context))?;
        let taken = self.submit_piece(&mut rows, batches);
        self.rows = Some(rows);
        taken
    }

    /// Returns the metrics of batches that have ended since the last call: batch after batch, each with all
    /// trained members. With `wait`, waits for the oldest submission; an empty result then means that nothing
    /// is in flight.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn poll(&mut self, wait: bool) -> Result<Vec<MemberMetrics>> {
        block(self.submissions.poll(&self.compute.context, wait))
    }

    /// Stops training this member from the next submission on. Its parameters stay.
    pub fn stop(&mut self, member: usize) {
        self.members[member].is_live = false;
    }

    fn batch(&self) -> usize {
        self.members[0].options.batch
    }

    /// Returns the rows on the device, copying new ones.
    fn take_rows(&mut self, rows: &Rows<'_>) -> Result<PackRows> {
        let mut taken = match self.rows.take() {
            Some(taken) => taken,
            None => self.prepare_rows(rows)?,
        };
        if rows.len() > taken.rows.capacity {
            let (found, capacity) = (rows.len(), taken.rows.capacity);
            return Err(Error::Config(format!("a pack of {capacity} rows cannot take {found}")));
        }
        if taken.uploaded < rows.len() {
            taken.rows.upload(&self.compute.context, rows, taken.uploaded..rows.len(), taken.uploaded)?;
            taken.uploaded = rows.len();
        }
        Ok(taken)
    }

    fn prepare_rows(&mut self, rows: &Rows<'_>) -> Result<PackRows> {
        let Member { network, options, .. } = &self.members[0];
        let total = rows.total.ok_or_else(|| {
            Error::Config("a pack needs to know how many rows there are before the first batch".to_owned())
        })?;
        // Smoothing does not affect the storage of targets.
        let targets = LossTargets { loss: network.loss(), smoothing: 0.0, weighted: options.weighted };
        let context = &self.compute.context;
        let device_rows =
            DeviceRows::new(context, network, Some(targets), stored(rows), total, options.batch)?;
        let device_rows = device_rows.distorted_by(context, options.distortion)?;
        // Compile nothing if there is no room for the rows.
        context.check()?;
        let has_input = self.members.iter().any(|member| member.network.input_layer().is_some());
        let bytes = |of_row: usize| if has_input { (options.batch * of_row) as u64 } else { 0 };
        let batch = SharedBatch {
            rows: context.storage("rows of the batch", bytes(16 * blocks(network.columns())))?,
            targets: context.storage("targets of the batch", bytes(4 * targets.words(network.outputs())))?,
        };
        for group in &mut self.groups {
            group.bind(&self.compute, &device_rows, &batch)?;
        }
        Ok(PackRows { rows: device_rows, uploaded: 0 })
    }

    fn submit_piece(&mut self, on_device: &mut PackRows, batches: &Batches<'_>) -> Result<usize> {
        let (context, batch) = (&self.compute.context, self.batch());
        let most_steps = self.groups.iter().map(|group| group.most_steps).min().unwrap_or(1);
        let positions = batches.positions.clone();
        let whole = positions.len().min(self.submissions.steps().min(most_steps) * batch);
        let taken = whole.min(on_device.rows.positions);
        let order = &self.host_order.rows(batches)[..taken];
        check_order(&batches.rows, order.iter().map(|row| *row as usize))?;
        on_device.rows.set_order(context, 0, order);
        self.train(&step_records(0, taken, batch).collect::<Vec<_>>())?;
        if taken == positions.len() {
            self.host_order.prefetch(batches);
        }
        Ok(taken)
    }

    /// Submits these steps for all live members.
    fn train(&mut self, steps: &[StepRecord]) -> Result<()> {
        let context = &self.compute.context;
        let live = |group: &Group| -> Vec<usize> {
            let numbers = 0..group.members.len();
            numbers.filter(|number| self.members[group.members[*number]].is_live).collect()
        };
        let groups: Vec<(&Group, Vec<usize>)> =
            self.groups.iter().map(|group| (group, live(group))).collect();
        let groups: Vec<_> = groups.into_iter().filter(|(_, live)| !live.is_empty()).collect();
        let place = |(group, live): &(&'_ Group, Vec<usize>)| {
            let rule = |number: usize, step: u64| {
                let member = &self.members[group.members[number]];
                member.options.rule.record(member.steps + step)
            };
            group.place(context, steps, live, rule)
        };
        let placed: Vec<PlacedSteps> = groups.iter().map(place).collect();
        let mut encoder = context.device.create_command_encoder(&Default::default());
        record_steps(&mut encoder.begin_compute_pass(&Default::default()), &groups, &placed, steps.len());
        let rows = steps.iter().map(|step| step.rows as usize).collect();
        let metrics = groups.iter().map(|(group, live)| (&group.metrics, group.slots(live))).collect();
        self.submissions.send(context, encoder, rows, metrics, None)?;
        self.submissions.flush(context)?;
        for member in self.members.iter_mut().filter(|member| member.is_live) {
            member.steps += steps.len() as u64;
        }
        Ok(())
    }
}

/// Records `steps` steps of these groups, for the live networks, with the groups' dispatches interleaved:
/// dispatches of different groups may run at the same time.
fn record_steps(
    pass: &mut wgpu::ComputePass<'_>,
    groups: &[(&Group, Vec<usize>)],
    placed: &[PlacedSteps],
    steps: usize,
) {
    let bindings: Vec<Vec<StepBinding<'_>>> =
        groups.iter().zip(placed).map(|((group, _), placed)| group.steps(placed)).collect();
    let most = groups.iter().map(|(group, _)| group.dispatches()).max().unwrap_or(0);
    for step in 0..steps {
        // One gather dispatch fills the batch for all groups.
        let mut gathering = groups.iter().zip(&bindings);
        gathering.any(|((group, _), bindings)| group.record_gather(pass, bindings[step]));
        for at in 0..most {
            for ((group, live), bindings) in groups.iter().zip(&bindings) {
                group.record(pass, at, bindings[step], live.len());
            }
        }
    }
}

/// Divides members into the groups of a pack.
fn divide(context: &Context, members: &[PackMember<'_>], tuning: &Tuning) -> Result<Vec<Group>> {
    let other = members.iter().filter_map(|member| member.options.schedule);
    if let Some(kind) = other.into_iter().find(|kind| *kind != ScheduleKind::Fused) {
        return Err(Error::Config(format!("no pack is trained by the schedule {kind}")));
    }
    let networks = members.iter().enumerate().map(|(number, it)| (number, it.network, it.options));
    Group::divide(context, tuning, &networks.collect::<Vec<_>>())
}

/// Checks that all members can be trained on the same batches.
fn check_shared(members: &[PackMember<'_>]) -> Result<()> {
    let shared = |member: &PackMember<'_>| {
        let (network, options) = (member.network, member.options);
        let targets = (network.loss().of_classes(), network.outputs(), options.weighted);
        (network.columns(), targets, options.batch, options.distortion)
    };
    let Some(first) = members.first() else {
        return Err(Error::Config("a pack needs at least one network".to_owned()));
    };
    match members.iter().position(|member| shared(member) != shared(first)) {
        Some(number) => Err(Error::Config(format!(
            "networks of a pack have the same inputs, outputs, kind of targets, batch size and distortions, but number {number} differs \
             from the first"
        ))),
        None => Ok(()),
    }
}
