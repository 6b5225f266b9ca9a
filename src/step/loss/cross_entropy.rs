//! Softmax cross-entropy: the sum over the classes of t (log sum exp z - z), where t is the target's probability.

use pulp::{Simd, WithSimd};

use super::rows::{LossRows, Targets};
use super::Function;
use crate::step::exp::{exp, ln};
use crate::vectors::vectorized;

/// Rows that are worked on side by side, each in a lane of vectors: as many as the longest vectors have.
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
        to_lanes(z, width, scratch);
        vectorized(Softmax { z: scratch, other, lanes: &mut lanes });
        from_lanes(scratch, gradient, width);
        let each = z.chunks_exact(width).zip(gradient.chunks_exact_mut(width));
        for ((lane, row), (z, gradient)) in rows.enumerate().zip(each) {
            let (z, gradient, class) = (&z[..outputs], &mut gradient[..outputs], classes[row] as usize);
            gradient[class] -= (1.0 - smoothing) * scales[row];
            predictions[row] = lanes.best[lane];
            let level = lanes.levels[lane];
            losses[row] = level - f64::from(z[class]);
        }
    }
}

/// What belongs to each row of a block.
#[derive(Default)]
struct Lanes {
    scales: [f32; LANES],
    /// The first class of the largest logit.
    best: [u32; LANES],
    maxima: [f32; LANES],
    /// Sums of exp(z - maximum).
    sums: [f32; LANES],
    /// log sum exp z.
    levels: [f64; LANES],
}

/// Rows of `width` numbers become lanes of `to`, [outputs, lanes].
// Alone in a function, it is compiled without the longest vectors, whose stores to scattered places are slow.
#[inline(never)]
fn to_lanes(rows: &[f32], width: usize, to: &mut [f32]) {
    for (lane, row) in rows.chunks_exact(width).enumerate() {
        to.chunks_exact_mut(LANES).zip(row).for_each(|(to, value)| to[lane] = *value);
    }
}

/// And back.
#[inline(never)]
fn from_lanes(from: &[f32], rows: &mut [f32], width: usize) {
    for (lane, row) in rows.chunks_exact_mut(width).enumerate() {
        from.chunks_exact(LANES).zip(row).for_each(|(from, value)| *value = from[lane]);
    }
}

/// From logits z, [outputs, lanes]: (softmax - `other`) times the scale of each row, in their place. Each lane is computed as if it
/// were alone.
struct Softmax<'a> {
    z: &'a mut [f32],
    other: f32,
    lanes: &'a mut Lanes,
}

impl WithSimd for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { z, other, lanes } = self;
        let vectors = LANES / S::F32_LANES;
        for vector in 0..vectors {
            let (z, _) = S::as_mut_simd_f32s(z);
            let (mut maximum, mut best) = (z[vector], simd.splat_u32s(0));
            for (class, row) in (0..).zip(z.chunks_exact(vectors)) {
                let larger = simd.greater_than_f32s(row[vector], maximum);
                maximum = simd.select_f32s(larger, row[vector], maximum);
                best = simd.select_u32s(larger, simd.splat_u32s(class), best);
            }
            for row in z.chunks_exact_mut(vectors) {
                row[vector] = simd.sub_f32s(row[vector], maximum);
            }
            S::as_mut_simd_f32s(&mut lanes.maxima).0[vector] = maximum;
            S::as_mut_simd_u32s(&mut lanes.best).0[vector] = best;
        }
        z.iter_mut().for_each(|z| *z = exp(*z));
        for vector in 0..vectors {
            let (z, _) = S::as_mut_simd_f32s(z);
            let scale = S::as_simd_f32s(&lanes.scales).0[vector];
            let sum = z.chunks_exact(vectors).fold(simd.splat_f32s(0.0), |sum, row| simd.add_f32s(sum, row[vector]));
            let other = simd.mul_f32s(simd.splat_f32s(other), scale);
            for row in z.chunks_exact_mut(vectors) {
                let share = simd.mul_f32s(simd.div_f32s(row[vector], sum), scale);
                row[vector] = simd.sub_f32s(share, other);
            }
            S::as_mut_simd_f32s(&mut lanes.sums).0[vector] = sum;
        }
        let Lanes { maxima, sums, levels, .. } = lanes;
        for ((level, maximum), sum) in levels.iter_mut().zip(maxima).zip(sums) {
            *level = f64::from(*maximum) + ln(f64::from(*sum));
        }
    }
}
