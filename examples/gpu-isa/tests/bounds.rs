//! The rate that a tile allows, over numbers that can be added up by hand.

use super::parts::HARDWARE;
use crate::assembly::Assembly;
use crate::bound::bound;
use crate::model::Footprint;
use crate::products::ProductLoop;

const PRODUCT: ProductLoop = ProductLoop {
    rounds: 10,
    multiply_adds: 100.0,
    share: 0.5,
    trips: 1.0,
    barriers: 2.0,
    reads: 50.0,
    conflicts: 1.0,
};

/// Three waves for each of ten units.
const FOOTPRINT: Footprint = Footprint { groups: 15, waves: 2, lanes: 64, registers: 64, memory: 1024 };

fn found(product: ProductLoop, footprint: Footprint) -> (f64, &'static str, f64) {
    let bound = bound(&HARDWARE, &[vec![product]], &footprint).unwrap();
    ((bound.microseconds * 1e6).round() / 1e6, bound.by, bound.even)
}

#[test]
fn a_tile_is_bound_by_what_takes_longest() {
    // 1000 multiply-adds of two cycles on two schedulers; 500 cycles of reads; half of the units have two workgroups.
    assert_eq!(found(PRODUCT, FOOTPRINT), (3.0, "vector", 0.75));
    assert_eq!(found(ProductLoop { reads: 200.0, ..PRODUCT }, FOOTPRINT), (6.0, "shared", 0.75));
    // One workgroup at a time: its two waves take 2000 cycles and wait ten times for 70.
    let large = Footprint { registers: 512, ..FOOTPRINT };
    assert_eq!(found(PRODUCT, large), (4.05, "residency", 0.75));
    // Who reads nothing does not wait.
    assert_eq!(found(ProductLoop { reads: 0.0, ..PRODUCT }, large), (3.0, "vector", 0.75));
    // Three workgroups leave seven units idle, twenty none.
    assert_eq!(found(PRODUCT, Footprint { groups: 3, ..FOOTPRINT }), (0.6, "vector", 0.3));
    assert_eq!(found(PRODUCT, Footprint { groups: 20, ..FOOTPRINT }), (4.0, "vector", 1.0));
    // Every second wave makes no product.
    let half = bound(&HARDWARE, &[vec![PRODUCT], Vec::new()], &FOOTPRINT).unwrap();
    assert_eq!((half.microseconds, half.by), (1.5, "vector"));
    assert_eq!(bound(&HARDWARE, &[Vec::new()], &FOOTPRINT), None);
    assert_eq!(bound(&HARDWARE, &[], &FOOTPRINT), None);
}

#[test]
fn reads_of_workgroup_memory_are_told_from_stores() {
    let lines =
        ["ds_read_b128 v[0:3], v8", "ds_load_2addr_b32 v[0:1], v8", "ds_write_b128 v8, v[0:3]", "s_barrier"];
    let reads = lines.map(|line| Assembly::parse(line).instructions[0].is_shared_read());
    assert_eq!(reads, [true, true, false, false]);
}
