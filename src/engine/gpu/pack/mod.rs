//! Many networks in training at once, all on the same rows in the same order: small ones by a workgroup each, those of one shape
//! by dispatches that have them in the z of their grids.

mod fused;
mod group;
mod members;
mod resident;

use fused::{FusedGroup, PlacedSteps};
use group::Group;
use resident::ResidentGroup;

use super::bound::step_records;
use super::order::DeviceOrder;
use super::rows::{DeviceRows, ORDERED_ROWS, SharedBatch, row_bytes, stored};
use super::submissions::{MemberMetrics, Submissions};
use super::{GpuEngine, training_step};
use crate::data::Rows;
use crate::engine::order::{HostOrder, check_epoch, check_order};
use crate::engine::{Batches, EngineOptions, EngineState, Order};
use crate::error::{Error, Result};
use crate::gpu::{Adapter, Context, StepBinding, StepRecords};
use crate::kernels::{Compute, LossTargets, MOST_RECORDS, StepRecord, Tuning, blocks};
use crate::model::{Network, Parameters};
use crate::schedule::{DeviceLimits, ScheduleKind, packed_schedule, refusal};
use crate::threads::block;

/// A network of a pack, and how it is trained.
#[derive(Debug, Clone, Copy)]
pub struct PackMember<'a> {
    /// The network.
    pub network: &'a Network,
    /// Its first parameters.
    pub parameters: &'a Parameters,
    /// How it is trained. The schedule is `resident` or `fused`; by default the one that should be faster for many
    /// networks like it. Threads and measured tile shapes count for nothing.
    pub options: &'a EngineOptions,
}

/// What is known of a member.
struct Member {
    network: Network,
    options: EngineOptions,
    /// Which group it belongs to, and its number there.
    place: (usize, usize),
    /// Steps so far.
    steps: u64,
    is_live: bool,
}

/// The rows that all members are trained on.
struct PackRows {
    rows: DeviceRows,
    order: DeviceOrder,
    uploaded: usize,
}

/// Networks on an adapter that are trained together, by the schedules `resident` and `fused`. They share rows, order, batch
/// size, inputs and outputs, and may differ in everything else. Each is trained to the same bits as by itself, with its
/// schedule and the same tile shapes, whatever becomes of the others. Those that differ in activations, optimizer, loss or
/// whether they have dropout are dispatches of their own, under `fused` also those that differ in widths or depth. The rows
/// stay on the device.
pub struct GpuPack {
    compute: Compute,
    members: Vec<Member>,
    groups: Vec<Group>,
    records: StepRecords,
    rows: Option<PackRows>,
    host_order: HostOrder,
    submissions: Submissions,
    /// Evaluates members: made for the network that was evaluated last.
    evaluator: Option<GpuEngine>,
}

