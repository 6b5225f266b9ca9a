//! Trains members of a sweep together on a GPU: members that use the same rows in the same batches form a
//! pack.

use std::collections::VecDeque;
use std::sync::Arc;

use super::member::Member;
use super::member_engine::BatchTrainer;
use super::queue::Job;
use super::worker::{Outbox, WorkerContext, train_together};
use crate::data::Rows;
use crate::engine::{
    BatchMetrics, Batches, Description, Device, EngineKind, EngineOptions, EngineState, Evaluation, GpuPack,
    MemberMetrics, PackMember,
};
use crate::error::Result;
use crate::gpu::{Adapter, Context};
use crate::kernels::{Compute, measure_ceilings};
use crate::model::{Network, Parameters};
use crate::schedule::SelectedPlan;
use crate::step::ScheduleKind;
use crate::timing::Ceilings;
use crate::train::SharedData;

/// Most bytes of a pack on a device, without its rows; more members form several packs in sequence.
const MOST_BYTES: u64 = 1 << 30;

/// Most members that are evaluated together: their results are kept until requested.
const MOST_TOGETHER: usize = 32;

/// Returns whether a member can be trained in a pack on a GPU, with the schedule `fused`.
pub fn can_be_packed(member: &Member, adapter: &Adapter) -> bool {
    let device = Device::Gpu(Box::new(adapter.clone()));
    let largest = adapter.largest_storage();
    let fits = |data: &Arc<SharedData>| {
        let (network, options) = member.config.plan(data.training(), &device).ok()?;
        let rows = GpuPack::rows_bytes(&data.training().view(), &network)?;
        Some(GpuPack::member_bytes(&network, &options) <= largest / 4 && rows <= largest)
    };
    matches!(member.config.schedule, None | Some(ScheduleKind::Fused))
        && member.data.iter().all(|data| fits(data) == Some(true))
}

/// Trains until there are no more jobs: first packs, then single members.
pub(super) fn work(common: &WorkerContext, outbox: &mut Outbox) {
    if let Device::Gpu(adapter) = &common.device {
        let (mut packed, mut alone) = (Vec::new(), Vec::new());
        for job in common.queue.take_all() {
            // Planning gave every member of a pack its schedule.
            let is_planned = job.member.config.schedule == Some(ScheduleKind::Fused);
            let is_packed = is_planned && can_be_packed(&job.member, adapter);
            if is_packed { packed.push(job) } else { alone.push(job) }
        }
        let mut opened = None;
        while !packed.is_empty() {
            let mut waves = vec![take_pack(common, &mut packed)];
            while let Some(jobs) = waves.pop() {
                match train(common, (adapter, &mut opened), jobs, outbox) {
                    Ok(true) => {}
                    Ok(false) => return,
                    // The device has no room for all of them, but possibly for half.
                    Err(mut jobs) if jobs.len() > 1 => {
                        waves.push(jobs.split_off(jobs.len() / 2));
                        waves.push(jobs);
                    }
                    // Members that cannot be trained in a pack are trained separately, or report the reason.
                    Err(jobs) => alone.extend(jobs),
                }
            }
        }
        common.queue.push(alone.into_iter().map(|job| vec![job]));
    }
    super::worker::work(common, outbox);
}

/// Takes the members that can form a pack with the first, up to the available room.
fn take_pack(common: &WorkerContext, jobs: &mut Vec<Job>) -> Vec<Job> {
    let bytes = |job: &Job| {
        planned(common, job).ok().map(|(network, options)| GpuPack::member_bytes(&network, &options))
    };
    let Some(first) = jobs.first().map(Job::batches) else { return Vec::new() };
    let mut room = Room { left: MOST_BYTES, is_empty: true };
    let is_taken = |job: &mut Job| job.batches() == first && room.take(bytes(job).unwrap_or(0));
    jobs.extract_if(.., is_taken).collect()
}

/// Remaining room of a pack.
struct Room {
    left: u64,
    is_empty: bool,
}

impl Room {
    /// Returns whether there is room for a member of `bytes` bytes, and takes it; the first always fits.
    fn take(&mut self, bytes: u64) -> bool {
        let fits = self.is_empty || bytes <= self.left;
        if fits {
            *self = Self { left: self.left.saturating_sub(bytes), is_empty: false };
        }
        fits
    }
}

fn planned(common: &WorkerContext, job: &Job) -> Result<(Network, EngineOptions)> {
    job.member.config.plan(job.member.data[job.fold].training(), &common.device)
}

