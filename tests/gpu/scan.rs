use tinytrain::Error;
use tinytrain::kernels::{Compute, Element, Scan, Tuning, exclusive_scan, inclusive_scan, scan};
use tinytrain::reference::ops;

use crate::lab::{labs, random};

/// The shipped team size, and small ones, so that there are many levels.
const TEAMS: [usize; 6] = [2, 4, 8, 32, 64, 256];

/// Runs `test` on every adapter with every team size.
fn everywhere(test: impl Fn(&Compute)) {
    for lab in labs() {
        let _turn = lab.turn();
        for team in TEAMS {
            test(&lab.compute(&Tuning { team, ..Tuning::GPU }));
        }
    }
}

fn scanned<T: Element>(compute: &Compute, values: &[T], inclusive: bool) -> Vec<T> {
    let x = compute.vector(values).unwrap();
    let y = if inclusive { inclusive_scan(compute, &x) } else { exclusive_scan(compute, &x) };
    y.unwrap().read(compute).unwrap()
}

fn words(length: usize) -> Vec<u32> {
    (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761).rotate_left(9)).collect()
}

fn floats(length: usize) -> Vec<f32> {
    random(1, length, 5).into_raw_vec_and_offset().0
}

#[test]
fn nothing_in_nothing_out() {
    everywhere(|compute| assert!(scanned::<f32>(compute, &[], true).is_empty()));
}

#[test]
fn both_layouts_of_workgroup_memory_give_the_same_bits() {
    everywhere(|compute| {
        let x = compute.vector(&floats(1500)).unwrap();
        let bits = |padded| {
            let kernel = Scan { padded, ..Scan::new::<f32>(1500, true, &compute.tuning) };
            let y = scan(compute, kernel, &x).unwrap().read(compute).unwrap();
            y.into_iter().map(f32::to_bits).collect::<Vec<u32>>()
        };
        assert_eq!(bits(true), bits(false));
    });
}

#[test]
fn two_runs_are_equal_bit_for_bit() {
    everywhere(|compute| {
        let values = floats(5000);
        let bits = || scanned(compute, &values, false).into_iter().map(f32::to_bits).collect::<Vec<u32>>();
        assert_eq!(bits(), bits());
    });
}

#[test]
fn nan_and_infinity_reach_only_later_elements() {
    everywhere(|compute| {
        for (special, length) in [(f32::NAN, 1200), (f32::INFINITY, 513), (f32::NEG_INFINITY, 70)] {
            for at in [0, 1, length / 2, length - 2, length - 1] {
                let mut values = floats(length);
                let clean = scanned(compute, &values, true);
                values[at] = special;
                let got = scanned(compute, &values, true);
                assert_eq!(got[..at], clean[..at], "{special} at {at}");
                assert!(got[at..].iter().all(|value| !value.is_finite()), "{special} at {at}");
                let got = scanned(compute, &values, false);
                assert!(got[..=at].iter().all(|value| value.is_finite()), "{special} at {at}");
                assert!(got[at + 1..].iter().all(|value| !value.is_finite()), "{special} at {at}");
            }
        }
    });
}

#[test]
fn flags_count_nonzero_elements() {
    everywhere(|compute| {
        let values: Vec<u32> = words(700).iter().map(|word| if word % 3 == 0 { *word } else { 0 }).collect();
        let ones: Vec<u32> = values.iter().map(|value| u32::from(*value != 0)).collect();
        let kernel = Scan { flags: true, ..Scan::new::<u32>(700, false, &compute.tuning) };
        let got = scan(compute, kernel, &compute.vector(&values).unwrap()).unwrap().read(compute).unwrap();
        assert_eq!(got, ops::scan(&ones, false, u32::wrapping_add));
    });
}

#[test]
fn team_sizes_other_than_powers_of_two_are_refused() {
    for team in [0, 1, 3, 48] {
        let compute = labs()[0].compute(&Tuning { team, ..Tuning::GPU });
        let x = compute.vector(&[1u32, 2, 3]).unwrap();
        let Err(Error::Shape { kernel: "scan", expected, found }) = exclusive_scan(&compute, &x) else {
            panic!("a team of {team} was accepted");
        };
        assert!(expected.contains("power of two") && found == team.to_string(), "{expected}, {found}");
    }
    let compute = labs()[0].compute(&Tuning::GPU);
    let x = compute.vector(&[1u32, 2, 3]).unwrap();
    let other = Tuning { team: 8, ..Tuning::GPU };
    assert!(matches!(scan(&compute, Scan::new::<u32>(3, true, &other), &x), Err(Error::Shape { .. })));
    assert!(matches!(scan(&compute, Scan::new::<u32>(4, true, &Tuning::GPU), &x), Err(Error::Shape { .. })));
}
