//! Small pictures as data that stand in a page: PNG in base64.

use std::fmt::Write;

use png::{BitDepth, ColorType, Encoder, EncodingError};

use tinytrain::data::ImageForm;

use crate::cli::html::escaped;

/// A picture of values from 0 to 255, pixel by pixel and row by row.
pub fn of_bytes(form: ImageForm, pixels: &[u8], alternative: &str) -> String {
    let color = if form.colour { ColorType::Rgb } else { ColorType::Grayscale };
    image(form.height, form.width, pixels, color, alternative)
}

/// A picture of numbers around 0: white is 0, blue below, orange above; the furthest from 0 has the full colour.
pub fn signed(height: usize, width: usize, numbers: &[f32], alternative: &str) -> String {
    let most = numbers.iter().fold(f32::MIN_POSITIVE, |most, number| most.max(number.abs()));
    let pixel = |number: &f32| {
        let share = number / most;
        let full: [f32; 3] = if share < 0.0 { [0.0, 90.0, 180.0] } else { [210.0, 90.0, 0.0] };
        full.map(|full| (255.0 + (full - 255.0) * share.abs()).round() as u8)
    };
    let pixels: Vec<u8> = numbers.iter().flat_map(pixel).collect();
    image(height, width, &pixels, ColorType::Rgb, alternative)
}

/// As an element; its text where it cannot be made, which only happens to images without pixels.
fn image(height: usize, width: usize, pixels: &[u8], color: ColorType, alternative: &str) -> String {
    let alternative = escaped(alternative);
    match file(height, width, pixels, color) {
        Ok(file) => format!(
            "<img width=\"{width}\" height=\"{height}\" alt=\"{alternative}\" src=\"data:image/png;base64,{}\">",
            base64(&file)
        ),
        Err(_) => alternative,
    }
}

fn file(height: usize, width: usize, pixels: &[u8], color: ColorType) -> Result<Vec<u8>, EncodingError> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(color);
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word =
            (0..3).fold(0, |word, place| word << 8 | u32::from(group.get(place).copied().unwrap_or(0)));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            // Writing into a string cannot fail.
            let _ = text.write_char(if place > group.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn pictures_are_png() {
        let form = ImageForm { height: 2, width: 3, colour: false };
        let html = of_bytes(form, &[0, 1, 2, 3, 4, 255], "a \"3\"");
        assert!(html.starts_with(
            "<img width=\"3\" height=\"2\" alt=\"a &quot;3&quot;\" src=\"data:image/png;base64,iVBORw0KGgo"
        ));
        assert_eq!(signed(0, 0, &[], "nothing"), "nothing");
    }
}
