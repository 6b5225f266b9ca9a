use proptest::prelude::*;
use tinytrain::Error;
use tinytrain::kernels::{Compute, RadixSort, Tuning, sort_by_key};
use tinytrain::reference::ops;

use crate::lab::{batch, labs};

/// Ends of threads (8 keys) and groups (512), and many groups.
const LENGTHS: [usize; 11] = [0, 1, 3, 17, 63, 65, 257, 511, 512, 513, 5000];

/// Threads of a group: the shipped ones, fewer than there are digits, and many.
const SORTERS: [usize; 4] = [2, 8, 64, 128];

/// Runs `test` on every adapter with groups of each size.
fn everywhere(test: impl Fn(&Compute)) {
    for lab in labs() {
        let _turn = lab.turn();
        for sorters in SORTERS {
            test(&lab.compute(&Tuning { sorters, ..Tuning::GPU }));
        }
    }
}

/// The payload is the position before, so that it shows whether the sort is stable.
fn check(compute: &Compute, keys: &[u32]) {
    let payload: Vec<u32> = (0..keys.len() as u32).rev().collect();
    let (given, moved) = (compute.vector(keys).unwrap(), compute.vector(&payload).unwrap());
    let sorted = sort_by_key(compute, &given, &moved).unwrap();
    let got = (sorted.0.read(compute).unwrap(), sorted.1.read(compute).unwrap());
    assert!(got == ops::radix_sort(keys, &payload), "{} keys are not sorted", keys.len());
    assert_eq!(given.read(compute).unwrap(), keys, "the input changed");
    assert_eq!(moved.read(compute).unwrap(), payload, "the input changed");
}

fn words(length: usize) -> Vec<u32> {
    ops::order_keys(3, 1, 0..length as u32)
}

#[test]
fn every_length() {
    everywhere(|compute| LENGTHS.into_iter().for_each(|length| check(compute, &words(length))));
}

#[test]
fn as_many_keys_as_mnist_has_rows() {
    for lab in labs() {
        let _turn = lab.turn();
        check(&lab.compute(&Tuning::GPU), &words(60_000));
    }
}

#[test]
fn special_keys() {
    everywhere(|compute| {
        let ascending: Vec<u32> = (0..1100u32).map(|i| i * 3_000_000).collect();
        check(compute, &ascending);
        check(compute, &ascending.iter().rev().copied().collect::<Vec<u32>>());
        // Many equal, all equal, each digit alone, and the extremes.
        check(compute, &words(1100).iter().map(|word| word % 3).collect::<Vec<u32>>());
        check(compute, &words(1100).iter().map(|word| word & 0xf000_000f).collect::<Vec<u32>>());
        check(compute, &[7; 1100]);
        check(compute, &[u32::MAX; 515]);
        check(compute, &[0; 515]);
        check(compute, &(0..1100).map(|i| 1 << (i * 7 % 32)).collect::<Vec<u32>>());
        check(compute, &(0..1100).map(|i| if i % 3 == 0 { u32::MAX } else { 0 }).collect::<Vec<u32>>());
    });
}

#[test]
fn offsets_beyond_the_output_lead_nowhere() {
    for lab in labs() {
        let _turn = lab.turn();
        let kernel = RadixSort { scatter: true, ..RadixSort::new(5, &Tuning::GPU) };
        let [keys, payload] = [[0u32; 5], [1, 2, 3, 4, 5]].map(|words| lab.upload(&words));
        let [moved, with] = [lab.output(5), lab.output(5)];
        let offsets = lab.upload(&[3u32; 16]);
        lab.run(&kernel, &Tuning::GPU, &[&keys, &payload, &offsets, &moved.buffer, &with.buffer], batch(0));
        assert_eq!(lab.words(&moved)[3..], [0, 0]);
        assert_eq!(lab.words(&with)[3..], [1, 2]);
    }
}

#[test]
fn wrong_shapes_are_refused() {
    let compute = labs()[0].compute(&Tuning::GPU);
    let (keys, payload) = (compute.vector(&[1u32, 2, 3]).unwrap(), compute.vector(&[1u32, 2]).unwrap());
    let refused = |compute: &Compute, payload| {
        matches!(sort_by_key(compute, &keys, payload), Err(Error::Shape { kernel: "radix_sort", .. }))
    };
    assert!(refused(&compute, &payload));
    assert!(refused(&labs()[0].compute(&Tuning { sorters: 48, ..Tuning::GPU }), &keys));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_keys(keys in prop::collection::vec(any::<u32>(), 0..2500), s in 0..SORTERS.len()) {
        for lab in labs() {
            let _turn = lab.turn();
            check(&lab.compute(&Tuning { sorters: SORTERS[s], ..Tuning::GPU }), &keys);
        }
    }
}
