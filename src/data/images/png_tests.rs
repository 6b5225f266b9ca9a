//! Tests with images encoded in memory.

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use png::{ColorType, Encoder, Info, chunk};

use super::*;
use crate::data::images::file::read_image;

fn info(color: ColorType, depth: BitDepth, columns: u32, rows: u32) -> Info<'static> {
    let mut info = Info::with_size(columns, rows);
    (info.color_type, info.bit_depth) = (color, depth);
    info
}

/// Encodes an image whose lines, including filters, are `stream`.
fn encode_stream(info: Info<'_>, stream: &[u8]) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(stream).unwrap();
    let mut bytes = Vec::new();
    let mut writer = Encoder::with_info(&mut bytes, info).unwrap().write_header().unwrap();
    writer.write_chunk(chunk::IDAT, &packed.finish().unwrap()).unwrap();
    drop(writer);
    bytes
}

/// Encodes an image from its packed lines.
fn encode(info: Info<'_>, data: &[u8]) -> Vec<u8> {
    let lines = data.chunks_exact(data.len() / info.height as usize);
    let stream: Vec<u8> = lines.flat_map(|line| [&[0], line].concat()).collect();
    encode_stream(info, &stream)
}

fn grey(columns: u32, rows: u32, data: &[u8]) -> Vec<u8> {
    encode(info(ColorType::Grayscale, BitDepth::Eight, columns, rows), data)
}

fn read(bytes: &[u8], height: usize, width: usize) -> Result<Vec<u8>> {
    decode(Path::new("i.png"), Cursor::new(bytes), ImageForm { height, width, colour: false }, false)
}

#[track_caller]
fn assert_refused(bytes: &[u8], parts: &[&str]) {
    let error = read(bytes, 2, 2).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("i.png: expected ") && !message.contains('\n'), "{message}");
    assert_eq!(error.exit_code(), 2);
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
}

