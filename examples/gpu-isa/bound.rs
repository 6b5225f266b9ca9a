//! The least time that a product can take: what the registers and the workgroup memory of its tile allow.

use serde::Serialize;

use crate::clock::Hardware;
use crate::model::Footprint;
use crate::products::ProductLoop;

/// The time that the multiply-adds of a product and its reads of workgroup memory would take by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// Microseconds, if all units had the same share of the work, fractions of workgroups too.
    pub microseconds: f64,
    /// What takes them: the `vector` units, `shared` memory, or the `residency` of so few waves that they cannot hide one
    /// wait for workgroup memory a step.
    pub by: &'static str,
    /// Workgroups for each that there would be if every unit had as many as the one with the most: 0.5 if half of the
    /// units are idle for half of the time, or all of it.
    pub even: f64,
}

/// The bound of a dispatch of whose waves some pass these loops. Nothing where no product is made.
pub fn bound(hardware: &Hardware, waves: &[Vec<ProductLoop>], footprint: &Footprint) -> Option<Bound> {
    // Of a wave, on average.
    let sum = |of: fn(&ProductLoop) -> f64| {
        waves.iter().flatten().map(|each| each.rounds as f64 * of(each)).sum::<f64>() / waves.len() as f64
    };
    let vector = hardware.vector * sum(|each| each.multiply_adds);
    let reads = sum(|each| each.reads);
    let waits = if reads > 0.0 { hardware.shared * sum(|_| 1.0) } else { 0.0 };
    let resident = footprint.resident(hardware) * footprint.waves;
    // Of a wave, on a unit where all that may be resident are.
    let cycles = [
        ("vector", vector / hardware.schedulers as f64),
        ("shared", reads / hardware.shared_ports as f64),
        ("residency", (vector + waits) / resident as f64),
    ];
    let (by, cycles) =
        cycles.into_iter().fold(("vector", 0.0), |most, each| if each.1 > most.1 { each } else { most });
    let of_unit = (footprint.groups * footprint.waves) as f64 / hardware.units as f64;
    let most = footprint.groups.div_ceil(hardware.units) * hardware.units;
    (cycles > 0.0).then(|| Bound {
        microseconds: cycles * of_unit / hardware.clock,
        by,
        even: footprint.groups as f64 / most as f64,
    })
}
