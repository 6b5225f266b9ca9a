//! One of several networks that are trained together, as an [`Engine`], so that a run drives it like any other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::data::Rows;
use crate::engine::{
    BatchMetrics, Batches, Description, Engine, EngineState, Evaluation, Instrumented, Observer, Order,
};
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::threads::hand_over;
use crate::timing::Ceilings;

/// Networks that are trained together, all on the same batches: what [`Engine`] asks of one, asked of one of them by its number.
pub(super) trait BatchTrainer: Send {
    /// Trains all that have not stopped.
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize>;

    /// The metrics of a network since the last call.
    fn poll(&mut self, member: usize, wait: bool) -> Result<Vec<BatchMetrics>>;

    /// Trains this network no more.
    fn stop(&mut self, member: usize);

    /// See [`Engine::parameters`].
    fn parameters(&mut self, member: usize) -> Result<Parameters>;

    /// See [`Engine::snapshot`].
    fn snapshot(&mut self, member: usize) -> Result<(Parameters, EngineState)>;

    /// See [`Engine::restore`].
    fn restore(&mut self, member: usize, parameters: &Parameters, state: &EngineState) -> Result<()>;

    /// See [`Engine::evaluate`].
    fn evaluate(&mut self, member: usize, rows: &Rows<'_>) -> Result<Evaluation>;

    /// See [`Engine::outputs`].
    fn outputs(&mut self, member: usize, rows: &Rows<'_>) -> Result<Vec<f32>>;

    /// See [`Instrumented::description`].
    fn description(&self, member: usize) -> Description;

    /// See [`Instrumented::ceilings`].
    fn ceilings(&mut self) -> Result<Ceilings>;
}

/// The engine of one of the networks that are trained together.
pub(super) struct MemberEngine {
    shared: Arc<Mutex<SharedTrainer>>,
    member: usize,
}

/// Networks that are called one after the other. The first call at new rows trains all of them; the results of the
/// others wait for their calls.
struct SharedTrainer {
    networks: Box<dyn BatchTrainer>,
    /// Seed, epoch and end of the positions that were submitted last.
    trained_until: Option<(u64, usize, usize)>,
}

impl MemberEngine {
    /// An engine for each of `count` networks.
    pub fn for_members(networks: Box<dyn BatchTrainer>, count: usize) -> impl Iterator<Item = Self> {
        let shared = Arc::new(Mutex::new(SharedTrainer { networks, trained_until: None }));
        (0..count).map(move |member| Self { shared: Arc::clone(&shared), member })
    }

    fn shared(&self) -> MutexGuard<'_, SharedTrainer> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Dropping it stops the member.
impl Drop for MemberEngine {
    fn drop(&mut self) {
        self.shared().networks.stop(self.member);
    }
}

impl Engine for MemberEngine {
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize> {
        let Order::Epoch { seed, epoch } = batches.order else {
            return Err(Error::Config("networks are trained together in the order of an epoch".to_owned()));
        };
        hand_over();
        let start = batches.positions.start;
        let mut shared = self.shared();
        match shared.trained_until {
            // Others have had these rows trained.
            Some((of, at, end)) if (of, at) == (seed, epoch) && end > start => {
                Ok(end.min(batches.positions.end) - start)
            }
            _ => {
                let taken = shared.networks.submit(batches)?;
                shared.trained_until = Some((seed, epoch, start + taken));
                Ok(taken)
            }
        }
    }

    fn poll(&mut self, wait: bool) -> Result<Vec<BatchMetrics>> {
        self.shared().networks.poll(self.member, wait)
    }

    fn parameters(&mut self) -> Result<Parameters> {
        self.shared().networks.parameters(self.member)
    }

    fn snapshot(&mut self) -> Result<(Parameters, EngineState)> {
        self.shared().networks.snapshot(self.member)
    }

    fn restore(&mut self, parameters: &Parameters, state: &EngineState) -> Result<()> {
        self.shared().networks.restore(self.member, parameters, state)
    }

    fn evaluate(&mut self, rows: &Rows<'_>) -> Result<Evaluation> {
        self.shared().networks.evaluate(self.member, rows)
    }

    fn outputs(&mut self, rows: &Rows<'_>) -> Result<Vec<f32>> {
        self.shared().networks.outputs(self.member, rows)
    }

    fn gradients(&mut self, _: &Rows<'_>) -> Result<Parameters> {
        Err(Error::Config("what is trained together keeps no gradients".to_owned()))
    }
}

impl Instrumented for MemberEngine {
    fn description(&self) -> Description {
        self.shared().networks.description(self.member)
    }

    // What takes how long among others is nothing of one network.
    fn observe(&mut self, _: Observer) {}

    fn ceilings(&mut self) -> Result<Ceilings> {
        self.shared().networks.ceilings()
    }
}
