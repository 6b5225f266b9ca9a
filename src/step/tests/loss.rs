//! Losses compared with the reference.

use ndarray::{Array2, aview1};

use crate::reference::{ReferenceTargets, ops};
use crate::step::{Levels, Loss, LossRows, Targets};

const EPS: f64 = f32::EPSILON as f64;

/// Outputs of rows of one to twelve: small, large, equal, far apart.
fn rows() -> Vec<Vec<f32>> {
    let mut rows =
        vec![vec![0.0], vec![3.0, 3.0], vec![-80.0, 90.0], vec![1e30, -1e30, 1e30], vec![0.0, 200.0, -1e-30]];
    for n in 1..=12 {
        rows.push((0..n).map(|j| 4.0 * ((7 * j + n) as f32).sin()).collect());
    }
    rows
}

/// The exponentials are within 2 eps, their sum and quotient within n + 2 eps: n + 8 eps of the gradient's
/// scale. The loss has the sum's error through the logarithm, and a rounding of the size of the outputs if it
/// is computed from them.
fn check(loss: Loss, z: &[f32], given: Targets<'_>, targets: &ReferenceTargets<'_>) {
    let scale = 0.25;
    let mut gradient = vec![f32::NAN; z.len()];
    let got = loss.row(z, given, scale, &mut gradient);
    let wide: Vec<f64> = z.iter().copied().map(f64::from).collect();
    let wide = aview1(&wide).insert_axis(ndarray::Axis(0));
    let want = ops::row_losses(loss, wide, &targets.smoothed(0.0))[0];
    let n = z.len() as f64;
    assert!(
        (got - want).abs() <= (n + 8.0) * EPS * want.abs().max(1.0),
        "{loss} of {z:?}: {got}, not {want}"
    );
    let want = ops::loss_gradient(loss, wide, targets);
    for (got, want) in gradient.iter().zip(&want) {
        let (got, want) = (f64::from(*got), f64::from(scale) * want);
        let bound = (n + 8.0) * EPS * want.abs().max(f64::from(scale));
        assert!((got - want).abs() <= bound, "gradient of {loss} of {z:?}: {got}, not {want}");
    }
}

#[test]
fn losses_of_values_agree_with_the_reference() {
    for loss in [Loss::Mse, Loss::Mae, Loss::Huber, Loss::BinaryCrossEntropy, Loss::Quantile(Levels::DEFAULT)]
    {
        assert!(!loss.of_classes());
        for z in rows() {
            // Some targets are met exactly, some differ by exactly 1.
            let t: Vec<f32> = z
                .iter()
                .zip(0..)
                .map(|(z, j)| if j % 3 == 0 { *z } else { (z - 1.5).floor() + 0.5 })
                .collect();
            let wide = Array2::from_shape_fn((1, t.len()), |(_, j)| f64::from(t[j]));
            check(loss, &z, Targets::Values(&t), &ReferenceTargets::values(wide.view()));
        }
    }
}

#[test]
fn cross_entropy_agrees_with_the_reference() {
    assert!(Loss::CrossEntropy.of_classes());
    for z in rows() {
        for class in 0..z.len() {
            for smoothing in [0.0f32, 0.1, 0.75] {
                let targets = [class];
                let targets = ReferenceTargets::classes(&targets).smoothed(f64::from(smoothing));
                let classes = &[class as u32];
                check(Loss::CrossEntropy, &z, Targets::Classes { classes, smoothing }, &targets);
            }
        }
    }
}

#[test]
fn gradients_of_a_smoothed_row_add_up_to_0() {
    let z = [0.5, -1.0, 3.0, 0.25];
    let mut gradient = [0.0; 4];
    let targets = Targets::Classes { classes: &[1], smoothing: 0.3 };
    Loss::CrossEntropy.row(&z, targets, 1.0, &mut gradient);
    assert!(gradient.iter().sum::<f32>().abs() < 4.0 * f32::EPSILON);
}

