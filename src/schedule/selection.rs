//! Which schedule a run takes.

use crate::gpu::{Adapter, Context, DeviceKind};
use crate::kernels::{FeatureFormat, MOST_LAYERS, Machine, Samples, Tuning};
use crate::model::ParameterLayout;
use crate::schedule::{DispatchPlan, ScheduleKind, TrainingStep};

/// What the selection depends on besides the step.
#[derive(Debug, Clone, Copy)]
pub struct DeviceLimits<'a> {
    /// Tile shapes.
    pub tuning: &'a Tuning,
    /// What the model takes the device for.
    pub machine: Machine,
    /// Most bytes of a buffer.
    pub largest: u64,
}

impl<'a> DeviceLimits<'a> {
    /// The limits of a device.
    pub fn from_context(context: &Context, tuning: &'a Tuning) -> Self {
        Self { tuning, machine: Machine::for_kind(context.kind), largest: context.largest_storage() }
    }

    /// What can be known of an adapter before it is opened.
    pub fn from_adapter(adapter: &Adapter) -> Self {
        let tuning = match adapter.kind {
            DeviceKind::Software => &Tuning::SOFTWARE_SUBGROUPS,
            _ => &Tuning::GPU,
        };
        Self { tuning, machine: Machine::for_kind(adapter.kind), largest: adapter.largest_storage() }
    }
}

/// A schedule, and why it was chosen, or why the requested one was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedPlan {
    /// The schedule.
    pub kind: ScheduleKind,
    /// Why not another; `None` for a requested one.
    pub reason: Option<String>,
}

impl SelectedPlan {
    /// The requested schedule, if it is available; else the one that should be fastest by the latency model.
    pub fn choose(asked: Option<ScheduleKind>, step: &TrainingStep<'_>, limits: &DeviceLimits<'_>) -> Self {
        let hindrance = asked.and_then(|kind| refusal(kind, step, limits));
        if let (Some(kind), None) = (asked, &hindrance) {
            return Self { kind, reason: None };
        }
        let estimates = estimates(step, limits);
        // Fused can always be had.
        let fastest = estimates.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let kind = fastest.map_or(ScheduleKind::Fused, |(kind, _)| kind);
        let told: Vec<String> = estimates.iter().map(|(kind, time)| format!("{kind} {time:.0}")).collect();
        let modelled = format!("modelled for {}, us a step: {}", limits.machine, told.join(", "));
        let reason = match hindrance {
            Some(hindrance) => format!("{hindrance}; {modelled}"),
            None => modelled,
        };
        Self { kind, reason: Some(reason) }
    }
}

/// Microseconds that a step should take under each schedule that can be had, but for the one that is for reading, by the
/// model of latencies.
pub(crate) fn estimates(step: &TrainingStep<'_>, limits: &DeviceLimits<'_>) -> Vec<(ScheduleKind, f64)> {
    let able = |kind: &ScheduleKind| *kind != ScheduleKind::Plain && refusal(*kind, step, limits).is_none();
    let samples = Samples { stored: FeatureFormat::Bytes, count: step.rows };
    let estimate = |kind: ScheduleKind| {
        let dispatches = DispatchPlan::train(kind, step, samples, limits.tuning).dispatches;
        let times = dispatches.iter().map(|it| limits.machine.microseconds(&*it.kernel, limits.tuning));
        (kind, times.sum())
    };
    ScheduleKind::ALL.into_iter().filter(able).map(estimate).collect()
}

/// The layout of the parameters under this schedule, with what its steps and the optimizer keep behind them.
pub fn parameter_layout(kind: ScheduleKind, step: &TrainingStep<'_>, tuning: &Tuning) -> ParameterLayout {
    let shape = match kind {
        ScheduleKind::TwoDispatch => step.shape(tuning),
        ScheduleKind::Resident => step.resident_shape(),
        ScheduleKind::Plain | ScheduleKind::Fused => None,
    };
    shape.map_or_else(
        || ParameterLayout::new(step.network).with_states(step.rule.optimizer.kind.states()),
        |shape| shape.layout().clone(),
    )
}

