//! Every tile shape that `tinytrain tune` may take, in every product of a fused step; those of the two-dispatch step are
//! in `tests/training/candidates.rs`.

use tinytrain::kernels::{MatmulTile, Tuning};

use crate::lab::labs;
use crate::nonlinear::RELU;
use crate::{forward, input_gradient, weight_gradient};

/// On one adapter, as compiling takes long: what another driver makes of a shape `tune` itself compares.
#[test]
fn every_candidate_multiplies_odd_shapes() {
    let lab = &labs()[0];
    let others = MatmulTile::WIDE_CANDIDATES.into_iter().filter(|it| !MatmulTile::CANDIDATES.contains(it));
    for product in MatmulTile::CANDIDATES.into_iter().chain(others).filter(|it| it.fits(&lab.context)) {
        let tuning = Tuning { product, wide: product, ..Tuning::for_device(&lab.context) };
        for [rows, inputs, outputs] in [[17, 70, 65], [67, 33, 131]] {
            forward::check(lab, &tuning, [rows, rows - 1, inputs, outputs], RELU);
            input_gradient::check(lab, &tuning, [rows, rows - 1, inputs, outputs], Some(RELU));
            weight_gradient::check(lab, &tuning, [rows, rows - 1, inputs, outputs]);
        }
    }
}