#[test]
fn nan_makes_the_loss_nan_and_so_does_a_target_of_the_wrong_kind() {
    for loss in Loss::ALL.iter().copied() {
        let classes = Targets::Classes { classes: &[0], smoothing: 0.0 };
        let smoothed = Targets::Classes { classes: &[0], smoothing: 0.1 };
        let values = Targets::Values(&[1.0, 2.0, 3.0]);
        let (right, wrong) =
            if loss.of_classes() { ([classes, smoothed], values) } else { ([values; 2], classes) };
        let mut gradient = [0.0; 3];
        for place in 0..3 {
            let mut z = [0.5, 0.25, 1.0];
            z[place] = f32::NAN;
            for target in right {
                assert!(loss.row(&z, target, 1.0, &mut gradient).is_nan(), "{loss} {place}");
            }
        }
        assert!(loss.row(&[0.0; 3], wrong, 1.0, &mut gradient).is_nan(), "{loss}");
    }
}

/// The largest finite outputs have a finite loss and, for losses with bounded derivatives, finite gradients.
#[test]
fn large_outputs_give_no_nan() {
    let z = [f32::MAX, f32::MIN, 0.0];
    let mut gradient = [0.0; 3];
    for (loss, want) in [(Loss::Mae, [1.0, -1.0, 0.0]), (Loss::Huber, [1.0, -1.0, 0.0])] {
        let got = loss.row(&z, Targets::Values(&[0.0; 3]), 3.0, &mut gradient);
        assert!((got / (2.0 / 3.0 * f64::from(f32::MAX)) - 1.0).abs() < 1e-7, "{loss}: {got}");
        assert_eq!(gradient, want, "{loss}");
    }
    let targets = Targets::Classes { classes: &[0], smoothing: 0.0 };
    let got = Loss::CrossEntropy.row(&z, targets, 1.0, &mut gradient);
    assert_eq!((got, gradient), (0.0, [0.0; 3]));
    let got = Loss::BinaryCrossEntropy.row(&z, Targets::Values(&[1.0, 0.0, 1.0]), 3.0, &mut gradient);
    assert!((got - 2f64.ln() / 3.0).abs() < 1e-12 && gradient == [0.0, 0.0, -0.5], "{got} {gradient:?}");
    let got = Loss::BinaryCrossEntropy.row(&z, Targets::Values(&[0.0, 1.0, 0.0]), 3.0, &mut gradient);
    assert!((got / (2.0 / 3.0 * f64::from(f32::MAX)) - 1.0).abs() < 1e-7, "{got}");
    assert_eq!(gradient, [1.0, -1.0, 0.5]);
    let quantile = Loss::Quantile(Levels::DEFAULT);
    let got = quantile.row(&z, Targets::Values(&[0.0; 3]), 3.0, &mut gradient);
    assert!((got / (1.4 / 3.0 * f64::from(f32::MAX)) - 1.0).abs() < 1e-7, "{got}");
    assert_eq!(gradient, [0.9, -0.5, 0.0]);
}

/// Any number of rows, of widths with and without padding; the first row has the largest output twice.
#[test]
fn a_row_gives_the_same_bits_beside_whichever_others() {
    let value = |row: usize, column: usize| 4.0 * ((7 * row * column + 3 * column + row) as f32).sin();
    for (outputs, width) in [(1, 1), (2, 16), (10, 16), (16, 16), (17, 32), (33, 33)] {
        for rows in [1, 3, 15, 16, 17, 63, 65] {
            let mut z: Vec<f32> = (0..rows * width).map(|i| value(i / width, i % width)).collect();
            z[..outputs].fill(3.0);
            let classes: Vec<u32> = (0..rows).map(|row| (row * 7 % outputs) as u32).collect();
            let values: Vec<f32> = (0..rows * outputs).map(|i| value(i, 2)).collect();
            let scales: Vec<f32> = (0..rows).map(|row| 0.5 - row as f32 / 8.0).collect();
            for loss in Loss::ALL.iter().copied() {
                let targets = |rows: std::ops::Range<usize>| match loss.of_classes() {
                    true => Targets::Classes { classes: &classes[rows], smoothing: 0.1 },
                    false => Targets::Values(&values[rows.start * outputs..rows.end * outputs]),
                };
                let (mut gradient, mut losses) = (vec![0.25; rows * width], vec![0.0; rows]);
                let mut predictions = vec![0; rows];
                loss.rows(LossRows {
                    z: &z,
                    width,
                    outputs,
                    targets: targets(0..rows),
                    scales: &scales,
                    gradient: &mut gradient,
                    losses: &mut losses,
                    predictions: &mut predictions,
                    scratch: &mut vec![f32::NAN; 3],
                });
                for (row, (z, gradient)) in z.chunks(width).zip(gradient.chunks(width)).enumerate() {
                    let mut alone = vec![0.0; outputs];
                    let want = loss.row(&z[..outputs], targets(row..row + 1), scales[row], &mut alone);
                    assert_eq!(
                        (losses[row], &gradient[..outputs]),
                        (want, &alone[..]),
                        "{loss} {row} of {rows}"
                    );
                    assert_eq!(gradient[outputs..], vec![0.25; width - outputs], "{loss} {row} of {rows}");
                    let first = (0..outputs).rev().max_by(|a, b| z[*a].total_cmp(&z[*b]));
                    assert_eq!(Some(predictions[row] as usize), first, "{loss} {row} of {rows}");
                }
            }
        }
    }
}

