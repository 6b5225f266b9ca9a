//! The pictures of a profile show every kernel and every schedule, and their height fits the contents.

use tinytrain::data::Reader;
use tinytrain::engine::Device;
use tinytrain::profile::{Profile, Report, profile};
use tinytrain::report::{PICTURES, profile_pictures};
use tinytrain::schedule::ScheduleKind;
use tinytrain::train::Config;

use crate::support::{Pictures, devices};

/// Profiles a deeper network, so that there are many kernels.
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

/// Returns width and height, after checking that the contents are within them.
#[track_caller]
fn size(svg: &str, what: &str) -> [f64; 2] {
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{what}: {svg}");
    let numbers = |text: &str, name: &str| -> Vec<f64> {
        let start = format!(" {name}=\"");
        let values = text.split(&start).skip(1);
        values.map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect()
    };
    let (width, height) = (numbers(svg, "width")[0], numbers(svg, "height")[0]);
    for (name, most) in [("x", width), ("cx", width), ("y", height), ("cy", height)] {
        let found = numbers(svg, name);
        assert!(found.iter().all(|place| (0.0..most).contains(place)), "{what}: {name} {found:?}");
    }
    [width, height]
}

fn assert_pictures(made: &Profile, others: &[Report]) {
    let device = &made.report.device;
    let drawn = profile_pictures(made, others);
    for (svg, name) in drawn.iter().zip(PICTURES) {
        let what = format!("{name} of {device}, {:?}", made.report.schedule);
        assert_eq!(size(svg, &what)[0], 1100.0, "{what}");
        for row in &made.report.kernels {
            assert!(svg.contains(&row.kernel), "{what}: {}", row.kernel);
        }
    }
    let kernels = &drawn[2];
    for report in others.iter().chain([&made.report]) {
        let name = report.schedule.as_ref().unwrap_or(&report.engine);
        assert!(kernels.contains(name.as_str()), "{device}: {name}");
    }
    if !others.is_empty() {
        let alone = &profile_pictures(made, &[])[2];
        assert!(size(alone, "alone")[1] < size(kernels, "all")[1], "{device}");
    }
}

#[test]
fn pictures_show_every_kernel_and_schedule() {
    for device in devices() {
        let mut made = profiles(&device);
        for _ in 0..made.len() {
            let others: Vec<Report> = made[1..].iter().map(|other| other.report.clone()).collect();
            assert_pictures(&made[0], &others);
            made.rotate_left(1);
        }
    }
}
