//! JPEG images, compared with another decoder.

use std::path::PathBuf;

use tempfile::TempDir;
use tinytrain::data::{ImageForm, image_form, read_image};

use crate::jpegs::{
    BLUE, COLOUR, COLOUR_PIXELS, GREY, GREY_PIXELS, INKS, INKS_PIXELS, PROGRESSIVE, RED, bytes,
};
use crate::support::assert_error;

/// Writes a file and returns its path.
fn file(place: &TempDir, contents: &[u8]) -> PathBuf {
    let path = place.path().join("i.jpg");
    std::fs::write(&path, contents).unwrap();
    path
}

#[test]
fn pixels_are_as_in_another_decoder() {
    let place = tempfile::tempdir().unwrap();
    for (image, [height, width], pixels) in [
        (GREY, [7, 11], GREY_PIXELS),
        (COLOUR, [8, 16], COLOUR_PIXELS),
        (PROGRESSIVE, [8, 16], COLOUR_PIXELS),
        (INKS, [4, 5], INKS_PIXELS),
    ] {
        let (path, pixels) = (file(&place, &bytes(image)), bytes(pixels));
        let form = ImageForm { height, width, colour: pixels.len() > height * width };
        assert_eq!(image_form(&path).unwrap(), form);
        let found = read_image(&path, form, false).unwrap();
        assert_eq!(found.len(), pixels.len());
        assert!(found.iter().zip(&pixels).all(|(found, pixel)| found.abs_diff(*pixel) <= 2), "{form}");
        // Luma, and the mean of all pixels.
        let luma = |pixel: &[u8]| match *pixel {
            [red, green, blue] => 0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue),
            ref grey => grey[0].into(),
        };
        let pixels: Vec<f64> = pixels.chunks(pixels.len() / (height * width)).map(luma).collect();
        let grey = read_image(&path, ImageForm { colour: false, ..form }, true).unwrap();
        assert!(grey.iter().zip(&pixels).all(|(grey, pixel)| (255.0 - pixel - f64::from(*grey)).abs() < 2.6));
        let mean = read_image(&path, ImageForm { height: 1, width: 1, colour: false }, false).unwrap()[0];
        let expected = pixels.iter().sum::<f64>() / pixels.len() as f64;
        assert!((expected - f64::from(mean)).abs() < 2.0, "{form}: {mean}, not {expected}");
    }
    for (image, colour) in [(RED, [230, 20, 31]), (BLUE, [21, 30, 231])] {
        let form = ImageForm { height: 1, width: 2, colour: true };
        let found = read_image(file(&place, &bytes(image)), form, false).unwrap();
        assert!(found.iter().zip(colour.iter().cycle()).all(|(found, value)| found.abs_diff(*value) <= 2));
    }
}

#[test]
fn damaged_files_are_one_line() {
    let place = tempfile::tempdir().unwrap();
    let form = ImageForm { height: 2, width: 3, colour: true };
    for image in [GREY, COLOUR, PROGRESSIVE].map(bytes) {
        let mut fault_count = 0;
        for length in 3..image.len() {
            let error = read_image(file(&place, &image[..length]), form, false).unwrap_err();
            assert_error(&error, &["i.jpg: expected a whole JPEG image, found "]);
        }
        for index in 3..image.len() {
            let mut damaged = image.clone();
            damaged[index] ^= 0x55;
            // Changed pixels are pixels, as there is no checksum.
            if let Err(error) = read_image(file(&place, &damaged), form, false) {
                assert_error(&error, &["i.jpg: expected ", "found "]);
                fault_count += 1;
            }
        }
        assert!(fault_count > 50, "{fault_count}");
        // Bytes after the end are no part of the image.
        let longer = [&image[..], b"more"].concat();
        assert!(read_image(file(&place, &longer), form, false).is_ok());
    }
    for contents in [&b""[..], b"\xff\xd8", b"GIF89a"] {
        let error = read_image(file(&place, contents), form, false).unwrap_err();
        assert_error(&error, &["i.jpg: expected a PNG or JPEG image, found "]);
    }
}

#[test]
fn huge_images_are_refused_by_their_header() {
    let place = tempfile::tempdir().unwrap();
    let refused = |sides: [u16; 2], parts: &[&str]| {
        let mut image = bytes(GREY);
        let frame = image.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
        image.splice(frame + 5..frame + 9, sides.map(u16::to_be_bytes).concat());
        let path = file(&place, &image);
        assert_error(&image_form(&path).unwrap_err(), parts);
        let form = ImageForm { height: 1, width: 1, colour: false };
        assert_error(&read_image(&path, form, false).unwrap_err(), parts);
    };
    refused([20_000, 30_000], &["an image of at most 100 megapixels, found 30000 x 20000 pixels"]);
    refused([9000, 8000], &["an image that 183 bytes can hold", "a header that says 8000 x 9000 pixels"]);
    refused([0, 1], &["a whole JPEG image, found a fault (Image width or height is set to zero"]);
}
