//! One of several networks that are trained together, as an [`Engine`], so that a run can use it like any
//! other.

use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::held_out::HeldOut;
use crate::data::Rows;
use crate::engine::{
    BatchMetrics, Batches, Description, Engine, EngineState, Evaluation, Inference, Observer, Order, Waiting,
};
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::threads::hand_over;
use crate::timing::Ceilings;
use crate::train::SharedData;

/// Networks that are trained together, all on the same batches: the operations of [`Engine`] for the network
/// with a given number.
pub(super) trait BatchTrainer: Send {
    /// Trains all networks that have not stopped.
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize>;

    /// Returns the metrics of a network since the last call.
    fn poll(&mut self, member: usize, wait: bool) -> Result<Vec<BatchMetrics>>;

    /// Stops training this network.
    fn stop(&mut self, member: usize);

    /// See [`Engine::parameters`].
    fn parameters(&mut self, member: usize) -> Result<Parameters>;

    /// See [`Engine::snapshot`].
    fn snapshot(&mut self, member: usize) -> Result<(Parameters, EngineState)>;

    /// See [`Engine::restore`].
    fn restore(&mut self, member: usize, parameters: &Parameters, state: &EngineState) -> Result<()>;

    /// See [`Inference::evaluate`]. Returns results, with member numbers, of this member and, if `several`,
    /// of others too.
    fn evaluate(&mut self, member: usize, several: bool, rows: &Rows<'_>)
    -> Result<Vec<(usize, Evaluation)>>;

    /// See [`Inference::outputs`]. Returns results of the same members as [`BatchTrainer::evaluate`].
    fn outputs(&mut self, member: usize, several: bool, rows: &Rows<'_>) -> Result<Vec<(usize, Vec<f32>)>>;

    /// See [`Inference::description`].
    fn description(&self, member: usize) -> Description;

    /// See [`Engine::ceilings`].
    fn ceilings(&mut self) -> Result<Ceilings>;
}

/// Engine of one of the networks that are trained together.
pub(super) struct MemberEngine {
    shared: Arc<Mutex<SharedTrainer>>,
    member: usize,
}

/// Networks that are called one after the other. The first call for new rows trains all of them; the results
/// of the others are stored for their calls.
struct SharedTrainer {
    networks: Box<dyn BatchTrainer>,
    /// Seed, epoch and end of the positions that were submitted last.
    trained_until: Option<(u64, usize, usize)>,
    /// Current results for held-out rows.
    evaluations: HeldOut<Evaluation>,
    outputs: HeldOut<Vec<f32>>,
}

impl MemberEngine {
    /// Creates an engine for each of `count` networks that are trained on these data.
    pub fn for_members(
        networks: Box<dyn BatchTrainer>,
        count: usize,
        data: &Arc<SharedData>,
    ) -> impl Iterator<Item = Self> {
        let (evaluations, outputs) = (HeldOut::new(data), HeldOut::new(data));
        let shared = SharedTrainer { networks, trained_until: None, evaluations, outputs };
        let shared = Arc::new(Mutex::new(shared));
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

impl Inference for MemberEngine {
    fn evaluate<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Evaluation> {
        let SharedTrainer { networks, evaluations, .. } = &mut *self.shared();
        let evaluation =
            evaluations.take(self.member, rows, |several| networks.evaluate(self.member, several, rows));
        Box::pin(ready(evaluation))
    }

    fn outputs<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Vec<f32>> {
        let SharedTrainer { networks, outputs, .. } = &mut *self.shared();
        let outputs = outputs.take(self.member, rows, |several| networks.outputs(self.member, several, rows));
        Box::pin(ready(outputs))
    }

    fn description(&self) -> Description {
        self.shared().networks.description(self.member)
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
            // Another member's call has already trained these rows.
            Some((of, at, end)) if (of, at) == (seed, epoch) && end > start => {
                Ok(end.min(batches.positions.end) - start)
            }
            _ => {
                shared.evaluations.forget();
                shared.outputs.forget();
                let taken = shared.networks.submit(batches)?;
                shared.trained_until = Some((seed, epoch, start + taken));
                Ok(taken)
            }
        }
    }

    fn poll(&mut self, wait: bool) -> Waiting<'_, Vec<BatchMetrics>> {
        Box::pin(ready(self.shared().networks.poll(self.member, wait)))
    }

    fn parameters(&mut self) -> Waiting<'_, Parameters> {
        Box::pin(ready(self.shared().networks.parameters(self.member)))
    }

    fn snapshot(&mut self) -> Waiting<'_, (Parameters, EngineState)> {
        Box::pin(ready(self.shared().networks.snapshot(self.member)))
    }

    fn restore(&mut self, parameters: &Parameters, state: &EngineState) -> Result<()> {
        let mut shared = self.shared();
        shared.evaluations.forget_member(self.member);
        shared.outputs.forget_member(self.member);
        shared.networks.restore(self.member, parameters, state)
    }

    fn gradients<'a>(&'a mut self, _: &'a Rows<'a>) -> Waiting<'a, Parameters> {
        let refused = "networks that are trained together keep no gradients";
        Box::pin(ready(Err(Error::Config(refused.to_owned()))))
    }

    // Times of networks that are trained together do not apply to a single one.
    fn observe(&mut self, _: Observer) {}

    fn ceilings(&mut self) -> Result<Ceilings> {
        self.shared().networks.ceilings()
    }
}