/// Bytes that look random.
fn noise(count: u32) -> Vec<u8> {
    (1..=count).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

#[test]
fn every_depth_of_grey() {
    use BitDepth::{Eight, Four, One, Sixteen, Two};
    for (depth, data, expected) in [
        (One, &[0b1010_0000][..], [255, 0, 255]),
        (Two, &[0b0110_1100], [85, 170, 255]),
        (Four, &[0x0f, 0x30], [0, 255, 51]),
        (Eight, &[0, 200, 7], [0, 200, 7]),
        // 0x8100 / 257 is 128.498, 0x8101 / 257 is 128.502: the low byte counts.
        (Sixteen, &[0xff, 0xff, 0x81, 0x00, 0x81, 0x01], [255, 128, 129]),
    ] {
        let image = encode(info(ColorType::Grayscale, depth, 3, 1), data);
        assert_eq!(read(&image, 1, 3).unwrap(), expected, "{depth:?}");
    }
}

#[test]
fn colours_become_luma() {
    let colours = [255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30];
    // 76.245, 149.685, 29.07, 18.15
    let expected = [76, 150, 29, 18];
    let image = encode(info(ColorType::Rgb, BitDepth::Eight, 4, 1), &colours);
    assert_eq!(read(&image, 1, 4).unwrap(), expected);
    let wide: Vec<u8> = colours.iter().flat_map(|sample| [*sample, *sample]).collect();
    let image = encode(info(ColorType::Rgb, BitDepth::Sixteen, 4, 1), &wide);
    assert_eq!(read(&image, 1, 4).unwrap(), expected);
}

#[test]
fn colours_are_kept_pixel_by_pixel_where_they_are_wanted() {
    let colours = [255, 0, 10, 5, 100, 20, 7, 50, 30, 9, 150, 40];
    let image = encode(info(ColorType::Rgb, BitDepth::Eight, 2, 2), &colours);
    let read = |height, width, bytes: &[u8]| {
        decode(Path::new("i"), Cursor::new(bytes), ImageForm { height, width, colour: true }, false).unwrap()
    };
    assert_eq!(read(2, 2, &image), colours);
    assert_eq!(read(1, 2, &image), [131, 25, 20, 7, 125, 30]);
    assert_eq!(read(1, 2, &grey(2, 1, &[3, 200])), [3, 3, 3, 200, 200, 200]);
}

#[test]
fn what_is_transparent_lies_on_white() {
    // Half black: 255 - 128.
    let pixels = [0, 255, 0, 128, 0, 0, 100, 255];
    let expected = [0, 127, 255, 100];
    let wide = |pixels: &[u8]| -> Vec<u8> { pixels.iter().flat_map(|sample| [*sample, *sample]).collect() };
    let coloured: Vec<u8> =
        pixels.chunks(2).flat_map(|pixel| [pixel[0], pixel[0], pixel[0], pixel[1]]).collect();
    for (color, data) in [(ColorType::GrayscaleAlpha, &pixels[..]), (ColorType::Rgba, &coloured)] {
        let image = encode(info(color, BitDepth::Eight, 4, 1), data);
        assert_eq!(read(&image, 1, 4).unwrap(), expected, "{color:?}");
        let image = encode(info(color, BitDepth::Sixteen, 4, 1), &wide(data));
        assert_eq!(read(&image, 1, 4).unwrap(), expected, "{color:?}, 16 bits");
    }
    let mut keyed = info(ColorType::Grayscale, BitDepth::Eight, 3, 1);
    keyed.trns = Some(vec![0, 7].into());
    assert_eq!(read(&encode(keyed, &[6, 7, 8]), 1, 3).unwrap(), [6, 255, 8]);
}

#[test]
fn every_depth_of_a_palette() {
    for (depth, data) in [
        (BitDepth::Two, &[0b0001_1011][..]),
        (BitDepth::Four, &[0x01, 0x23]),
        (BitDepth::Eight, &[0, 1, 2, 3]),
    ] {
        let mut info = info(ColorType::Indexed, depth, 4, 1);
        info.palette = Some(vec![255, 0, 0, 0, 255, 0, 0, 0, 0, 9, 9, 9].into());
        assert_eq!(read(&encode(info.clone(), data), 1, 4).unwrap(), [76, 150, 0, 9], "{depth:?}");
        info.trns = Some(vec![255, 0, 128].into());
        assert_eq!(read(&encode(info, data), 1, 4).unwrap(), [76, 255, 127, 9], "{depth:?}");
    }
    let mut one = info(ColorType::Indexed, BitDepth::One, 2, 1);
    one.palette = Some(vec![1, 1, 1, 2, 2, 2].into());
    assert_eq!(read(&encode(one, &[0b1000_0000]), 1, 2).unwrap(), [2, 1]);
}

#[test]
fn interlaced_images_are_the_same_images() {
    for columns in 1..=10 {
        for rows in 1..=10 {
            let data = noise(columns * rows);
            let mut stream = Vec::new();
            for [x, y, dx, dy] in ADAM7 {
                for row in (y..rows).step_by(dy as usize).filter(|_| x < columns) {
                    let line = (x..columns).step_by(dx as usize).map(|x| data[(row * columns + x) as usize]);
                    stream.push(0);
                    stream.extend(line);
                }
            }
            let mut info = info(ColorType::Grayscale, BitDepth::Eight, columns, rows);
            info.interlaced = true;
            let image = encode_stream(info, &stream);
            assert_eq!(read(&image, rows as usize, columns as usize).unwrap(), data, "{columns} x {rows}");
            assert_eq!(read(&image, 3, 4).unwrap(), read(&grey(columns, rows, &data), 3, 4).unwrap());
        }
    }
}

#[test]
fn the_right_size_is_left_alone_and_a_single_pixel_fills_all() {
    let data = noise(28 * 28);
    assert_eq!(read(&grey(28, 28, &data), 28, 28).unwrap(), data);
    assert_eq!(read(&grey(1, 1, &[77]), 28, 28).unwrap(), [77; 28 * 28]);
    assert_eq!(read(&grey(28, 28, &[9; 28 * 28]), 1, 1).unwrap(), [9]);
}

#[test]
fn inverting_swaps_black_and_white() {
    let image = grey(3, 1, &[0, 200, 255]);
    assert_eq!(
        decode(Path::new("i"), Cursor::new(image), ImageForm { height: 1, width: 3, colour: false }, true)
            .unwrap(),
        [255, 55, 0]
    );
}

#[test]
fn half_the_size_is_the_mean_of_four_pixels() {
    let data = noise(56 * 56);
    let at = |row: usize, column: usize| u32::from(data[row * 56 + column]);
    let mean = |index: usize| {
        let (row, column) = (index / 28 * 2, index % 28 * 2);
        let sum = at(row, column) + at(row, column + 1) + at(row + 1, column) + at(row + 1, column + 1);
        ((sum + 2) / 4) as u8
    };
    let expected: Vec<u8> = (0..28 * 28).map(mean).collect();
    assert_eq!(read(&grey(56, 56, &data), 28, 28).unwrap(), expected);
}

/// Each value as an integral over its area, in f64.
fn reference(data: &[u8], [rows, columns]: [usize; 2], [height, width]: [usize; 2]) -> Vec<f64> {
    let overlap = |pixel: usize, pixels: usize, area: usize, areas: usize| {
        let (pixel, area) = (pixel as f64 / pixels as f64, area as f64 / areas as f64);
        let end = (pixel + 1.0 / pixels as f64).min(area + 1.0 / areas as f64);
        (end - pixel.max(area)).max(0.0) * areas as f64
    };
    let value = |row: usize, column: usize| {
        let parts = (0..rows * columns).map(|index| {
            let (y, x) = (index / columns, index % columns);
            f64::from(data[index]) * overlap(y, rows, row, height) * overlap(x, columns, column, width)
        });
        parts.sum::<f64>()
    };
    (0..height * width).map(|index| value(index / width, index % width)).collect()
}

#[test]
fn any_other_size_is_the_mean_over_areas() {
    for (source, target) in
        [([53, 37], [28, 28]), ([5, 3], [7, 11]), ([3, 64], [28, 5]), ([1, 9], [4, 4]), ([29, 27], [28, 28])]
    {
        let [rows, columns] = source;
        let data = noise((rows * columns) as u32);
        let found = read(&grey(columns as u32, rows as u32, &data), target[0], target[1]).unwrap();
        for (found, expected) in found.iter().zip(reference(&data, source, target)) {
            assert!((f64::from(*found) - expected).abs() < 0.5 + 1e-9, "{found}, not {expected}");
        }
    }
}

#[test]
fn files_that_end_early_are_refused() {
    let image = grey(9, 9, &noise(81));
    assert!(read(&image, 2, 2).is_ok());
    for length in 0..image.len() {
        assert_refused(&image[..length], &["a whole PNG image", "an early end"]);
    }
    let missing_line = encode_stream(info(ColorType::Grayscale, BitDepth::Eight, 2, 2), &[0, 1, 2]);
    assert_refused(&missing_line, &["a whole PNG image"]);
}

#[test]
fn damaged_files_are_one_line() {
    let image = grey(9, 9, &noise(81));
    for index in 0..image.len() {
        let mut damaged = image.clone();
        damaged[index] ^= 0x55;
        assert_refused(&damaged, &["a whole PNG image"]);
    }
    for other in [&b"label,x\n1,2\n"[..], b"GIF89a\0\0\0\0", &[0; 100]] {
        assert_refused(other, &["a whole PNG image", "Invalid PNG signature"]);
    }
}

#[test]
fn huge_images_are_refused_by_their_header() {
    let header = |columns, rows| {
        let mut bytes = grey(1, 1, &[0]);
        let mut writer = Vec::new();
        let encoder =
            Encoder::with_info(&mut writer, info(ColorType::Rgba, BitDepth::Sixteen, columns, rows));
        drop(encoder.unwrap().write_header().unwrap());
        bytes.splice(..33, writer[..33].iter().copied());
        bytes
    };
    for (columns, rows) in [(10_001, 10_000), (1, 100_000_001), (2_147_483_647, 2_147_483_647)] {
        let found = format!("{columns} x {rows} pixels");
        assert_refused(&header(columns, rows), &["at most 100 megapixels", &found]);
    }
    // Few enough pixels, but more than the file can contain.
    for (columns, rows) in [(100_000_000, 1), (10_000, 10_000)] {
        let found = format!("a header that says {columns} x {rows} pixels");
        assert_refused(&header(columns, rows), &["an image that ", " bytes can hold", &found]);
    }
    // A long enough file, but a line of pixels takes 800 MB.
    let long = [header(100_000_000, 1), vec![0; 800_000]].concat();
    assert_refused(&long, &["a whole PNG image", "imits"]);
}

#[test]
fn sizes_that_no_memory_holds_are_refused() {
    let error = read(&grey(1, 1, &[0]), 1 << 40, 1 << 40).unwrap_err();
    assert!(error.to_string().contains("of memory, but only "), "{error}");
}

#[test]
fn files_and_what_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("i.png");
    std::fs::write(&path, grey(2, 1, &[3, 5])).unwrap();
    assert_eq!(read_image(&path, ImageForm { height: 1, width: 2, colour: false }, false).unwrap(), [3, 5]);
    for path in [folder.path().join("none"), folder.path().to_owned()] {
        assert!(
            matches!(
                read_image(&path, ImageForm { height: 1, width: 2, colour: false }, false),
                Err(Error::Read { .. })
            ),
            "{}",
            path.display()
        );
    }
}