/// Why a schedule cannot be had, if it cannot.
pub(crate) fn refusal(
    kind: ScheduleKind,
    step: &TrainingStep<'_>,
    limits: &DeviceLimits<'_>,
) -> Option<String> {
    let shape = match kind {
        ScheduleKind::Plain | ScheduleKind::Fused => return None,
        ScheduleKind::TwoDispatch => step.shape(limits.tuning),
        ScheduleKind::Resident => step.resident_shape(),
    };
    if step.rule.clip_norm.is_some() {
        return Some(format!("{kind} cannot clip gradients by their norm"));
    }
    if step.network.input_layer().is_some() {
        return Some(format!("{kind} cannot train embeddings or factors of inputs"));
    }
    let Some(shape) = shape else {
        let layers = step.network.layers().len();
        return Some(format!("{kind} takes networks of up to {MOST_LAYERS} layers, this has {layers}"));
    };
    let parameters = parameter_layout(kind, step, limits.tuning).bytes();
    let largest = parameters.max(32 * shape.activations() as u64);
    (largest > limits.largest).then(|| {
        format!("{kind} needs a buffer of {largest} bytes, the device takes {} at most", limits.largest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Network;
    use crate::step::UpdateRule;

    fn chosen(asked: Option<ScheduleKind>, sizes: &[usize], rows: usize, machine: Machine) -> SelectedPlan {
        let network = Network::classifier(sizes).unwrap();
        let tuning = if machine == Machine::SOFTWARE { &Tuning::SOFTWARE_SUBGROUPS } else { &Tuning::GPU };
        let limits = DeviceLimits { tuning, machine, largest: 1 << 27 };
        SelectedPlan::choose(asked, &TrainingStep::new(&network, &UpdateRule::sgd(0.1), rows), &limits)
    }

    #[test]
    fn the_fastest_by_the_model_is_taken() {
        use ScheduleKind::{Fused, Resident, TwoDispatch};
        let standard: &[usize] = &[784, 300, 100, 10];
        for (sizes, rows, machine, want) in [
            (standard, 64, Machine::DISCRETE, TwoDispatch),
            (&[784, 32, 10], 16, Machine::DISCRETE, TwoDispatch),
            (&[4, 32, 16, 4], 32, Machine::DISCRETE, Resident),
            (&[4, 8, 3], 8, Machine::INTEGRATED, Resident),
            (&[784, 2500, 2000, 1500, 1000, 500, 10], 256, Machine::DISCRETE, Fused),
            (standard, 64, Machine::SOFTWARE, Fused),
        ] {
            let SelectedPlan { kind, reason } = chosen(None, sizes, rows, machine);
            let reason = reason.unwrap();
            assert_eq!(kind, want, "{sizes:?}: {reason}");
            assert!(reason.contains("us a step") && reason.contains("resident"), "{reason}");
            for asked in [Fused, TwoDispatch, Resident] {
                let got = chosen(Some(asked), sizes, rows, machine);
                assert_eq!(got, SelectedPlan { kind: asked, reason: None });
            }
        }
    }

    #[test]
    fn what_cannot_be_had_is_not_taken() {
        for asked in [ScheduleKind::TwoDispatch, ScheduleKind::Resident] {
            for (sizes, rows, word) in [(vec![3; 66], 64, "65"), (vec![784, 300, 10], 1 << 20, "bytes")] {
                let SelectedPlan { kind, reason } = chosen(Some(asked), &sizes, rows, Machine::DISCRETE);
                assert_eq!(kind, ScheduleKind::Fused);
                assert!(reason.is_some_and(|reason| reason.contains(word)), "{word}");
            }
            assert_eq!(chosen(Some(asked), &[3; 65], 64, Machine::DISCRETE).kind, asked);
        }
        let plain = Some(ScheduleKind::Plain);
        assert_eq!(
            chosen(plain, &[3; 66], 64, Machine::DISCRETE),
            SelectedPlan { kind: ScheduleKind::Plain, reason: None }
        );
    }
}
