//! Which schedule trains many networks together.

use crate::kernels::{FeatureFormat, Kernel, Members, Resident, Samples, Share};
use crate::schedule::{DeviceLimits, DispatchPlan, ScheduleKind, TrainingStep, refusal};

/// Networks that are trained together: the choice is made for this many of the same shape, whatever their number, so that a network
/// has the same schedule in every company.
const TOGETHER: usize = 16;

/// The schedule under which a network should be trained together with others like it: that which should be the faster by the
/// model of latencies.
pub(crate) fn packed_schedule(step: &TrainingStep<'_>, limits: &DeviceLimits<'_>) -> ScheduleKind {
    let samples = Samples { stored: FeatureFormat::Floats, count: step.rows };
    let time = |kernel: &dyn Kernel| limits.machine.microseconds(kernel, limits.tuning);
    let shape = step.resident_shape().filter(|_| refusal(ScheduleKind::Resident, step, limits).is_none());
    let resident = shape.and_then(|shape| Resident::pack(vec![shape; TOGETHER], samples));
    match resident {
        Some(resident) if time(&resident) <= fused_step(step, limits, TOGETHER) => ScheduleKind::Resident,
        _ => ScheduleKind::Fused,
    }
}

/// Microseconds that a step of `count` such networks should take under `fused`, each in its own z of the grid.
fn fused_step(step: &TrainingStep<'_>, limits: &DeviceLimits<'_>, count: usize) -> f64 {
    let samples = Samples { stored: FeatureFormat::Floats, count: step.rows };
    let dispatches = DispatchPlan::train(ScheduleKind::Fused, step, samples, limits.tuning).dispatches;
    let several = dispatches.into_iter().map(|dispatch| {
        let shares = vec![Share::Common; dispatch.buffers.len()];
        let kernel = Members::new(dispatch.kernel, shares, vec![[0; 2]; count]);
        limits.machine.microseconds(&kernel, limits.tuning)
    });
    several.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Machine, Tuning};
    use crate::model::Network;
    use crate::step::UpdateRule;

    #[test]
    fn small_networks_take_a_workgroup_each_on_real_gpus() {
        use ScheduleKind::{Fused, Resident};
        let cases: [(&[usize], usize, Machine, ScheduleKind); 8] = [
            (&[4, 32, 16, 4], 32, Machine::DISCRETE, Resident),
            (&[4, 8, 3], 8, Machine::INTEGRATED, Resident),
            (&[784, 32, 10], 16, Machine::DISCRETE, Resident),
            (&[784, 300, 100, 10], 64, Machine::DISCRETE, Fused),
            (&[20, 256, 256, 4], 128, Machine::DISCRETE, Fused),
            (&[4, 16, 3], 32, Machine::SOFTWARE, Fused),
            (&[784, 32, 10], 64, Machine::SOFTWARE, Fused),
            (&[784, 300, 100, 10], 64, Machine::SOFTWARE, Fused),
        ];
        let chosen = |sizes: &[usize], rows, machine, clip_norm| {
            let network = Network::classifier(sizes).unwrap();
            let tuning =
                if machine == Machine::SOFTWARE { &Tuning::SOFTWARE_SUBGROUPS } else { &Tuning::GPU };
            let limits = DeviceLimits { tuning, machine, largest: 1 << 27 };
            let rule = UpdateRule { clip_norm, ..UpdateRule::sgd(0.1) };
            packed_schedule(&TrainingStep::new(&network, &rule, rows), &limits)
        };
        let got = cases.map(|(sizes, rows, machine, _)| chosen(sizes, rows, machine, None));
        assert_eq!(got, cases.map(|(.., want)| want));
        for (sizes, rows, machine, _) in cases {
            assert_eq!(chosen(sizes, rows, machine, Some(1.0)), Fused);
        }
    }

    #[test]
    fn together_they_should_take_less_than_one_after_the_other() {
        let network = Network::classifier(&[784, 300, 100, 10]).unwrap();
        let rule = UpdateRule::sgd(0.1);
        let step = TrainingStep::new(&network, &rule, 64);
        let limits = DeviceLimits { tuning: &Tuning::GPU, machine: Machine::DISCRETE, largest: 1 << 27 };
        let [alone, of_eight] = [1, 8].map(|count| fused_step(&step, &limits, count));
        assert!(3.0 * of_eight < 8.0 * alone, "eight {of_eight:.0} us, one {alone:.0}");
    }
}
