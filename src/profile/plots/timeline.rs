//! The timeline: what reader, host and device did in the first tenth of a second.

use plotters::prelude::*;

use crate::engine::Work;
use crate::pictures::canvas::{
    Area, Axis, Colors, Drawing, Drawn, LINE, Legend, SIZE, fill, title, write_before,
};
use crate::profile::Profile;
use crate::profile::report::names;
use crate::timing::Span;

/// Nanoseconds that are shown at most.
const SHOWN: u64 = 100_000_000;

/// Where tracks begin and end, and the legend begins.
const FIELD: (i32, i32) = (150, 950);
const LEGEND: i32 = 970;
const TOP: i32 = 80;
const BOTTOM: i32 = SIZE.1 as i32 - 60;

/// Where spans of one thread, or of the device, stand side by side.
struct Track {
    name: String,
    /// What is drawn over one another, each in the order of time.
    layers: Vec<Vec<(Span, RGBColor)>>,
}

/// See the module.
pub struct Timeline {
    device: String,
    tracks: Vec<Track>,
    legend: Legend,
    /// Nanoseconds that are shown.
    shown: u64,
}

/// Name and color of what the host does.
fn look(work: Work) -> (&'static str, RGBColor) {
    match work {
        Work::Reading => ("waiting for the reader", RGBColor(230, 170, 170)),
        Work::Upload => ("upload", RGBColor(170, 110, 40)),
        Work::Recording => ("recording", RGBColor(90, 90, 160)),
        Work::Submitting => ("submitting", RGBColor(150, 150, 220)),
        Work::Finishing => ("ending encoders", RGBColor(60, 130, 130)),
        Work::Waiting => ("waiting for others", RGBColor(220, 220, 220)),
    }
}

impl Timeline {
    /// The begin of a profile.
    pub fn new(profile: &Profile, colors: &Colors) -> Self {
        let (log, mut legend) = (&profile.log, Legend::default());
        let reader_color = RGBColor(200, 60, 60);
        let reader = log.reader.iter().map(|span| (*span, reader_color)).collect();
        let mut tracks = vec![Track { name: "reader".to_owned(), layers: vec![reader] }];
        if !log.reader.is_empty() {
            legend.add("reading and parsing", reader_color);
        }
        let (finishing, host): (Vec<_>, Vec<_>) =
            log.host.iter().partition(|(work, _)| *work == Work::Finishing);
        // Submitting is a part of other work: it comes later, so that it is drawn over that.
        let (submitting, host): (Vec<_>, Vec<_>) =
            host.into_iter().partition(|(work, _)| *work == Work::Submitting);
        for (name, layers) in [("host", vec![host, submitting]), ("finisher", vec![finishing])] {
            let mut track = Track { name: name.to_owned(), layers: Vec::new() };
            for mut works in layers {
                works.sort_by_key(|(_, span)| span.begin);
                let mut layer = Vec::with_capacity(works.len());
                for (work, span) in works {
                    let (data_schema, color) = look(work);
                    legend.add(data_schema, color);
                    layer.push((span, color));
                }
                track.layers.push(layer);
            }
            tracks.push(track);
        }
        let mut stage = |number: usize| {
            let (kernel, _) = names(&log.stages[number]);
            legend.add(&kernel, colors.get(&kernel));
            colors.get(&kernel)
        };
        let threads = log.parts.iter().map(|(thread, ..)| thread + 1).max().unwrap_or(0);
        for thread in 0..threads {
            let own = log.parts.iter().filter(|(of, ..)| *of == thread);
            let spans = own.map(|(_, number, span)| (*span, stage(*number))).collect();
            tracks.push(Track { name: format!("thread {thread}"), layers: vec![spans] });
        }
        if threads == 0 {
            let spans = profile.ran.iter().map(|ran| (ran.span, stage(ran.stage))).collect();
            tracks.push(Track { name: "device".to_owned(), layers: vec![spans] });
        }
        tracks.retain(|track| track.layers.iter().any(|layer| !layer.is_empty()));
        let spans = tracks.iter().flat_map(|track| &track.layers).flatten();
        let end = spans.map(|(span, _)| span.end).max();
        let shown = end.unwrap_or(1).clamp(1, SHOWN);
        Self { device: profile.report.device.clone(), tracks, legend, shown }
    }
}

impl Drawing for Timeline {
    fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Drawn<B> {
        let milliseconds = self.shown as f64 / 1e6;
        title(
            area,
            &format!("The first {milliseconds:.0} ms on {}", self.device),
            "What each did when. What is shorter than a pixel is drawn as one.",
        )?;
        let axis = Axis { from: FIELD.0, to: FIELD.1, most: milliseconds };
        axis.draw(area, (TOP, BOTTOM), "milliseconds since the run began")?;
        let height = (BOTTOM - TOP) / self.tracks.len().max(1) as i32;
        for (number, track) in (0..).zip(&self.tracks) {
            let (top, bottom) = (TOP + number * height, TOP + (number + 1) * height);
            let middle = (top + bottom) / 2;
            // Where tracks are lower than text, some have none.
            if number % (LINE / height.max(1) + 1) == 0 {
                write_before(area, &track.name, (FIELD.0 - 12, middle))?;
            }
            let half = (height / 2 - 8).clamp(2, 40);
            for layer in &track.layers {
                let mut drawn = FIELD.0 - 1;
                for (span, color) in layer.iter().filter(|(span, _)| span.begin < self.shown) {
                    let [begin, end] =
                        [span.begin, span.end.min(self.shown)].map(|ns| axis.at(ns as f64 / 1e6));
                    let end = end.max(begin + 1);
                    // Thousands of short spans would be a file of megabytes, one over the other.
                    if end > drawn {
                        fill(area, [(begin.max(drawn), middle - half), (end, middle + half)], *color)?;
                        drawn = end;
                    }
                }
            }
        }
        self.legend.draw(area, (LEGEND, TOP))
    }
}
