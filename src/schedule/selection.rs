//! Which schedule a run takes.

use crate::gpu::{Context, DeviceKind};
use crate::kernels::{MOST_LAYERS, Tuning};
use crate::model::ParameterLayout;
use crate::schedule::{ScheduleKind, TrainingStep};

/// Most parameters of the layers above the first with which two dispatches per step are thought the fastest: every
/// workgroup that takes some rows through the layers reads all of them.
const MOST_ABOVE: usize = 100_000;

/// The same on a software adapter, where a dispatch costs less and those workgroups share few processors.
const MOST_ABOVE_IN_SOFTWARE: usize = 700;

/// Most rows of a batch likewise.
const MOST_ROWS: usize = 256;

/// What the selection depends on besides the step.
#[derive(Debug, Clone, Copy)]
pub struct DeviceLimits<'a> {
    /// Tile shapes.
    pub tuning: &'a Tuning,
    /// Whether a software driver computes: the price of a dispatch, which two of them a step save, is small there.
    pub software: bool,
    /// Most bytes of a buffer.
    pub largest: u64,
}

impl<'a> DeviceLimits<'a> {
    /// Those of a device.
    pub fn of(context: &Context, tuning: &'a Tuning) -> Self {
        let software = context.kind == DeviceKind::Software;
        Self { tuning, software, largest: context.largest_storage() }
    }
}

/// A schedule, and why it is not the one that was asked for, or not the one with the fewest dispatches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedSchedule {
    /// The schedule.
    pub kind: ScheduleKind,
    /// Why not another.
    pub reason: Option<String>,
}

impl SelectedSchedule {
    /// What was asked for, if it can be had; else, or if nothing was, what should be the fastest.
    pub fn of(asked: Option<ScheduleKind>, step: &TrainingStep<'_>, limits: &DeviceLimits<'_>) -> Self {
        let hindrance = match asked {
            Some(ScheduleKind::TwoDispatch) => impossible(step, limits),
            Some(kind) => return Self { kind, reason: None },
            None => impossible(step, limits).or_else(|| slower(step, limits)),
        };
        match hindrance {
            Some(reason) => Self { kind: ScheduleKind::Fused, reason: Some(reason) },
            None => Self { kind: ScheduleKind::TwoDispatch, reason: None },
        }
    }
}

/// The layout of the parameters under this schedule, with what its steps and the optimizer keep behind them.
pub fn parameter_layout(kind: ScheduleKind, step: &TrainingStep<'_>, tuning: &Tuning) -> ParameterLayout {
    let shape = (kind == ScheduleKind::TwoDispatch).then(|| step.shape(tuning)).flatten();
    shape.map_or_else(
        || ParameterLayout::new(step.network).with_states(step.rule.optimizer.kind.states()),
        |shape| shape.layout().clone(),
    )
}

/// Why two dispatches per step cannot be had.
fn impossible(step: &TrainingStep<'_>, limits: &DeviceLimits<'_>) -> Option<String> {
    if step.rule.clip_norm.is_some() {
        return Some("two dispatches cannot clip gradients by their norm".to_owned());
    }
    let Some(shape) = step.shape(limits.tuning) else {
        let layers = step.network.layers().len();
        return Some(format!(
            "two dispatches take networks of up to {MOST_LAYERS} layers, this has {layers}"
        ));
    };
    let parameters = parameter_layout(ScheduleKind::TwoDispatch, step, limits.tuning).bytes();
    let largest = parameters.max(32 * shape.activations() as u64);
    (largest > limits.largest).then(|| {
        format!(
            "two dispatches need a buffer of {largest} bytes, the device takes {} at most",
            limits.largest
        )
    })
}

/// Why more dispatches per step should be faster.
fn slower(step: &TrainingStep<'_>, limits: &DeviceLimits<'_>) -> Option<String> {
    let above: usize = step.network.layers().skip(1).map(|(inputs, outputs)| (inputs + 1) * outputs).sum();
    let (most, adapter) = match limits.software {
        true => (MOST_ABOVE_IN_SOFTWARE, " on a software adapter"),
        false => (MOST_ABOVE, ""),
    };
    if step.rows > MOST_ROWS {
        Some(format!("two dispatches are for batches of up to {MOST_ROWS} rows"))
    } else if above >= most {
        Some(format!(
            "the layers above the first have {above} parameters, two dispatches{adapter} are for fewer than {most}"
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Network;
    use crate::step::UpdateRule;

    fn chosen(asked: Option<ScheduleKind>, sizes: &[usize], rows: usize, software: bool) -> SelectedSchedule {
        let network = Network::classifier(sizes).unwrap();
        let limits = DeviceLimits { tuning: &Tuning::GPU, software, largest: 1 << 27 };
        SelectedSchedule::of(asked, &TrainingStep::new(&network, &UpdateRule::sgd(0.1), rows), &limits)
    }

    #[test]
    fn two_dispatches_are_for_small_networks_and_batches() {
        use ScheduleKind::{Fused, TwoDispatch};
        let standard: &[usize] = &[784, 300, 100, 10];
        let two = SelectedSchedule { kind: TwoDispatch, reason: None };
        assert_eq!(chosen(None, standard, 64, false), two);
        assert_eq!(chosen(None, &[784, 64, 10], 64, true), two);
        for (sizes, rows, software, word) in [
            (standard, 64, true, "software"),
            (standard, 257, false, "256 rows"),
            (&[784, 1000, 100, 10], 64, false, "101110 parameters"),
        ] {
            let SelectedSchedule { kind, reason } = chosen(None, sizes, rows, software);
            assert_eq!(kind, Fused);
            assert!(reason.is_some_and(|reason| reason.contains(word)), "{word}");
            assert_eq!(chosen(Some(TwoDispatch), sizes, rows, software).kind, TwoDispatch);
        }
    }

    #[test]
    fn what_cannot_be_had_is_not_taken() {
        let two = Some(ScheduleKind::TwoDispatch);
        for (asked, sizes, rows, word) in [
            (two, vec![3; 66], 64, "65"),
            (two, vec![784, 300, 10], 1 << 20, "bytes"),
            (None, vec![3; 80], 1, "79"),
        ] {
            let SelectedSchedule { kind, reason } = chosen(asked, &sizes, rows, false);
            assert_eq!(kind, ScheduleKind::Fused);
            assert!(reason.is_some_and(|reason| reason.contains(word)), "{word}");
        }
        assert_eq!(chosen(two, &[3; 65], 64, false).kind, ScheduleKind::TwoDispatch);
        let plain = Some(ScheduleKind::Plain);
        assert_eq!(
            chosen(plain, &[3; 66], 64, false),
            SelectedSchedule { kind: ScheduleKind::Plain, reason: None }
        );
    }
}
