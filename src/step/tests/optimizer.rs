//! Optimizers compared with the reference.

use crate::reference::ops;
use crate::step::{Optimizer, OptimizerKind, StepRecord, Tile};

const EPS: f64 = f32::EPSILON as f64;
/// Two of the longest vectors and a remainder.
const LENGTH: usize = 45;

/// Different parameters.
const PLACES: usize = 13;

/// Gradients between -2 and 2 of all parameters in a step; some are 0, some very small.
fn gradients(step: u64) -> Vec<f32> {
    (0..LENGTH)
        .map(|i| match i % PLACES {
            0 => 0.0,
            1 => 1e-20,
            i => 2.0 * ((i as f32) * 1.7 + (step as f32) * (0.1 + 0.3 * (i % 3) as f32)).sin(),
        })
        .collect()
}

/// Parameters and states after `steps` steps from p = -1.5, ..., in f32 and of the reference.
fn run(optimizer: &Optimizer, rate: f32, steps: u64) -> ([Vec<f32>; 3], [Vec<f64>; 3]) {
    let mut got = [
        (0..LENGTH).map(|i| (i % PLACES) as f32 * 0.3 - 1.5).collect(),
        vec![0.0; LENGTH],
        vec![0.0; LENGTH],
    ];
    let mut want = got.each_ref().map(|values| values.iter().copied().map(f64::from).collect::<Vec<f64>>());
    for step in 0..steps {
        let gradients = gradients(step);
        let mut record = StepRecord::default();
        optimizer.fill(&mut record, step);
        let [p, first, second] = &mut got;
        let states = optimizer.kind.states();
        // Unused states are empty.
        let states = [
            &mut first[..if states > 0 { LENGTH } else { 0 }],
            &mut second[..if states > 1 { LENGTH } else { 0 }],
        ];
        let tile = Tile { parameters: p, gradients: &gradients, states, rate, decay: record.decay };
        optimizer.apply(&record, tile);
        for i in 0..LENGTH {
            let settings = [f64::from(rate), f64::from(optimizer.weight_decay)];
            let state = [want[1][i], want[2][i]];
            let (p, state) =
                ops::optimize(optimizer, (want[0][i], f64::from(gradients[i])), state, settings, step + 1);
            [want[0][i], want[1][i], want[2][i]] = [p, state[0], state[1]];
        }
    }
    (got, want)
}

