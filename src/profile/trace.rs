//! A run as a trace file for Perfetto and chrome://tracing.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::report::microseconds;
use super::timeline::StageRun;
use crate::engine::{Log, Work};
use crate::timing::Span;

/// A line of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Track {
    Reader = 1,
    Upload,
    Recording,
    Finishing,
    Waiting,
    Device,
}

impl Track {
    const ALL: [Track; 6] =
        [Track::Reader, Track::Upload, Track::Recording, Track::Finishing, Track::Waiting, Track::Device];

    fn name(self) -> &'static str {
        match self {
            Track::Reader => "reader thread",
            Track::Upload => "upload",
            Track::Recording => "host recording",
            Track::Finishing => "host recording (finisher thread)",
            Track::Waiting => "host waiting",
            Track::Device => "device",
        }
    }
}

/// Returns the line of a thread of the CPU engine.
fn thread_track(thread: usize) -> u32 {
    Track::Device as u32 + 1 + thread as u32
}

/// An event of the trace event format: `ph` is X for a span of time, M for a name.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    ph: &'static str,
    pid: u32,
    tid: u32,
    /// Start, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    /// Length, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    args: Value,
}

impl<'a> Event<'a> {
    fn label(name: &'static str, tid: u32, args: Value) -> Self {
        Self { name, ph: "M", pid: 1, tid, ts: None, dur: None, args }
    }

    fn stretch(name: &'a str, tid: u32, span: Span, args: Value) -> Self {
        let (begin, end) = (microseconds(span.begin), microseconds(span.end));
        let mut length = (end - begin).max(0.0);
        // Rounding must not make it overlap the next.
        while length > 0.0 && begin + length > end {
            length = length.next_down();
        }
        Self { name, ph: "X", pid: 1, tid, ts: Some(begin), dur: Some(length), args }
    }
}

/// Returns the run as one JSON object. Times are microseconds since the recorder began.
pub fn trace(title: &str, log: &Log, ran: &[StageRun]) -> String {
    let mut events = vec![Event::label("process_name", 0, json!({ "name": title }))];
    for track in Track::ALL {
        events.push(Event::label("thread_name", track as u32, json!({ "name": track.name() })));
        events.push(Event::label("thread_sort_index", track as u32, json!({ "sort_index": track as u32 })));
    }
    let nothing = || json!({});
    events.extend(
        log.reader.iter().map(|span| Event::stretch("parse", Track::Reader as u32, *span, nothing())),
    );
    events.extend(log.host.iter().map(|(work, span)| {
        let (name, track) = match work {
            Work::Reading => ("wait for the reader", Track::Waiting),
            Work::Upload => ("upload", Track::Upload),
            Work::Distorting => ("distort", Track::Upload),
            Work::Recording => ("record", Track::Recording),
            Work::Submitting => ("submit", Track::Recording),
            Work::Finishing => ("finish", Track::Finishing),
            Work::Waiting => ("wait", Track::Waiting),
        };
        Event::stretch(name, track as u32, *span, nothing())
    }));
    let threads: BTreeSet<usize> = log.parts.iter().map(|(thread, ..)| *thread).collect();
    for thread in threads {
        events.push(Event::label(
            "thread_name",
            thread_track(thread),
            json!({ "name": format!("thread {thread}") }),
        ));
        events.push(Event::label(
            "thread_sort_index",
            thread_track(thread),
            json!({ "sort_index": thread_track(thread) }),
        ));
    }
    let names: Vec<(String, String)> = log.stages.iter().map(super::report::names).collect();
    events.extend(ran.iter().filter(|ran| ran.length.is_some()).map(|ran| {
        let (kernel, shape) = &names[ran.stage];
        Event::stretch(kernel, Track::Device as u32, ran.span, json!({ "shape": shape }))
    }));
    events.extend(log.parts.iter().map(|(thread, stage, span)| {
        Event::stretch(&names[*stage].0, thread_track(*thread), *span, nothing())
    }));
    let events: Vec<String> = events
        .iter()
        .map(|event| serde_json::to_string(event).expect("figures and texts are JSON"))
        .collect();
    format!("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
}
