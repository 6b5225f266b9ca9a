//! Choice of a run's schedule.

use crate::gpu::{Context, DeviceKind};
use crate::kernels::{MOST_LAYERS, Tuning};
use crate::model::ParameterLayout;
use crate::schedule::{ScheduleKind, TrainingStep};

/// Most multiply-adds of a forward pass for which two dispatches train faster than `fused` on a discrete GPU:
/// each workgroup of `row` reads all weights, which costs little until the weights times the rows exceed the
/// caches. An H100 trains 784-256-256-10 in batches of 1,024 (0.28e9) 1.2 times as fast in two dispatches,
/// 784-2500-2000-1500-1000-500-10 in batches of 256 (3.1e9) 2.8 times as fast fused.
const MOST_ON_DISCRETE: u64 = 1 << 30;

/// The same for an integrated GPU, which has about a sixteenth of the units.
const MOST_ON_INTEGRATED: u64 = 1 << 26;

/// Properties of a device that affect the choice.
#[derive(Debug, Clone, Copy)]
pub struct DeviceLimits<'a> {
    /// Tile shapes.
    pub tuning: &'a Tuning,
    /// The kind of device.
    pub kind: DeviceKind,
    /// Most bytes of a buffer.
    pub largest: u64,
}

impl<'a> DeviceLimits<'a> {
    /// Returns the limits of a device.
    pub fn from_context(context: &Context, tuning: &'a Tuning) -> Self {
        Self { tuning, kind: context.kind, largest: context.largest_storage() }
    }
}

/// A schedule, and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedPlan {
    /// The schedule.
    pub kind: ScheduleKind,
    /// Reason against other schedules; `None` for a requested schedule.
    pub reason: Option<String>,
}

impl SelectedPlan {
    /// Chooses the requested schedule, if it is available; else `two-dispatch` for small steps on a GPU, and
    /// `fused` for others.
    pub fn choose(asked: Option<ScheduleKind>, step: &TrainingStep<'_>, limits: &DeviceLimits<'_>) -> Self {
        let hindrance = asked.and_then(|kind| refusal(kind, step, limits));
        if let (Some(kind), None) = (asked, &hindrance) {
            return Self { kind, reason: None };
        }
        let (kind, reason) = fastest(step, limits);
        let reason = hindrance.map_or(reason.clone(), |hindrance| format!("{hindrance}; {reason}"));
        Self { kind, reason: Some(reason) }
    }
}

/// Returns the schedule that is expected to be the fastest, and the reason.
fn fastest(step: &TrainingStep<'_>, limits: &DeviceLimits<'_>) -> (ScheduleKind, String) {
    let most = match limits.kind {
        DeviceKind::Software => {
            return (ScheduleKind::Fused, "fastest on software adapters".to_owned());
        }
        DeviceKind::Integrated => MOST_ON_INTEGRATED,
        _ => MOST_ON_DISCRETE,
    };
    if let Some(hindrance) = refusal(ScheduleKind::TwoDispatch, step, limits) {
        return (ScheduleKind::Fused, hindrance);
    }
    let work = (step.network.parameter_count() as u64).saturating_mul(step.rows as u64);
    let kind = if work <= most { ScheduleKind::TwoDispatch } else { ScheduleKind::Fused };
    (kind, format!("{:.1} million multiply-adds forward", work as f64 / 1e6))
}

/// Returns the layout of the parameters under this schedule, followed by the partial sums of its steps and
/// the optimizer's state.
pub fn parameter_layout(kind: ScheduleKind, step: &TrainingStep<'_>, tuning: &Tuning) -> ParameterLayout {
    let shape = match kind {
        ScheduleKind::TwoDispatch => step.shape(tuning),
        ScheduleKind::Plain | ScheduleKind::Fused => None,
    };
    shape.map_or_else(
        || ParameterLayout::new(step.network).with_states(step.rule.optimizer.kind.states()),
        |shape| shape.layout().clone(),
    )
}

/// Returns the reason why a schedule is unavailable, if it is.
pub(crate) fn refusal(
    kind: ScheduleKind,
    step: &TrainingStep<'_>,
    limits: &DeviceLimits<'_>,
) -> Option<String> {
    if kind != ScheduleKind::TwoDispatch {
        return None;
    }
    if step.rule.clip_norm.is_some() {
        return Some(format!("{kind} cannot clip gradients by their norm"));
    }
    if step.network.input_layer().is_some() {
        return Some(format!("{kind} cannot train embeddings or factors of inputs"));
    }
    let Some(shape) = step.shape(limits.tuning) else {
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

    fn chosen(asked: Option<ScheduleKind>, sizes: &[usize], rows: usize, kind: DeviceKind) -> SelectedPlan {
        let network = Network::classifier(sizes).unwrap();
        let tuning = if kind == DeviceKind::Software { &Tuning::SOFTWARE_SUBGROUPS } else { &Tuning::GPU };
        let limits = DeviceLimits { tuning, kind, largest: 1 << 27 };
        SelectedPlan::choose(asked, &TrainingStep::new(&network, &UpdateRule::sgd(0.1), rows), &limits)
    }

    /// Fastest schedule of each network as measured on an H100 (docs/BENCHMARKS.md).
    #[test]
    fn the_fastest_schedule_of_the_h100_is_chosen() {
        use ScheduleKind::{Fused, TwoDispatch};
        for (sizes, rows, want) in [
            (&[784, 300, 100, 10][..], 64, TwoDispatch),
            (&[784, 2500, 2000, 1500, 1000, 500, 10], 256, Fused),
            (&[784, 32, 10], 16, TwoDispatch),
            (&[784, 32, 10], 64, TwoDispatch),
            (&[784, 256, 256, 10], 1024, TwoDispatch),
            (&[784, 512, 512, 512, 10], 4096, Fused),
        ] {
            let SelectedPlan { kind, reason } = chosen(None, sizes, rows, DeviceKind::Discrete);
            assert_eq!(kind, want, "{sizes:?} in batches of {rows}");
            assert!(reason.unwrap().contains("million multiply-adds"));
            assert_eq!(chosen(None, sizes, rows, DeviceKind::Software).kind, Fused);
            for asked in [ScheduleKind::Plain, Fused, TwoDispatch] {
                let got = chosen(Some(asked), sizes, rows, DeviceKind::Discrete);
                assert_eq!(got, SelectedPlan { kind: asked, reason: None });
            }
        }
        assert_eq!(chosen(None, &[784, 256, 256, 10], 1024, DeviceKind::Integrated).kind, Fused);
        assert_eq!(chosen(None, &[784, 300, 100, 10], 64, DeviceKind::Integrated).kind, TwoDispatch);
    }

    #[test]
    fn unavailable_schedules_are_replaced_with_the_reason() {
        let asked = ScheduleKind::TwoDispatch;
        for (sizes, rows, word) in [(vec![3; 66], 64, "65"), (vec![784, 300, 10], 1 << 20, "bytes")] {
            let SelectedPlan { kind, reason } = chosen(Some(asked), &sizes, rows, DeviceKind::Discrete);
            assert_eq!(kind, ScheduleKind::Fused);
            assert!(reason.is_some_and(|reason| reason.contains(word)), "{word}");
        }
        assert_eq!(chosen(Some(asked), &[3; 65], 64, DeviceKind::Discrete).kind, asked);
        let plain = ScheduleKind::Plain;
        let got = chosen(Some(plain), &[3; 66], 64, DeviceKind::Discrete);
        assert_eq!(got, SelectedPlan { kind: plain, reason: None });
    }
}
