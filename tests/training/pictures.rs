//! The pictures of a profile: they show what they should, and no text stands over another.

use tinytrain::data::Reader;
use tinytrain::engine::Device;
use tinytrain::profile::{PICTURES, Picture, Profile, Report, pictures, profile};
use tinytrain::schedule::ScheduleKind;
use tinytrain::train::Config;

use crate::support::{Pictures, devices};

/// A deeper network than most, so that there are many kernels.
fn profiles(device: &Device) -> Vec<Profile> {
    let images = Pictures::new(200, 12, 3, 5);
    let kinds: &[_] = match device {
        Device::Cpu => &[None],
        Device::Gpu(_) => &ScheduleKind::ALL.map(Some),
    };
    let made = |schedule: &Option<ScheduleKind>| {
        let hidden = vec![19, 17, 13, 11, 7];
        let config = Config { hidden, batch_size: 16, schedule: *schedule, ..Config::default() };
        let (files, labels) = images.idx_files();
        let mut open = || {
            let (files, labels) = (std::io::Cursor::new(files.clone()), std::io::Cursor::new(labels.clone()));
            Reader::from_idx("images".as_ref(), files, "labels".as_ref(), labels, &Default::default())
        };
        profile(&config, device, 10, &mut open).unwrap()
    };
    kinds.iter().map(made).collect()
}

/// The texts of an SVG: left, top, right, bottom, what is written.
fn texts(svg: &str) -> Vec<([f64; 4], String)> {
    svg.split("<text ")
        .skip(1)
        .map(|element| {
            let (head, rest) = element.split_once('>').unwrap();
            let text = rest.split_once("</text>").unwrap().0.trim().to_owned();
            let attribute = |name: &str| {
                let (_, value) =
                    head.split_once(&format!("{name}=\"")).unwrap_or_else(|| panic!("{name}: {head}"));
                value.split_once('"').unwrap().0
            };
            let number = |name: &str| attribute(name).parse::<f64>().unwrap();
            let [x, y, size] = ["x", "y", "font-size"].map(number);
            // What DejaVu Sans needs on the average, whose size plotters gives as that of its capitals.
            let (long, high) = (0.58 * size * text.chars().count() as f64, size);
            let top = match head.split_once("dy=\"").map(|(_, rest)| rest.split_once('"').unwrap().0) {
                Some("0.5ex") => y - high / 2.0,
                Some("0.76em") => y,
                Some("-0.5ex") | None => y - high,
                Some(other) => panic!("{other}: {head}"),
            };
            if head.contains("rotate(270") {
                return ([top - y + x, y - long / 2.0, top - y + x + high, y + long / 2.0], text);
            }
            let left = match attribute("text-anchor") {
                "start" => x,
                "middle" => x - long / 2.0,
                _ => x - long,
            };
            ([left, top, left + long, top + high], text)
        })
        .collect()
}

#[track_caller]
fn assert_readable(svg: &str, what: &str) {
    let texts = texts(svg);
    assert!(texts.len() > 8, "{what}: {texts:?}");
    for (at, (a, text)) in texts.iter().enumerate() {
        assert!(a[0] >= 0.0 && a[1] >= 0.0 && a[2] <= 1200.0 && a[3] <= 700.0, "{what}: {text} at {a:?}");
        for (b, other) in &texts[at + 1..] {
            let apart = a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
            assert!(apart, "{what}: {text:?} at {a:?} over {other:?} at {b:?}");
        }
    }
}

fn assert_pictures(made: &Profile, others: &[Report]) {
    let device = &made.report.device;
    let drawn = pictures(made, others).unwrap();
    assert_eq!(drawn.len(), PICTURES.len());
    for (Picture { svg, png }, name) in drawn.iter().zip(PICTURES) {
        let what = format!("{name} of {device}, {:?}", made.report.schedule);
        assert!(svg.contains("width=\"1200\" height=\"700\""), "{what}");
        assert_readable(svg, &what);
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height, pixels.len()), (1200, 700, 3 * 1200 * 700), "{what}");
        // Not blank, and not full.
        let white = pixels.chunks_exact(3).filter(|pixel| **pixel == [255; 3]).count();
        assert!((200_000..835_000).contains(&white), "{what}: {white} white pixels");
    }
    let [roofline, timeline, kernels] = &drawn[..] else { panic!("three pictures") };
    for row in &made.report.kernels {
        let name = row.kernel.split(" + ").next().unwrap();
        for picture in [roofline, timeline, kernels] {
            assert!(picture.svg.contains(name), "{device}: {name}");
        }
    }
    for report in others.iter().chain([&made.report]) {
        let name = report.schedule.as_ref().unwrap_or(&report.engine);
        assert!(kernels.svg.contains(name.as_str()), "{device}: {name}");
    }
}

#[test]
fn pictures_show_every_kernel_and_no_text_stands_over_another() {
    for device in devices() {
        let mut made = profiles(&device);
        for _ in 0..made.len() {
            let others: Vec<Report> = made[1..].iter().map(|other| other.report.clone()).collect();
            assert_pictures(&made[0], &others);
            made.rotate_left(1);
        }
    }
}
