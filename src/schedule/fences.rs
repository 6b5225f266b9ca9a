//! Barriers between the dispatches of a schedule.

use std::ops::Range;

use crate::gpu::Access;
use crate::schedule::Dispatch;

/// Returns whether wgpu puts a barrier between two consecutive dispatches: one writes a buffer that the other
/// binds.
pub fn is_fenced(one: &Dispatch, other: &Dispatch) -> bool {
    let writes = |dispatch: &Dispatch, other: &Dispatch| {
        let bindings = dispatch.shader.bindings;
        let mut bound = dispatch.buffers.iter().zip(bindings);
        bound.any(|(buffer, access)| *access == Access::Write && other.buffers.contains(buffer))
    };
    writes(one, other) || writes(other, one)
}

/// Divides a sequence of dispatches, given as indices into `dispatches`, into the longest possible runs
/// without a barrier. The device may overlap the dispatches of such a run.
pub fn unfenced(dispatches: &[Dispatch], sequence: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, next) in sequence.iter().enumerate() {
        match runs.last_mut() {
            Some(run)
                if sequence[run.clone()]
                    .iter()
                    .all(|before| !is_fenced(&dispatches[*before], &dispatches[*next])) =>
            {
                run.end = at + 1;
            }
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{FeatureFormat, Samples, Tuning};
    use crate::model::Network;
    use crate::schedule::{DispatchPlan, ScheduleKind, TrainingStep};
    use crate::step::UpdateRule;

    fn runs(kind: ScheduleKind, steps: usize) -> Vec<String> {
        let network = Network::classifier(&[784, 300, 100, 10]).unwrap();
        let rule = UpdateRule::sgd(0.1);
        let step = TrainingStep::new(&network, &rule, 64);
        let schedule = DispatchPlan::train(
            kind,
            &step,
            Samples { stored: FeatureFormat::Bytes, count: 100 },
            &Tuning::GPU,
        );
        let sequence: Vec<usize> = (0..steps).flat_map(|_| 0..schedule.dispatches.len()).collect();
        let name = |at: usize| schedule.dispatches[sequence[at]].shader.name;
        let runs = unfenced(&schedule.dispatches, &sequence);
        assert_eq!(
            runs.iter().cloned().flatten().collect::<Vec<_>>(),
            (0..sequence.len()).collect::<Vec<_>>()
        );
        runs.into_iter().map(|run| run.map(name).collect::<Vec<_>>().join(" + ")).collect()
    }

    #[test]
    fn the_plain_schedule_has_pairs_that_do_not_wait_for_one_another() {
        let expected = [
            "gather",
            "forward",
            "activate",
            "forward",
            "activate",
            "forward",
            "loss_gradient",
            "weight_gradient + input_gradient",
            "activate_backward",
            "weight_gradient + input_gradient",
            "activate_backward",
            "weight_gradient",
            // Gathering the next batch overlaps updating the weights.
            "update + gather",
            "forward",
        ];
        assert_eq!(runs(ScheduleKind::Plain, 2)[..expected.len()], expected);
    }

    #[test]
    fn every_dispatch_of_the_other_schedules_waits() {
        assert_eq!(runs(ScheduleKind::Fused, 2).len(), 18);
        assert_eq!(runs(ScheduleKind::TwoDispatch, 2), ["row", "column", "row", "column"]);
    }
}
