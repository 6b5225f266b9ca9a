use proptest::prelude::*;
use tinytrain::Error;
use tinytrain::kernels::{Compact, Comparison, Compute, Tuning, compact, compare, positions_where};
use tinytrain::reference::ops;

use crate::lab::{batch, everywhere, labels, labs};

const LENGTHS: [usize; 9] = [0, 1, 3, 17, 63, 65, 257, 513, 5000];

fn check(compute: &Compute, values: &[u32], keep: &[u32]) {
    let (given, flags) = (compute.vector(values).unwrap(), compute.vector(keep).unwrap());
    let got = compact(compute, &given, &flags).unwrap().read(compute).unwrap();
    assert_eq!(got, ops::compact(values, keep));
    let got = positions_where(compute, &flags).unwrap().read(compute).unwrap();
    assert_eq!(got, ops::compact(&(0..keep.len() as u32).collect::<Vec<u32>>(), keep));
}

#[test]
fn what_is_kept_keeps_its_order() {
    everywhere(|lab, tuning| {
        for team in [8, tuning.team] {
            let compute = lab.compute(&Tuning { team, ..*tuning });
            for length in LENGTHS {
                let values: Vec<u32> = (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
                // About a third; flags of any size.
                let some: Vec<u32> =
                    values.iter().map(|value| if value % 3 == 0 { value | 1 << 31 } else { 0 }).collect();
                check(&compute, &values, &some);
            }
        }
    });
}

#[test]
fn all_none_and_the_ends() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        for length in [1usize, 64, 1025] {
            let values = labels(length, 1000);
            for keep in [vec![0; length], vec![u32::MAX; length]] {
                check(&compute, &values, &keep);
            }
            let mut ends = vec![0; length];
            ends[0] = 1;
            ends[length - 1] = 1;
            check(&compute, &values, &ends);
        }
    });
}

#[test]
fn the_rows_that_were_taken_for_another_class() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let true_classes = compute.vector(&[3u32, 1, 4, 1, 5]).unwrap();
        let predicted = compute.vector(&[3u32, 7, 4, 1, 9]).unwrap();
        let wrong = compare(&compute, Comparison::Different, &true_classes, &predicted).unwrap();
        assert_eq!(positions_where(&compute, &wrong).unwrap().read(&compute).unwrap(), [1, 4]);
    });
}

#[test]
fn offsets_beyond_the_room_lead_nowhere() {
    everywhere(|lab, tuning| {
        let (length, kept) = (9, 7);
        let [x, keep, offsets] = [vec![5u32; length], vec![1; length], (0..length as u32).collect()];
        for positions in [false, true] {
            let y = lab.output(kept);
            let buffers = [&x, &keep, &offsets].map(|words| lab.upload(words));
            let bound: Vec<_> = buffers.iter().chain([&y.buffer]).collect();
            lab.run(&Compact { length, kept, positions }, tuning, &bound, batch(0));
            assert_eq!(lab.words(&y), if positions { &offsets[..kept] } else { &x[..kept] });
        }
    });
}

#[test]
fn there_must_be_one_flag_per_value() {
    let compute = labs()[0].compute(&Tuning::GPU);
    let (values, keep) = (compute.vector(&[1u32, 2, 3]).unwrap(), compute.vector(&[1u32, 2]).unwrap());
    assert!(matches!(compact(&compute, &values, &keep), Err(Error::Shape { kernel: "compact", .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_flags(keep in prop::collection::vec(0..2u32, 0..2000)) {
        for lab in labs() {
            let _turn = lab.turn();
            check(&lab.compute(&Tuning::GPU), &labels(keep.len(), 77), &keep);
        }
    }
}