impl GpuPack {
    /// Puts the parameters on an adapter.
    ///
    /// # Errors
    /// [`Error::Config`] when there are no members, when they do not share what they have to, or when one cannot have the
    /// schedule that it asks for; [`Error::Device`] when the adapter cannot be opened or has no room.
    pub fn new(adapter: &Adapter, members: &[PackMember<'_>]) -> Result<Self> {
        let compute = Compute::open(adapter)?;
        let tuning = compute.tuning;
        Self::with_tuning(compute, tuning, members)
    }

    /// As [`GpuPack::new`] on a device that is open, with tile shapes of the caller's choice.
    ///
    /// # Errors
    /// As [`GpuPack::new`].
    pub fn with_tuning(compute: Compute, tuning: Tuning, members: &[PackMember<'_>]) -> Result<Self> {
        let compute = compute.with_tuning(tuning);
        let context = &compute.context;
        check_shared(members)?;
        let limits = DeviceLimits::from_context(context, &tuning);
        let groups = divide(context, members, &limits)?;
        let mut places = vec![(0, 0); members.len()];
        for (number, group) in groups.iter().enumerate() {
            for (place, member) in group.members().iter().enumerate() {
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
        let most_steps = groups.iter().map(Group::most_steps).max().unwrap_or(1);
        let (record, dispatches) = (size_of::<StepRecord>(), most_steps.div_ceil(MOST_RECORDS));
        let mut pack = Self {
            members: known.collect(),
            groups,
            records: StepRecords::new(context, record, dispatches, MOST_RECORDS, MOST_RECORDS),
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

    /// Bytes that a member takes on a device in batches of its size: parameters, the optimizer's state, activations, deltas, and
    /// what else its schedule keeps; where it asks for none, that is `resident`. A pack takes the sum, and the rows once. No
    /// member may take more than the largest buffer has, [`Context::largest_storage`](crate::gpu::Context::largest_storage);
    /// how much memory a device has cannot be asked.
    ///
    /// # Errors
    /// [`Error::Config`] for a network that no pack can train.
    pub fn member_bytes(network: &Network, options: &EngineOptions) -> Result<u64> {
        let step = training_step(network, options);
        if options.schedule == Some(ScheduleKind::Fused) {
            // Tile shapes matter for nothing but a few words.
            return Ok(fused::member_bytes(&step, &Tuning::GPU));
        }
        let shape = step.resident_shape().ok_or_else(refused)?;
        Ok(shape.layout().bytes())
    }

    /// The schedule under which a network should be trained in a pack on such an adapter, whatever else is in it: the one that
    /// should be the faster for many networks like it.
    pub fn schedule_for(network: &Network, options: &EngineOptions, adapter: &Adapter) -> ScheduleKind {
        let limits = DeviceLimits::from_adapter(adapter);
        packed_schedule(&training_step(network, options), &limits)
    }

    /// Bytes that rows take on a device; nothing where it is not known how many there will be.
    pub fn rows_bytes(rows: &Rows<'_>, network: &Network) -> Option<u64> {
        let of_row = row_bytes(network.columns(), stored(rows));
        rows.total.map(|total| of_row.saturating_mul(total as u64))
    }

    /// The schedule of a member.
    pub fn schedule(&self, member: usize) -> ScheduleKind {
        match &self.groups[self.members[member].place.0] {
            Group::Resident(_) => ScheduleKind::Resident,
            Group::Fused(_) => ScheduleKind::Fused,
        }
    }

    /// The members that have not stopped, in ascending order.
    pub fn live(&self) -> impl Iterator<Item = usize> + '_ {
        self.members.iter().enumerate().filter(|(_, member)| member.is_live).map(|(number, _)| number)
    }

    /// Copies rows to the device before any batch of them is submitted, makes what evaluates the largest member, and waits until
    /// all is there: a device without room for it reports the error here, before anything is trained.
    ///
    /// # Errors
    /// Those of the device; [`Error::Config`] when it is not known how many rows there will be.
    pub fn upload(&mut self, rows: &Rows<'_>) -> Result<()> {
        self.rows = Some(self.take_rows(rows)?);
        self.prepare_evaluation(rows)?;
        let context = &self.compute.context;
        // What could not be made is known already; what could not be copied is when the copies have ended.
        context.check()?;
        context.wait(context.queue.submit([]))
    }

    /// Begins to train all members that have not stopped on `batches`, as
    /// [`Engine::submit`](crate::engine::Engine::submit) does one network.
    ///
    /// # Errors
    /// Those of the device; [`Error::Config`] for rows that are not there, when it is not known how many there will be, or when
    /// all members have stopped.
    pub fn submit(&mut self, batches: &Batches<'_>) -> Result<usize> {
        if !self.submissions.has_room() || batches.positions.is_empty() {
            return Ok(0);
        }
        if self.live().next().is_none() {
            return Err(Error::Config("all networks of the pack have stopped".to_owned()));
        }
        check_epoch(batches)?;
        let mut rows = self.take_rows(&batches.rows)?;
        let taken = self.submit_piece(&mut rows, batches);
        self.rows = Some(rows);
        taken
    }

    /// The metrics of batches that have ended since the last call: batch after batch, of each all members that were trained.
    /// With `wait`, waits for the oldest submission; none then means that nothing is on its way.
    ///
    /// # Errors
    /// Those of the device.
    pub fn poll(&mut self, wait: bool) -> Result<Vec<MemberMetrics>> {
        block(self.submissions.poll(&self.compute.context, wait))
    }

    /// From the next submission on this member is not trained any more. Its parameters stay.
    pub fn stop(&mut self, member: usize) {
        self.members[member].is_live = false;
    }

    fn batch(&self) -> usize {
        self.members[0].options.batch
    }

    /// The rows on the device.
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
        // Smoothing changes nothing in how targets stand.
        let targets = LossTargets { loss: network.loss(), smoothing: 0.0, weighted: options.weighted };
        let context = &self.compute.context;
        let device_rows =
            DeviceRows::new(context, network, Some(targets), stored(rows), total, options.batch)?;
        // Without room for them nothing is to be compiled.
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
        Ok(PackRows { rows: device_rows, order: DeviceOrder::default(), uploaded: 0 })
    }

    fn submit_piece(&mut self, on_device: &mut PackRows, batches: &Batches<'_>) -> Result<usize> {
        let (context, batch) = (&self.compute.context, self.batch());
        let most_steps = self.groups.iter().map(Group::most_steps).min().unwrap_or(1);
        let positions = batches.positions.clone();
        let whole = positions.len().min(self.submissions.steps().min(most_steps) * batch);
        let (first, taken) = match batches.order {
            Order::Epoch { seed, epoch } if on_device.rows.capacity <= ORDERED_ROWS => {
                let (count, order) = (batches.rows.len(), (seed, epoch));
                on_device.order.make(&self.compute, &on_device.rows, count, order, positions.clone())?;
                (positions.start, whole)
            }
            _ => {
                on_device.order.restart();
                let taken = whole.min(on_device.rows.positions);
                let order = &self.host_order.rows(batches)[..taken];
                check_order(&batches.rows, order.iter().map(|row| *row as usize))?;
                on_device.rows.set_order(context, 0, order);
                (0, taken)
            }
        };
        self.train(&step_records(first, taken, batch).collect::<Vec<_>>())?;
        Ok(taken)
    }

    /// Submits these steps of all members that are live.
    fn train(&mut self, steps: &[StepRecord]) -> Result<()> {
        let context = &self.compute.context;
        let live = |group: &Group| -> Vec<usize> {
            let numbers = 0..group.members().len();
            numbers.filter(|number| self.members[group.members()[*number]].is_live).collect()
        };
        let groups: Vec<(&Group, Vec<usize>)> =
            self.groups.iter().map(|group| (group, live(group))).collect();
        let groups: Vec<_> = groups.into_iter().filter(|(_, live)| !live.is_empty()).collect();
        let rule = |group: &Group, number: usize, step: u64| {
            let member = &self.members[group.members()[number]];
            member.options.rule.record(member.steps + step)
        };
        let mut placed = Vec::new();
        for (group, live) in &groups {
            let rule = |number, step| rule(group, number, step);
            match group {
                Group::Resident(group) => group.place(context, steps.len(), live, rule),
                Group::Fused(group) => {
                    placed.push((group, group.place(context, steps, live, rule), live.len()))
                }
            }
        }
        self.records.write(context, bytemuck::cast_slice(steps), MOST_RECORDS);
        let mut encoder = context.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            // Those of different groups may run at the same time.
            for records in self.records.each(bytemuck::cast_slice(steps), MOST_RECORDS) {
                for (group, live) in &groups {
                    if let Group::Resident(group) = group
                        && let Some(dispatch) = group.dispatch()
                    {
                        let live = live.len() as u32;
                        dispatch.record_first(&mut pass, Some(records), [live, u32::MAX, u32::MAX]);
                    }
                }
            }
            record_fused(&mut pass, &placed, steps.len());
        }
        let rows = steps.iter().map(|step| step.rows as usize).collect();
        let metrics = groups.iter().map(|(group, live)| (group.metrics(), group.slots(live))).collect();
        self.submissions.send(context, encoder, rows, metrics, None)?;
        self.submissions.flush(context)?;
        for member in self.members.iter_mut().filter(|member| member.is_live) {
            member.steps += steps.len() as u64;
        }
        Ok(())
    }
}

/// Records `steps` steps of these groups, for the networks that still train, dispatch by dispatch in turn: those of
/// different groups may run at the same time.
fn record_fused(
    pass: &mut wgpu::ComputePass<'_>,
    groups: &[(&FusedGroup, PlacedSteps, usize)],
    steps: usize,
) {
    let bindings: Vec<Vec<StepBinding<'_>>> =
        groups.iter().map(|(group, placed, _)| group.steps(placed)).collect();
    let most = groups.iter().map(|(group, ..)| group.dispatches()).max().unwrap_or(0);
    for step in 0..steps {
        // The first that gathers the batch does it for all.
        let mut gathering = groups.iter().zip(&bindings);
        gathering.any(|((group, ..), bindings)| group.record_gather(pass, bindings[step]));
        for at in 0..most {
            for ((group, _, live), bindings) in groups.iter().zip(&bindings) {
                group.record(pass, at, bindings[step], *live);
            }
        }
    }
}

/// The groups of a pack.
fn divide(context: &Context, members: &[PackMember<'_>], limits: &DeviceLimits<'_>) -> Result<Vec<Group>> {
    let (mut resident, mut fused) = (Vec::new(), Vec::new());
    for (number, member) in members.iter().enumerate() {
        let step = training_step(member.network, member.options);
        match member.options.schedule.unwrap_or_else(|| packed_schedule(&step, limits)) {
            ScheduleKind::Fused => fused.push((number, member.network, member.options)),
            ScheduleKind::Resident => {
                if let Some(reason) = refusal(ScheduleKind::Resident, &step, limits) {
                    return Err(Error::Config(reason));
                }
                resident.push((number, step.resident_shape().ok_or_else(refused)?));
            }
            kind => return Err(Error::Config(format!("no pack is trained by the schedule {kind}"))),
        }
    }
    let resident = ResidentGroup::divide(context, resident)?.into_iter().map(Group::Resident);
    let fused = FusedGroup::divide(context, limits.tuning, &fused)?.into_iter().map(Group::Fused);
    Ok(resident.chain(fused).collect())
}

fn refused() -> Error {
    Error::Config("no pack can train this network".to_owned())
}

/// Demands that all members are trained on the same batches.
fn check_shared(members: &[PackMember<'_>]) -> Result<()> {
    let shared = |member: &PackMember<'_>| {
        let (network, options) = (member.network, member.options);
        let targets = (network.loss().of_classes(), network.outputs(), options.weighted);
        (network.columns(), targets, options.batch)
    };
    let Some(first) = members.first() else {
        return Err(Error::Config("a pack needs at least one network".to_owned()));
    };
    match members.iter().position(|member| shared(member) != shared(first)) {
        Some(number) => Err(Error::Config(format!(
            "networks of a pack have the same inputs, outputs, kind of targets and batch size, but number {number} differs \
             from the first"
        ))),
        None => Ok(()),
    }
}
