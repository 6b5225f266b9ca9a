use tinytrain::kernels::SumSquares;

use crate::lab::{batch, everywhere, random};

#[test]
fn odd_lengths() {
    everywhere(|lab, tuning| {
        for length in [1, 3, 17, 257, 20_001] {
            let g = random(1, 4 * length, 1);
            let groups = tuning.row_groups(length);
            let squares = lab.output(groups);
            lab.run(&SumSquares { length }, tuning, &[&lab.matrix(&g), &squares.buffer], batch(0));
            let got: f64 = lab.floats(&squares).into_iter().map(f64::from).sum();
            let want: f64 = g.iter().map(|g| f64::from(*g).powi(2)).sum();
            // A thread adds its share, four squares at a time; then a tree.
            let threads = groups * tuning.lanes * tuning.rows;
            let roundings = (4 * length.div_ceil(threads) + 16) as f64;
            let bound = roundings * f64::from(f32::EPSILON) * want;
            assert!((got - want).abs() <= bound, "{length}: {got}, want {want} within {bound}");
        }
    });
}