#[test]
fn an_image_that_its_file_cannot_hold_is_refused_before_there_is_room_for_it() {
    let mut image = grey(2, 2, &[1, 2, 3, 4]);
    // The width, and the checksum after the header.
    image[16..20].copy_from_slice(&40_000_000u32.to_be_bytes());
    let mut sum = flate2::Crc::new();
    sum.update(&image[12..29]);
    image[29..33].copy_from_slice(&sum.sum().to_be_bytes());
    let expected = format!("an image that {} bytes can hold", image.len());
    assert_refused(&image, &[&expected, "a header that says 40000000 x 2 pixels"]);
}

/// The decoder would read such palettes beyond their ends.
#[test]
fn palettes_of_other_sizes_are_refused() {
    let with = |palette: usize, alphas: usize| {
        let mut info = info(ColorType::Indexed, BitDepth::Eight, 2, 2);
        info.palette = Some(noise(palette as u32).into());
        info.trns = (alphas > 0).then(|| noise(alphas as u32).into());
        encode(info, &[0, 1, 1, 0])
    };
    for (palette, alphas) in [(7, 0), (28, 3), (769, 0), (771, 0), (6, 3)] {
        assert_refused(&with(palette, alphas), &["i.png: expected "]);
    }
    for (palette, alphas) in [(6, 0), (6, 2), (768, 256)] {
        assert_eq!(read(&with(palette, alphas), 2, 2).unwrap().len(), 4, "{palette} {alphas}");
    }
}
