//! A network of a pack as an engine of its own, so that a run drives it like any other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::data::Rows;
use crate::engine::{
    BatchMetrics, Batches, Description, Engine, EngineKind, EngineState, Evaluation, GpuPack, Instrumented,
    MemberMetrics, Observer, Order, PackMember,
};
use crate::error::{Error, Result};
use crate::gpu::{Adapter, Context};
use crate::kernels::{Ceilings, Compute};
use crate::model::Parameters;
use crate::schedule::{SelectedSchedule, TileSource, Tiles};

/// A pack whose networks are asked one after the other. The one that is first at new rows has all of them trained; what they
/// gave to the others waits for these.
pub(super) struct Pack {
    pack: GpuPack,
    compute: Compute,
    /// Seed, epoch and end of the positions that were submitted last.
    front: Option<(u64, usize, usize)>,
    /// Metrics that nobody has asked for, by member.
    ended: Vec<VecDeque<BatchMetrics>>,
}

/// A place in a pack.
pub(super) struct Seat {
    pack: Arc<Mutex<Pack>>,
    member: usize,
}

impl Pack {
    /// These networks together on an adapter.
    ///
    /// # Errors
    /// Those of the device.
    pub fn new(adapter: &Adapter, members: &[PackMember<'_>]) -> Result<Arc<Mutex<Self>>> {
        let compute = Compute::open(adapter)?;
        let pack = GpuPack::with_tuning(compute.clone(), compute.tuning, members)?;
        let ended = members.iter().map(|_| VecDeque::new()).collect();
        Ok(Arc::new(Mutex::new(Self { pack, compute, front: None, ended })))
    }

    fn poll(&mut self, wait: bool) -> Result<()> {
        for MemberMetrics { member, metrics } in self.pack.poll(wait)? {
            self.ended[member].push_back(metrics);
        }
        Ok(())
    }
}

impl Seat {
    /// The place of a member.
    pub fn new(pack: &Arc<Mutex<Pack>>, member: usize) -> Self {
        Self { pack: Arc::clone(pack), member }
    }

    fn pack(&self) -> MutexGuard<'_, Pack> {
        self.pack.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Dropping it stops the member.
impl Drop for Seat {
    fn drop(&mut self) {
        self.pack().pack.stop(self.member);
    }
}

impl Engine for Seat {
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize> {
        let Order::Epoch { seed, epoch } = batches.order else {
            return Err(Error::Config("a pack is trained in the order of an epoch".to_owned()));
        };
        let start = batches.positions.start;
        let mut pack = self.pack();
        match pack.front {
            // Others have had these rows trained.
            Some((of, at, end)) if (of, at) == (seed, epoch) && end > start => {
                Ok(end.min(batches.positions.end) - start)
            }
            _ => {
                let taken = pack.pack.submit(batches)?;
                pack.front = Some((seed, epoch, start + taken));
                Ok(taken)
            }
        }
    }

    fn poll(&mut self, wait: bool) -> Result<Vec<BatchMetrics>> {
        let (mut pack, member) = (self.pack(), self.member);
        if pack.ended[member].is_empty() {
            pack.poll(wait)?;
        }
        Ok(pack.ended[member].drain(..).collect())
    }

    fn parameters(&mut self) -> Result<Parameters> {
        self.pack().pack.parameters(self.member)
    }

    fn state(&mut self) -> Result<EngineState> {
        self.pack().pack.state(self.member)
    }

    fn restore(&mut self, parameters: &Parameters, state: &EngineState) -> Result<()> {
        self.pack().pack.restore(self.member, parameters, state)
    }

    fn evaluate(&mut self, rows: &Rows<'_>) -> Result<Evaluation> {
        self.pack().pack.evaluate(self.member, rows)
    }

    fn outputs(&mut self, rows: &Rows<'_>) -> Result<Vec<f32>> {
        self.pack().pack.outputs(self.member, rows)
    }

    fn gradients(&mut self, _: &Rows<'_>) -> Result<Parameters> {
        Err(Error::Config("a pack keeps no gradients".to_owned()))
    }
}

impl Instrumented for Seat {
    fn description(&self) -> Description {
        let pack = self.pack();
        let Context { name, backend, .. } = &*pack.compute.context;
        Description {
            engine: EngineKind::Gpu,
            device: format!("{name} ({backend})"),
            schedule: Some(SelectedSchedule { kind: pack.pack.schedule(self.member), reason: None }),
            tiles: Some(Tiles { tuning: pack.compute.tuning, source: TileSource::BuiltIn }),
            dispatches: Vec::new(),
        }
    }

    // What takes how long in a pack is nothing of one network.
    fn observe(&mut self, _: Observer) {}

    fn ceilings(&mut self) -> Result<Ceilings> {
        Ceilings::measure(&self.pack().compute)
    }
}
