use ndarray::Array2;
use tinytrain::kernels::{Augment as Kernel, FeatureFormat, Samples, blocks};
use tinytrain::reference::{bounds, ops};
use tinytrain::step::{Augment, Distortion, ImageSize};

use crate::lab::{assert_close, everywhere};

/// Samples, height, width and channels of the images, first row and number of rows.
const SHAPES: [([usize; 4], [usize; 2]); 6] = [
    ([1, 1, 1, 1], [0, 1]),
    ([3, 2, 3, 1], [1, 1]),
    ([5, 7, 9, 3], [2, 3]),
    ([70, 28, 28, 1], [3, 65]),
    ([3, 17, 65, 1], [0, 3]),
    ([2, 40, 33, 4], [1, 1]),
];

fn settings() -> impl Iterator<Item = Augment> {
    let texts =
        ["rotate=180", "digits", "shear=40,zoom=0.5,flip", "shift=3,elastic=60:2,cutout=5", "elastic=9:30"];
    texts.into_iter().map(|text| text.parse().expect("the settings are in range"))
}

#[test]
fn images_are_distorted_as_by_the_reference() {
    everywhere(|lab, tuning| {
        for ([samples, height, width, channels], [first, rows]) in SHAPES {
            let size = ImageSize { height, width, channels };
            for (epoch, augment) in (1..).zip(settings()) {
                // A square of background is smaller than an image.
                let augment = Augment { cutout: augment.cutout.min(height.min(width) as u32 - 1), ..augment };
                for stored in [FeatureFormat::Bytes, FeatureFormat::Floats] {
                    let (features, values) = lab.features(stored, samples, size.values());
                    let seed = 0x1234_5678_9abc_def0;
                    let distortion = Distortion::new(&augment, size, seed).unwrap();
                    let samples = Samples { stored, count: samples };
                    let kernel = Kernel { distortion, rows, samples };
                    let words = if stored == FeatureFormat::Bytes { 1 } else { 4 };
                    let pitch = blocks(size.values()) * words;
                    let output = lab.output((first + rows) * pitch);
                    let record = kernel.record(first, rows, epoch);
                    lab.run(&kernel, tuning, &[&features, &output.buffer], record);
                    let numbers: Vec<u32> = (first as u32..(first + rows) as u32).collect();
                    let want = ops::augment(values.view(), &augment, size, seed, epoch, &numbers);
                    let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
                    let reach = 4.0 * (height + width) as f64 + 20.0;
                    let is_bytes = stored == FeatureFormat::Bytes;
                    let bound = want.mapv(|_| bounds::augment(largest, reach, is_bytes));
                    let words = lab.words(&output);
                    // Earlier rows are not written.
                    assert!(words[..first * pitch].iter().all(|word| f32::from_bits(*word).is_nan()));
                    let of_row = |row: &[u32]| -> Vec<f32> {
                        let bytes = row.iter().flat_map(|word| word.to_le_bytes());
                        let all: Vec<f32> = match stored {
                            FeatureFormat::Bytes => bytes.map(|byte| f32::from(byte) / 255.0).collect(),
                            FeatureFormat::Floats => row.iter().map(|word| f32::from_bits(*word)).collect(),
                        };
                        assert!(all[size.values()..].iter().all(|padding| *padding == 0.0));
                        all[..size.values()].to_vec()
                    };
                    let got: Vec<f32> = words[first * pitch..].chunks(pitch).flat_map(of_row).collect();
                    let got = Array2::from_shape_vec((rows, size.values()), got).unwrap();
                    assert_close(&format!("augment {augment}"), lab, &got, &want, &bound);
                }
            }
        }
    });
}
