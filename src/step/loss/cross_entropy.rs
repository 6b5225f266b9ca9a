//! Softmax cross-entropy: the sum over the classes of t (log sum exp z - z), where t is the target's probability.

use pulp::{Simd, WithSimd};

use super::Function;
use super::rows::{LossRows, Targets};
use crate::step::exp::{exp, ln};
use crate::vectors::vectorized;

/// Rows computed together, each in a lane of vectors: the lanes of the longest vectors.
const LANES: usize = 16;

pub(super) const PIECE: Function = Function {
    name: "cross-entropy",
    shader: include_str!("../../../shaders/loss/cross_entropy.wgsl"),
    of_classes: true,
    rows,
    flop: 10,
};

fn rows(rows: LossRows<'_>) {
    let LossRows { z, width, outputs, targets, scales, gradient, losses, predictions, scratch } = rows;
    let Targets::Classes { classes, smoothing } = targets else { return losses.fill(f64::NAN) };
    let other = smoothing / outputs as f32;
    scratch.resize(outputs * LANES, 0.0);
    let mut lanes = Lanes::default();
    for first in (0..scales.len()).step_by(LANES) {
        let rows = first..scales.len().min(first + LANES);
        let places = rows.start * width..rows.end * width;
        let (z, gradient) = (&z[places.clone()], &mut gradient[places]);
        lanes.scales[..rows.len()].copy_from_slice(&scales[rows.clone()]);
        lanes.classes[..rows.len()].copy_from_slice(&classes[rows.clone()]);
        to_lanes(z, width, scratch);
        vectorized(Softmax { z: scratch, own: 1.0 - smoothing, other, lanes: &mut lanes });
        from_lanes(scratch, gradient, width);
        losses[rows.clone()].copy_from_slice(&lanes.losses[..rows.len()]);
        predictions[rows.clone()].copy_from_slice(&lanes.best[..rows.len()]);
    }
}

/// Values for each row of a block.
#[derive(Default)]
struct Lanes {
    scales: [f32; LANES],
    classes: [u32; LANES],
    /// Logit of the row's class.
    own: [f32; LANES],
    maxima: [f32; LANES],
    /// First class with the largest logit.
    best: [u32; LANES],
    /// Sums of exp(z - maximum).
    sums: [f32; LANES],
    losses: [f64; LANES],
}

/// Transposes rows of `width` numbers to lanes of `to`, [outputs, lanes].
// A separate function is compiled without the longest vectors, whose gathering loads are slow.
#[inline(never)]
fn to_lanes(rows: &[f32], width: usize, to: &mut [f32]) {
    for (class, to) in to.chunks_exact_mut(LANES).enumerate() {
        to.iter_mut().zip(rows.chunks_exact(width)).for_each(|(to, row)| *to = row[class]);
    }
}

/// Transposes lanes back to rows.
#[inline(never)]
fn from_lanes(from: &[f32], rows: &mut [f32], width: usize) {
    for (lane, row) in rows.chunks_exact_mut(width).enumerate() {
        from.chunks_exact(LANES).zip(row).for_each(|(from, value)| *value = from[lane]);
    }
}

/// Turns logits z, [outputs, lanes], in place into (softmax - target) times the scale of each row, and
/// computes the loss without label smoothing. The target of the row's class exceeds the `other` targets by
/// `own`. Each lane is independent of the others.
struct Softmax<'a> {
    z: &'a mut [f32],
    own: f32,
    other: f32,
    lanes: &'a mut Lanes,
}

impl WithSimd for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { z, own, other, lanes } = self;
        let vectors = LANES / S::F32_LANES;
        for vector in 0..vectors {
            let (z, _) = S::as_mut_simd_f32s(z);
            let classes = S::as_simd_u32s(&lanes.classes).0[vector];
            // The loss of a nonexistent class is NaN.
            let (mut maximum, mut best, mut own) = (z[vector], simd.splat_u32s(0), simd.splat_f32s(f32::NAN));
            for (class, row) in (0..).zip(z.chunks_exact(vectors)) {
                let (z, class) = (row[vector], simd.splat_u32s(class));
                let larger = simd.greater_than_f32s(z, maximum);
                maximum = simd.select_f32s(larger, z, maximum);
                best = simd.select_u32s(larger, class, best);
                own = simd.select_f32s(simd.equal_u32s(classes, class), z, own);
            }
            for row in z.chunks_exact_mut(vectors) {
                row[vector] = simd.sub_f32s(row[vector], maximum);
            }
            S::as_mut_simd_f32s(&mut lanes.own).0[vector] = own;
            S::as_mut_simd_f32s(&mut lanes.maxima).0[vector] = maximum;
            S::as_mut_simd_u32s(&mut lanes.best).0[vector] = best;
        }
        z.iter_mut().for_each(|z| *z = exp(*z));
        for vector in 0..vectors {
            let (z, _) = S::as_mut_simd_f32s(z);
            let scale = S::as_simd_f32s(&lanes.scales).0[vector];
            let classes = S::as_simd_u32s(&lanes.classes).0[vector];
            let zeros = simd.splat_f32s(0.0);
            let sum = z.chunks_exact(vectors).fold(zeros, |sum, row| simd.add_f32s(sum, row[vector]));
            let [own, other] = [own, other].map(|target| simd.mul_f32s(simd.splat_f32s(target), scale));
            for (class, row) in (0..).zip(z.chunks_exact_mut(vectors)) {
                let is_own = simd.equal_u32s(classes, simd.splat_u32s(class));
                let share = simd.mul_f32s(simd.div_f32s(row[vector], sum), scale);
                let rest = simd.sub_f32s(share, other);
                row[vector] = simd.sub_f32s(rest, simd.select_f32s(is_own, own, zeros));
            }
            S::as_mut_simd_f32s(&mut lanes.sums).0[vector] = sum;
        }
        let Lanes { maxima, sums, own, losses, .. } = lanes;
        for (((loss, maximum), sum), own) in losses.iter_mut().zip(maxima).zip(sums).zip(own) {
            *loss = f64::from(*maximum) + ln(f64::from(*sum)) - f64::from(*own);
        }
    }
}
