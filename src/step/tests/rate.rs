//! Learning rates at their extremes.

use crate::step::{RateSchedule, Rates};

/// Rates of a run of 10 epochs of 100 steps.
fn rates(schedule: RateSchedule) -> Rates {
    Rates::new(schedule, 0.5, 100, 10)
}

/// Each rate is rounded to f32 once: half a unit in the last place of numbers up to 0.5.
#[track_caller]
fn assert_rates(rates: &Rates, wanted: &[(u64, f64)]) {
    for (step, want) in wanted {
        let got = f64::from(rates.at(*step));
        assert!(
            (got - want).abs() <= f64::from(f32::EPSILON) / 4.0,
            "{rates:?} at {step}: {got}, not {want}"
        );
    }
}

#[test]
fn constant_steps_and_exponential() {
    assert_rates(&Rates::constant(0.5), &[(0, 0.5), (u64::MAX, 0.5)]);
    // Every third epoch.
    let step = [(0, 0.5), (299, 0.5), (300, 0.05), (599, 0.05), (600, 0.005), (999, 0.0005)];
    assert_rates(&rates(RateSchedule::Step), &step);
    let halves = Rates { gamma: 0.5, every: 1, ..rates(RateSchedule::Step) };
    assert_rates(&halves, &[(99, 0.5), (100, 0.25), (999, 0.5f64.powi(10))]);
    let gamma = f64::from(0.9f32);
    let exponential = [(0, 0.5), (99, 0.5), (100, 0.5 * gamma), (999, 0.5 * gamma.powi(9))];
    assert_rates(&rates(RateSchedule::Exponential), &exponential);
    // Fewer than three epochs are one step.
    assert_eq!(Rates::new(RateSchedule::Step, 0.5, 100, 2).every, 1);
}

#[test]
fn cosine_falls_from_the_peak_to_0() {
    let rates = rates(RateSchedule::Cosine);
    let third = 0.25 * (1.0 + (std::f64::consts::PI / 3.0).cos());
    assert_rates(&Rates { steps: 900, ..rates }, &[(300, third)]);
    assert_rates(
        &rates,
        &[(0, 0.5), (250, 0.25 * (1.0 + 0.5f64.sqrt())), (500, 0.25), (1000, 0.0), (5000, 0.0)],
    );
    assert!((1..1000).all(|step| rates.at(step) < rates.at(step - 1) && rates.at(step) > 0.0));
}

/// The numbers of `OneCycleLR(max_lr=0.5, total_steps=1000)`: its summit is at step 0.3 * 1000 - 1.
#[test]
fn one_cycle_is_at_its_peak_after_30_percent() {
    let rates = rates(RateSchedule::OneCycle);
    assert_rates(&rates, &[(0, 0.02), (299, 0.5), (999, 2e-6), (2000, 2e-6)]);
    // Half way up at step 149.5, and half way down at (299 + 999) / 2.
    let middle = |step| f64::from(rates.at(step));
    assert!(((middle(149) + middle(150)) / 2.0 - 0.26).abs() < 1e-6);
    assert_rates(&rates, &[(649, 0.250_001)]);
    assert!((1..=299).all(|step| rates.at(step) > rates.at(step - 1)));
    assert!((300..1000).all(|step| rates.at(step) < rates.at(step - 1)));
    // Ten steps: up over steps 0 to 2, as in PyTorch.
    let short = Rates::new(RateSchedule::OneCycle, 1.0, 10, 1);
    assert_rates(&short, &[(0, 0.04), (1, 0.52), (2, 1.0), (9, 4e-6)]);
    for steps in 1..5 {
        let short = Rates::new(RateSchedule::OneCycle, 1.0, steps, 1);
        assert!((0..steps).all(|step| (0.0..=1.0).contains(&short.at(step))), "{steps}");
        assert_rates(&short, &[(steps - 1, 4e-6)]);
    }
}

#[test]
fn coslog4_has_four_cycles_each_twice_as_long() {
    let rates = Rates { steps: 1500, ..rates(RateSchedule::CosLog4) };
    // log2(1 + 15 t) is whole at t = 0, 1/15, 3/15, 7/15, 1, and a half between at (sqrt(2) 2^k - 1) / 15.
    for step in [0, 100, 300, 700, 1500] {
        assert!(rates.at(step) < 1e-12, "{step}: {}", rates.at(step));
    }
    for k in 0..4 {
        let middle = (100.0 * (2f64.sqrt() * f64::from(1 << k) - 1.0)).round() as u64;
        let rate = rates.at(middle);
        // A step from the middle costs 0.5 (pi / ln 2 * 15 / 1500 / sqrt(2))^2 / 4 at most.
        assert!((0.4997..=0.5).contains(&rate), "cycle {k}: {rate} at {middle}");
        assert!(rates.at(middle) >= rates.at(middle - 2) && rates.at(middle) >= rates.at(middle + 2));
    }
}

#[test]
fn warm_up_multiplies_what_the_schedule_gives() {
    let warm = Rates { warmup: 4, ..Rates::constant(0.5) };
    assert_rates(&warm, &[(0, 0.125), (1, 0.25), (2, 0.375), (3, 0.5), (4, 0.5), (1000, 0.5)]);
    for schedule in RateSchedule::ALL.iter().copied() {
        let plain = rates(schedule);
        let warm = Rates { warmup: 100, ..plain };
        for step in [0, 10, 49, 98, 99, 100, 999] {
            let share = ((step + 1) as f64 / 100.0).min(1.0);
            assert_rates(&warm, &[(step, f64::from(plain.at(step)) * share)]);
        }
    }
}

#[test]
fn no_rate_is_above_the_peak_or_below_0() {
    for schedule in RateSchedule::ALL.iter().copied() {
        let rates = rates(schedule);
        assert!((0..1100).all(|step| (0.0..=0.5).contains(&rates.at(step))), "{schedule}");
        assert_eq!(rates.needs_steps(), schedule != RateSchedule::Constant);
        assert_eq!(schedule.name().parse::<RateSchedule>().unwrap(), schedule);
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let step = rates(RateSchedule::Step);
    for (rates, want) in [
        (Rates { peak: 0.0, ..step }, "lr: expected a finite number above 0, found 0"),
        (Rates::constant(f32::NAN), "lr: expected a finite number above 0, found NaN"),
        (Rates { gamma: 0.0, ..step }, "lr-gamma: expected a number above 0, at most 1, found 0"),
        (Rates { gamma: 1.5, ..step }, "lr-gamma: expected a number above 0, at most 1, found 1.5"),
        (Rates { every: 0, ..step }, "lr-every: expected 1 or more, found 0"),
        (
            Rates { steps: 0, ..rates(RateSchedule::Cosine) },
            "lr-schedule: expected constant where the number of rows is not known, found cosine",
        ),
        (Rates { warmup: 1001, ..step }, "warmup: expected at most the 1000 steps of the run, found 1001"),
    ] {
        assert_eq!(rates.validate().unwrap_err().to_string(), want);
    }
    let names = "constant, step, exponential, cosine, onecycle or coslog4";
    let error = "linear".parse::<RateSchedule>().unwrap_err().to_string();
    assert_eq!(error, format!("expected {names}, found \"linear\""));
    for schedule in RateSchedule::ALL {
        Rates { warmup: 1000, ..rates(schedule) }.validate().unwrap();
    }
    // A constant rate may warm up without information about the run.
    Rates { warmup: 7, ..Rates::constant(0.1) }.validate().unwrap();
}