/// Gradients, losses and predictions of 20 rows of 3 logits.
fn cross_entropy(z: &[f32], classes: &[u32; 20]) -> (Vec<f32>, [f64; 20], [u32; 20]) {
    let (mut gradient, mut losses, mut predictions) = (vec![0.0; 60], [0.0; 20], [9; 20]);
    Loss::CrossEntropy.rows(LossRows {
        z,
        width: 3,
        outputs: 3,
        targets: Targets::Classes { classes, smoothing: 0.0 },
        scales: &[1.0; 20],
        gradient: &mut gradient,
        losses: &mut losses,
        predictions: &mut predictions,
        scratch: &mut Vec::new(),
    });
    (gradient, losses, predictions)
}

#[test]
fn a_class_that_is_not_there_has_no_loss() {
    let z: Vec<f32> = (0..60).map(|i| (i % 7) as f32 - 3.0).collect();
    let mut classes = [2; 20];
    classes[16] = 3;
    for (row, loss) in cross_entropy(&z, &classes).1.iter().enumerate() {
        let z: Vec<f64> = z[3 * row..][..3].iter().map(|z| f64::from(*z)).collect();
        let want = z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[2];
        assert!(if row == 16 { loss.is_nan() } else { (loss - want).abs() <= 1e-6 }, "{row}: {loss}, {want}");
    }
}

/// NaN and other values in one row do not affect other rows.
#[test]
fn a_row_that_is_not_a_number_leaves_others_alone() {
    let given = |z: &[f32]| cross_entropy(z, &[0; 20]);
    let sound: Vec<f32> = (0..60).map(|i| (i as f32).cos()).collect();
    let want = given(&sound);
    for (value, place) in [(f32::NAN, 0), (f32::NAN, 2), (f32::INFINITY, 1), (f32::NEG_INFINITY, 1)] {
        let mut z = sound.clone();
        z[3 * 5 + place] = value;
        let got = given(&z);
        for row in (0..20).filter(|row| *row != 5) {
            assert_eq!(got.0[3 * row..][..3], want.0[3 * row..][..3], "{value} {row}");
            assert_eq!((got.1[row], got.2[row]), (want.1[row], want.2[row]), "{value} {row}");
        }
        let is_lost = value != f32::NEG_INFINITY;
        assert_eq!(got.1[5].is_nan(), is_lost, "{value}");
        assert!(got.0[15..18].iter().all(|g| g.is_nan() == is_lost), "{value}");
    }
}

#[test]
fn losses_are_read_back_from_their_names() {
    for (text, levels) in [("quantile", &[0.1, 0.5, 0.9][..]), ("quantile:0.025,0.975", &[0.025, 0.975])] {
        let loss: Loss = text.parse().unwrap();
        assert_eq!(loss, Loss::Quantile(Levels::new(levels).unwrap()));
        assert_eq!(loss.to_string(), text);
        assert_eq!(serde_json::from_value::<Loss>(serde_json::to_value(loss).unwrap()).unwrap(), loss);
    }
    assert_eq!(serde_json::to_value(Loss::Quantile(Levels::DEFAULT)).unwrap(), "quantile:0.1,0.5,0.9");
    for wrong in ["quantile:", "quantile:0.5,0.1", "quantile:x", "pinball"] {
        assert!(wrong.parse::<Loss>().is_err(), "{wrong}");
    }
}
