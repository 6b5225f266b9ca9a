//! Update rules: their records and errors.

use crate::step::{OptimizerKind, RateFactors, Rates, UpdateRule};

#[test]
fn a_record_holds_the_settings_and_the_corrections_of_its_step() {
    let rule = UpdateRule {
        optimizer: OptimizerKind::Adam.defaults(),
        rates: Rates { warmup: 4, ..Rates::constant(0.5) },
        clip_norm: Some(2.0),
        seed: 0x1234_5678_9abc_def0,
        ..UpdateRule::sgd(0.1)
    };
    let record = rule.record(1);
    assert_eq!((record.step, record.rate, record.clip), (1, 0.25, 2.0));
    assert_eq!(record.seed, [0x9abc_def0, 0x1234_5678]);
    assert_eq!((record.beta1, record.beta2, record.epsilon, record.decay), (0.9, 0.999, 1e-8, 0.0));
    // 1 / (1 - 0.81) and 1 / sqrt(1 - 0.998001), to the rounding of beta to f32.
    assert!((record.correction1 - 5.263_158).abs() < 1e-5);
    assert!((record.correction2 - 22.366_274).abs() < 1e-3);
    let late = rule.record(1_000_000);
    assert_eq!((late.correction1, late.correction2), (1.0, 1.0));
    assert_eq!(UpdateRule::sgd(0.1).record(3).clip, 0.0);
}

#[test]
fn factors_are_products_and_default_to_1() {
    let factors = RateFactors { weights: 0.5, biases: 2.0, layers: vec![3.0], ..RateFactors::default() };
    assert_eq!([factors.for_layer(0), factors.for_layer(1)], [[1.5, 6.0], [0.5, 2.0]]);
    assert_eq!(RateFactors::default().for_layer(7), [1.0, 1.0]);
}

#[test]
fn only_plain_sgd_is_plain() {
    let plain = UpdateRule::sgd(0.1);
    assert!(plain.is_plain_sgd());
    assert!(!UpdateRule { optimizer: OptimizerKind::Momentum.defaults(), ..plain.clone() }.is_plain_sgd());
    assert!(!UpdateRule { clip_norm: Some(1.0), ..plain }.is_plain_sgd());
}

#[test]
fn settings_out_of_range_are_refused() {
    let rule = UpdateRule::sgd(0.1);
    rule.validate().unwrap();
    let factors =
        |weights, layer| RateFactors { weights, layers: vec![1.0, layer], ..RateFactors::default() };
    let mut optimizer = OptimizerKind::Adam.defaults();
    optimizer.epsilon = 0.0;
    for (rule, want) in [
        (
            UpdateRule { clip_norm: Some(0.0), ..rule.clone() },
            "clip-norm: expected a finite number above 0, found 0",
        ),
        (
            UpdateRule { clip_norm: Some(f32::INFINITY), ..rule.clone() },
            "clip-norm: expected a finite number above 0, found inf",
        ),
        (
            UpdateRule { label_smoothing: 1.0, ..rule.clone() },
            "label-smoothing: expected a number from 0 to below 1, found 1",
        ),
        (
            UpdateRule { factors: factors(-1.0, 1.0), ..rule.clone() },
            "lr-factors: expected finite numbers of 0 or more, found -1 for weights",
        ),
        (
            UpdateRule { factors: factors(1.0, f32::NAN), ..rule.clone() },
            "lr-factors: expected finite numbers of 0 or more, found NaN for layers",
        ),
        (UpdateRule::sgd(-1.0), "lr: expected a finite number above 0, found -1"),
        (
            UpdateRule { optimizer, ..rule.clone() },
            "eps: expected a finite number of at least 1.2e-38, found 0",
        ),
    ] {
        assert_eq!(rule.validate().unwrap_err().to_string(), want);
    }
    UpdateRule { factors: factors(0.0, 0.0), ..rule }.validate().unwrap();
}
