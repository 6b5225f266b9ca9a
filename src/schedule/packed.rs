//! Which schedule trains many networks together.

use crate::kernels::{FeatureFormat, Members, Resident, Samples, Share};
use crate::schedule::{DeviceLimits, Schedule, ScheduleKind, TrainingStep, refusal};

/// Networks that are trained together: the choice is for so many of the same shape, whatever their number is, so that a network
/// has the same schedule in every company.
const TOGETHER: usize = 16;

/// The schedule under which a network should be trained together with others like it: that which should be the faster by the
/// model of latencies.
pub(crate) fn packed_schedule(step: &TrainingStep<'_>, limits: &DeviceLimits<'_>) -> ScheduleKind {
    let samples = Samples { stored: FeatureFormat::Floats, count: step.rows };
    let time = |kernel: &dyn crate::kernels::Kernel| limits.machine.microseconds(kernel, limits.tuning);
    let resident = (refusal(ScheduleKind::Resident, step, limits).is_none())
        .then(|| step.resident_shape().and_then(|shape| Resident::pack(vec![shape; TOGETHER], samples)))
        .flatten();
    let fused = || -> f64 {
        let dispatches = Schedule::train(ScheduleKind::Fused, step, samples, limits.tuning).dispatches;
        let several = dispatches.into_iter().map(|dispatch| {
            let shares = vec![Share::Common; dispatch.buffers.len()];
            time(&Members::new(dispatch.kernel, shares, vec![[0; 2]; TOGETHER]))
        });
        several.sum()
    };
    match resident {
        Some(resident) if time(&resident) <= fused() => ScheduleKind::Resident,
        _ => ScheduleKind::Fused,
    }
}
