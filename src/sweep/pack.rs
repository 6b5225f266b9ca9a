//! Trains members of a sweep together on a GPU: those that want the same rows in the same batches are a pack.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::seat::{Pack, Seat};
use super::worker::{Common, Going, Job, Message, Outcome};
use crate::engine::{Device, EngineOptions, GpuPack, PackMember};
use crate::error::Result;
use crate::gpu::Adapter;
use crate::model::Network;

/// Bytes of a pack on a device, at most, besides its rows; more members are packs one after the other.
const MOST_BYTES: u64 = 1 << 30;

/// Trains until there is no more to train: packs first, then what is trained by itself.
pub(super) fn work(common: &Common, sender: &Sender<Message>) {
    if let Device::Gpu(adapter) = &common.device {
        let (mut packed, mut alone) = (Vec::new(), Vec::new());
        while let Some(job) = common.job() {
            let asked = job.member.config.schedule;
            // One without a schedule may take measured tile shapes, which a pack has not.
            let is_packed = asked.is_some() && job.member.pack_schedule(adapter) == asked;
            if is_packed { packed.push(job) } else { alone.push(job) }
        }
        while !packed.is_empty() {
            let mut waves = vec![take_pack(common, &mut packed)];
            while let Some(jobs) = waves.pop() {
                match train(common, adapter, jobs, sender) {
                    Ok(true) => {}
                    Ok(false) => return,
                    // The device has no room for so many: it may have for half of them.
                    Err(mut jobs) if jobs.len() > 1 => {
                        waves.push(jobs.split_off(jobs.len() / 2));
                        waves.push(jobs);
                    }
                    // What cannot be trained in a pack is trained by itself, or says why it cannot.
                    Err(jobs) => alone.extend(jobs),
                }
            }
        }
        common.give(alone);
    }
    super::worker::work(common, sender);
}

/// Takes members that can be a pack with the first, as many as there is room for.
fn take_pack(common: &Common, jobs: &mut Vec<Job>) -> Vec<Job> {
    let key = |job: &Job| {
        let data = Arc::as_ptr(&job.member.data[job.fold]);
        (data, job.member.config.batch_size, job.member.config.seed, job.fold, epochs(job))
    };
    let bytes = |job: &Job| {
        let (network, options) = planned(common, job).ok()?;
        GpuPack::member_bytes(&network, &options).ok()
    };
    let Some(first) = jobs.first().map(key) else { return Vec::new() };
    let mut room = Room { left: MOST_BYTES, is_empty: true };
    let is_taken = |job: &mut Job| key(job) == first && room.take(bytes(job).unwrap_or(0));
    jobs.extract_if(.., is_taken).collect()
}

/// What a pack has room for.
struct Room {
    left: u64,
    is_empty: bool,
}

impl Room {
    /// Whether a member of so many bytes is taken: the first in any case.
    fn take(&mut self, bytes: u64) -> bool {
        let fits = self.is_empty || bytes <= self.left;
        if fits {
            *self = Self { left: self.left.saturating_sub(bytes), is_empty: false };
        }
        fits
    }
}

/// Epochs that a member has trained.
fn epochs(job: &Job) -> usize {
    job.run.as_ref().map_or(0, |(run, _)| run.epochs().len())
}

fn planned(common: &Common, job: &Job) -> Result<(Network, EngineOptions)> {
    job.member.config.plan(job.member.data[job.fold].training(), &common.device)
}

/// Trains members epoch by epoch, none of them further than the others. Gives the jobs back where there can be no such pack;
/// else whether anybody listens.
fn train(
    common: &Common,
    adapter: &Adapter,
    jobs: Vec<Job>,
    sender: &Sender<Message>,
) -> std::result::Result<bool, Vec<Job>> {
    let with_parameters = |job: &Job| {
        let (network, options) = planned(common, job)?;
        Ok((job.member.config.first_parameters(&network), network, options))
    };
    let Ok(planned) = jobs.iter().map(with_parameters).collect::<Result<Vec<_>>>() else {
        return Err(jobs);
    };
    let members = planned.iter();
    let members: Vec<PackMember<'_>> =
        members.map(|(parameters, network, options)| PackMember { network, parameters, options }).collect();
    let Ok(pack) = Pack::new(adapter, &members) else { return Err(jobs) };
    let seated = jobs.into_iter().enumerate().filter_map(|(place, job)| {
        let seat = Seat::new(&pack, place);
        let mut going = Going::begin(common, job)?;
        going.run().seat(Box::new(move || Box::new(seat)));
        Some(going)
    });
    let mut going: Vec<Going> = seated.collect();
    while !going.is_empty() {
        let mut more = Vec::with_capacity(going.len());
        for mut member in going {
            match member.epoch(common, sender) {
                Outcome::More => more.push(member),
                outcome => {
                    if !member.tell(outcome, sender) {
                        return Ok(false);
                    }
                }
            }
        }
        going = more;
    }
    Ok(true)
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
