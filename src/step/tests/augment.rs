//! Distorted images of the processor, compared with the reference.

use ndarray::Array2;

use crate::data::{Features, Rows, Scaling, TargetsRef};
use crate::engine::augmented::Distorter;
use crate::reference::{bounds, ops};
use crate::step::{Augment, Distortion, ImageSize};

#[test]
fn images_are_distorted_as_by_the_reference() {
    let texts =
        ["rotate=180", "digits", "shear=40,zoom=0.5,flip", "shift=3,elastic=60:2,cutout=5", "elastic=9:30"];
    for [samples, height, width, channels] in [[1, 1, 1, 1], [5, 7, 9, 3], [40, 28, 28, 1], [3, 17, 65, 1]] {
        let size = ImageSize { height, width, channels };
        let bytes = Array2::from_shape_fn((samples, size.values()), |(i, j)| ((i * 31 + j * 17) % 256) as u8);
        let floats = bytes.mapv(|byte| (f32::from(byte) - 40.0) / 255.0);
        for (epoch, text) in (1..).zip(texts) {
            let augment: Augment = text.parse().unwrap();
            // A square of background is smaller than an image.
            let augment = Augment { cutout: augment.cutout.min(height.min(width) as u32 - 1), ..augment };
            let distortion = Distortion::new(&augment, size, 7).unwrap();
            let numbers: Vec<u32> = (0..samples as u32).rev().collect();
            let reach = 4.0 * (height + width) as f64 + 20.0;
            for (features, scale) in [
                (Features::Bytes(bytes.iter().copied().collect()), 255.0),
                (Features::Floats(floats.iter().copied().collect()), 1.0),
            ] {
                let values: Vec<f64> = match &features {
                    Features::Bytes(values) => values.iter().map(|value| f64::from(*value) / scale).collect(),
                    Features::Floats(values) => values.iter().map(|value| f64::from(*value)).collect(),
                };
                let values = Array2::from_shape_vec(bytes.dim(), values).unwrap();
                let want = ops::augment(values.view(), &augment, size, 7, epoch, &numbers);
                let (targets, inputs) = (TargetsRef::Classes(&[]), size.values());
                let scaling = Scaling::AsIs;
                let rows = Rows { inputs, features: &features, targets, weights: &[], scaling, total: None };
                let distorted = |threads| {
                    let (epoch, distortion) = (epoch as usize, &distortion);
                    Distorter { distortion, epoch, first: 0, threads }.copies(&rows, &numbers)
                };
                assert_eq!(distorted(1), distorted(3), "{text}");
                let got: Vec<f64> = match distorted(2) {
                    Features::Bytes(values) => values.iter().map(|value| f64::from(*value) / scale).collect(),
                    Features::Floats(values) => values.iter().map(|value| f64::from(*value)).collect(),
                };
                let bound = bounds::augment(1.0, reach, scale == 255.0);
                for (place, (got, want)) in got.iter().zip(&want).enumerate() {
                    assert!((got - want).abs() <= bound, "{text}, {size:?}: {got}, not {want} at {place}");
                }
            }
        }
    }
}

/// The displacement has the mean square of smoothed noise: E(x^2) = alpha^2 / 3 / (4 pi sigma^2).
#[test]
fn elastic_displacements_have_the_strength_of_smoothed_noise() {
    let (side, images) = (28, 400);
    let size = ImageSize { height: side, width: side, channels: 1 };
    let augment: Augment = "elastic=36:6".parse().unwrap();
    // The value of a pixel is its column, so its distortion shows the displacement; far from the border.
    let image: Vec<f64> = (0..side * side).map(|pixel| (pixel % side) as f64).collect();
    let image = Array2::from_shape_vec((1, side * side), image).unwrap();
    let squares = (0..images).flat_map(|epoch| {
        let distorted = ops::augment(image.view(), &augment, size, 3, epoch, &[0]);
        [[14, 14], [10, 18], [17, 11]].map(|[y, x]| (distorted[[0, y * side + x]] - x as f64).powi(2))
    });
    let mean = squares.sum::<f64>() / f64::from(3 * images);
    let want = 36f64.powi(2) / 3.0 / (4.0 * std::f64::consts::PI * 36.0);
    // Five standard errors of a mean of 400 independent squares.
    assert!((mean / want - 1.0).abs() < 5.0 * (2.0 / f64::from(images)).sqrt(), "{mean}, not {want}");
}