/// Rounding errors of a step: 2 eps of numbers up to 3, and 8 eps of the factor of the rate, which is up to
/// 20 with momentum. They add up over the steps.
#[test]
fn parameters_and_states_agree_with_the_reference() {
    for kind in OptimizerKind::ALL.iter().copied() {
        for weight_decay in [kind.defaults().weight_decay, 0.1] {
            let optimizer = Optimizer { weight_decay, ..kind.defaults() };
            for steps in [1, 20] {
                let rate = kind.default_rate();
                let (got, want) = run(&optimizer, rate, steps);
                for (place, (got, want)) in got.iter().zip(&want).enumerate() {
                    let bound = match place {
                        0 => steps as f64 * (6.0 * EPS + f64::from(rate) * 8.0 * EPS * 20.0),
                        _ => 8.0 * EPS * 20.0,
                    };
                    for (i, (got, want)) in got.iter().zip(want).enumerate() {
                        let error = (f64::from(*got) - want).abs();
                        assert!(
                            error <= bound,
                            "{kind} {weight_decay} {steps} {place} {i}: {got}, not {want}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn momentum_of_rmsprop_and_other_betas_agree_with_the_reference() {
    for (kind, beta1, beta2) in [
        (OptimizerKind::RmsProp, 0.9, 0.9),
        (OptimizerKind::Adam, 0.0, 0.5),
        (OptimizerKind::AdamW, 0.5, 0.0),
    ] {
        let optimizer = Optimizer { beta1, beta2, ..kind.defaults() };
        let (got, want) = run(&optimizer, 0.01, 20);
        for (got, want) in got.iter().flatten().zip(want.iter().flatten()) {
            assert!((f64::from(*got) - want).abs() <= 20.0 * 16.0 * EPS, "{kind}: {got}, not {want}");
        }
    }
}

/// Padding has no gradient and is 0: it must stay so.
#[test]
fn zeros_without_a_gradient_stay_zeros() {
    for kind in OptimizerKind::ALL.iter().copied() {
        let optimizer = kind.defaults();
        let mut record = StepRecord::default();
        optimizer.fill(&mut record, 0);
        let (mut p, mut first, mut second) = ([0.0f32; 4], [0.0; 4], [0.0; 4]);
        let states = [&mut first[..], &mut second[..]];
        optimizer
            .apply(&record, Tile { parameters: &mut p, gradients: &[0.0; 4], states, rate: 0.1, decay: 0.1 });
        assert_eq!([p, first, second], [[0.0; 4]; 3], "{kind}");
    }
}

/// Decaying state reaches 0 and is never subnormal, since 0.9 times the smallest subnormal number would stay
/// the smallest.
#[test]
fn state_without_gradients_becomes_zero() {
    for kind in OptimizerKind::ALL.iter().copied() {
        let optimizer = Optimizer { beta1: 0.9, beta2: 0.9, weight_decay: 0.0, ..kind.defaults() };
        let (mut p, mut first, mut second) = ([1.0f32; LENGTH], [0.0; LENGTH], [0.0; LENGTH]);
        for step in 0..1_200 {
            let mut record = StepRecord::default();
            optimizer.fill(&mut record, step);
            let gradients = [if step == 0 { -0.5 } else { 0.0 }; LENGTH];
            let states = [&mut first[..], &mut second[..]];
            optimizer.apply(
                &record,
                Tile { parameters: &mut p, gradients: &gradients, states, rate: 0.1, decay: 0.0 },
            );
            assert!(first.iter().chain(&second).all(|state| !state.is_subnormal()), "{kind}, step {step}");
        }
        assert_eq!([first, second], [[0.0; LENGTH]; 2], "{kind}");
        assert!(p.iter().all(|p| *p > 1.0), "{kind}");
    }
}

#[test]
fn each_says_which_settings_it_has() {
    let uses = |kind: OptimizerKind| (kind.uses_momentum(), kind.betas(), kind.uses_epsilon(), kind.states());
    for (kind, want) in [
        (OptimizerKind::Sgd, (false, 0, false, 0)),
        (OptimizerKind::Momentum, (true, 0, false, 1)),
        (OptimizerKind::Nesterov, (true, 0, false, 1)),
        (OptimizerKind::Adam, (false, 2, true, 2)),
        (OptimizerKind::AdamW, (false, 2, true, 2)),
        (OptimizerKind::RmsProp, (true, 1, true, 2)),
    ] {
        assert_eq!(uses(kind), want, "{kind}");
        assert_eq!(kind.defaults().kind, kind);
        assert_eq!(kind.defaults().decays_biases(), ops::decays_biases(kind), "{kind}");
        assert_eq!(kind.name().parse::<OptimizerKind>().unwrap(), kind);
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    for kind in OptimizerKind::ALL {
        kind.defaults().validate().unwrap();
    }
    let message = |optimizer: Optimizer| optimizer.validate().unwrap_err().to_string();
    let (momentum, adam) = (OptimizerKind::Momentum.defaults(), OptimizerKind::Adam.defaults());
    for (optimizer, want) in [
        (Optimizer { beta1: 1.0, ..momentum }, "momentum: expected a number from 0 to below 1, found 1"),
        (Optimizer { beta1: -0.1, ..adam }, "betas: expected a number from 0 to below 1, found -0.1"),
        (Optimizer { beta2: f32::NAN, ..adam }, "betas: expected a number from 0 to below 1, found NaN"),
        (Optimizer { epsilon: 0.0, ..adam }, "eps: expected a finite number of at least 1.2e-38, found 0"),
        (Optimizer { epsilon: -1.0, ..adam }, "eps: expected a finite number of at least 1.2e-38, found -1"),
        (
            Optimizer { weight_decay: -1.0, ..adam },
            "weight-decay: expected a finite number of 0 or more, found -1",
        ),
        (
            Optimizer { weight_decay: f32::INFINITY, ..adam },
            "weight-decay: expected a finite number of 0 or more, found inf",
        ),
    ] {
        assert_eq!(message(optimizer), want);
    }
    // Devices may treat it as 0.
    assert!(Optimizer { epsilon: f32::MIN_POSITIVE / 2.0, ..adam }.validate().is_err());
    // Momentum does not use epsilon.
    Optimizer { epsilon: 0.0, ..momentum }.validate().unwrap();
}