/// Trains members as a pack, on the device that was opened for the previous pack: opening it and compiling
/// kernels take as long as a small pack. Returns the jobs if they cannot form a pack; otherwise returns false
/// if the receiver is gone.
fn train(
    common: &WorkerContext,
    (adapter, opened): (&Adapter, &mut Option<Compute>),
    jobs: Vec<Job>,
    outbox: &mut Outbox,
) -> std::result::Result<bool, Vec<Job>> {
    let with_parameters = |job: &Job| {
        let (network, options) = planned(common, job)?;
        Ok((job.member.config.initial_parameters(&network), network, options))
    };
    let Ok(planned) = jobs.iter().map(with_parameters).collect::<Result<Vec<_>>>() else {
        return Err(jobs);
    };
    let members = planned.iter();
    let members: Vec<PackMember<'_>> =
        members.map(|(parameters, network, options)| PackMember { network, parameters, options }).collect();
    // A device that has reported an error stays unusable.
    let compute = opened.take().filter(|compute| compute.context.check().is_ok());
    let Ok(compute) = compute.map_or_else(|| Compute::open(adapter), Ok) else { return Err(jobs) };
    *opened = Some(compute.clone());
    let Ok(pack) = PackOnGpu::new(compute, &members, jobs[0].data()) else { return Err(jobs) };
    Ok(train_together(common, Box::new(pack), jobs, outbox))
}

/// A pack, and its metrics.
struct PackOnGpu {
    pack: GpuPack,
    compute: Compute,
    /// Unpolled metrics, by member.
    ended: Vec<VecDeque<BatchMetrics>>,
}

impl PackOnGpu {
    /// Puts these networks and their training rows on a device, which checks whether there is room for all of
    /// it.
    ///
    /// # Errors
    /// Errors of the device.
    fn new(compute: Compute, members: &[PackMember<'_>], data: &Arc<SharedData>) -> Result<Self> {
        let mut pack = GpuPack::with_tuning(compute.clone(), compute.tuning, members)?;
        pack.upload(&data.training().view())?;
        let ended = members.iter().map(|_| VecDeque::new()).collect();
        Ok(Self { pack, compute, ended })
    }
}

impl BatchTrainer for PackOnGpu {
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize> {
        self.pack.submit(batches)
    }

    fn poll(&mut self, member: usize, wait: bool) -> Result<Vec<BatchMetrics>> {
        if self.ended[member].is_empty() {
            for MemberMetrics { member, metrics } in self.pack.poll(wait)? {
                self.ended[member].push_back(metrics);
            }
        }
        Ok(self.ended[member].drain(..).collect())
    }

    fn stop(&mut self, member: usize) {
        self.pack.stop(member);
    }

    fn parameters(&mut self, member: usize) -> Result<Parameters> {
        self.pack.parameters(member)
    }

    fn snapshot(&mut self, member: usize) -> Result<(Parameters, EngineState)> {
        self.pack.snapshot(member)
    }

    fn restore(&mut self, member: usize, parameters: &Parameters, state: &EngineState) -> Result<()> {
        self.pack.restore(member, parameters, state)
    }

    fn evaluate(
        &mut self,
        member: usize,
        several: bool,
        rows: &Rows<'_>,
    ) -> Result<Vec<(usize, Evaluation)>> {
        let members = together(&self.pack, member, several);
        Ok(members.iter().copied().zip(self.pack.evaluate(&members, rows)?).collect())
    }

    fn outputs(&mut self, member: usize, several: bool, rows: &Rows<'_>) -> Result<Vec<(usize, Vec<f32>)>> {
        let members = together(&self.pack, member, several);
        Ok(members.iter().copied().zip(self.pack.outputs(&members, rows)?).collect())
    }

    fn description(&self, _: usize) -> Description {
        let Context { name, backend, .. } = &*self.compute.context;
        Description {
            engine: EngineKind::Gpu,
            device: format!("{name} ({backend})"),
            schedule: Some(SelectedPlan { kind: ScheduleKind::Fused, reason: None }),
            dispatches: Vec::new(),
        }
    }

    fn ceilings(&mut self) -> Result<Ceilings> {
        measure_ceilings(&self.compute)
    }
}

/// Returns a member and, if `several`, the members to evaluate with it, which will be requested next.
fn together(pack: &GpuPack, member: usize, several: bool) -> Vec<usize> {
    let others = pack.live().filter(|other| *other > member);
    std::iter::once(member).chain(others).take(if several { MOST_TOGETHER } else { 1 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_larger_than_memory_goes_in_waves() {
        let mut members = vec![40, 70, 10, 300, 50, 20];
        let mut waves = Vec::new();
        while !members.is_empty() {
            let mut room = Room { left: 100, is_empty: true };
            waves.push(members.extract_if(.., |bytes| room.take(*bytes)).collect::<Vec<u64>>());
        }
        assert_eq!(waves, [vec![40, 10, 50], vec![70, 20], vec![300]]);
    }
}
