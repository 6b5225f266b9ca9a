use std::fs::OpenOptions;

use super::*;

/// Returns the events of a folder, one list per file.
fn events(folder: &Path) -> Vec<Vec<Event>> {
    let files = event_files(folder).unwrap();
    let events = |bytes: Vec<u8>| record::records(&bytes).map(|data| Event::decode(data).unwrap()).collect();
    files.iter().map(|(_, path)| events(fs::read(path).unwrap())).collect()
}

fn values(event: &Event) -> Vec<(&str, Option<f32>)> {
    let Some(What::Summary(summary)) = &event.what else { panic!("{event:?}") };
    summary.value.iter().map(|value| (value.tag.as_str(), value.simple_value)).collect()
}

fn add(file: &mut EventFile, step: usize) {
    let time = UNIX_EPOCH + Duration::from_millis(1500 + 125 * step as u64);
    file.scalars(step, time, vec![("a/b".to_owned(), step as f32 / 3.0), ("c".to_owned(), -1.5)]).unwrap();
}

#[test]
fn scalars_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = EventFile::create(folder.path(), 1).unwrap();
    let name = file.path().file_name().unwrap().to_str().unwrap().to_owned();
    let stamp = name.strip_prefix("events.out.tfevents.").unwrap().strip_suffix(".tinytrain").unwrap();
    assert_eq!(stamp.len(), 10, "{name}");
    (1..=3).for_each(|step| add(&mut file, step));
    let files = events(folder.path());
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].len(), 5);
    assert_eq!(files[0][0].what, Some(What::FileVersion("brain.Event:2".to_owned())));
    assert_eq!((files[0][1].step, &files[0][1].what), (1, &Some(What::SessionLog(SessionLog { status: 1 }))));
    for (step, event) in (1..).zip(&files[0][2..]) {
        assert_eq!((event.step, event.wall_time), (step, 1.5 + step as f64 / 8.0));
        assert_eq!(values(event), [("a/b", Some(step as f32 / 3.0)), ("c", Some(-1.5))]);
    }
    assert_eq!(last_step(folder.path()).unwrap(), 3);
}

#[test]
fn the_bytes_of_an_event_are_those_of_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = EventFile::create(folder.path(), 1).unwrap();
    file.scalars(300, UNIX_EPOCH + Duration::from_secs(2), vec![("t".to_owned(), 1.0)]).unwrap();
    let bytes = fs::read(file.path()).unwrap();
    let data: Vec<&[u8]> = record::records(&bytes).collect();
    assert_eq!(data[0][9..], *b"\x1a\x0dbrain.Event:2", "field 3, text");
    let expected = [
        &[0x09][..], // field 1, 64 bits: 2.0
        &2f64.to_le_bytes(),
        &[0x10, 0xac, 0x02],       // field 2, varint: 300
        &[0x2a, 0x0a, 0x0a, 0x08], // field 5, 10 bytes; in it field 1, 8 bytes
        &[0x0a, 0x01, b't'],       // field 1, text
        &[0x15],                   // field 2, 32 bits: 1.0
        &1f32.to_le_bytes(),
    ];
    assert_eq!(data[1][9..], [0x10, 1, 0x3a, 2, 0x08, 1], "field 2: 1; field 7, 2 bytes: field 1: 1");
    assert_eq!(data[2], expected.concat());
}

#[test]
fn a_later_file_makes_later_steps_void() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(last_step(folder.path()).unwrap(), 0);
    let mut file = EventFile::create(folder.path(), 1).unwrap();
    (1..=9).for_each(|step| add(&mut file, step));
    let mut second = EventFile::create(folder.path(), 5).unwrap();
    assert!(second.path() > file.path(), "also within the same second");
    assert_eq!(last_step(folder.path()).unwrap(), 4);
    add(&mut second, 5);
    assert_eq!(last_step(folder.path()).unwrap(), 5);
    let third = EventFile::create(folder.path(), 6).unwrap();
    assert!(third.path() > second.path());
    let files = events(folder.path());
    let starts = |events: &[Event]| {
        let start = Some(What::SessionLog(SessionLog { status: 1 }));
        events.iter().filter(|event| event.what == start).map(|event| event.step).collect::<Vec<i64>>()
    };
    assert_eq!([starts(&files[0]), starts(&files[1]), starts(&files[2])], [vec![1], vec![5], vec![6]]);
}

#[test]
fn a_last_record_that_is_cut_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = EventFile::create(folder.path(), 1).unwrap();
    (1..=4).for_each(|step| add(&mut file, step));
    let length = fs::metadata(file.path()).unwrap().len();
    let cut = OpenOptions::new().write(true).open(file.path()).unwrap();
    // A record of these events has 51 bytes.
    for (missing, last) in [(1, 3), (30, 3), (51, 3), (52, 2)] {
        cut.set_len(length - missing).unwrap();
        assert_eq!(last_step(folder.path()).unwrap(), last, "{missing} bytes are missing");
    }
    // The next file continues after the last complete record.
    let mut second = EventFile::create(folder.path(), 3).unwrap();
    add(&mut second, 3);
    assert_eq!(last_step(folder.path()).unwrap(), 3);
}

#[test]
fn hyperparameters_read_back_from_the_content_of_the_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = EventFile::create(folder.path(), 1).unwrap();
    let given = [
        ("lr".to_owned(), Hyperparameter::Number(0.1)),
        ("optimizer".to_owned(), Hyperparameter::Text("adam".to_owned())),
        ("checked".to_owned(), Hyperparameter::Flag(false)),
    ];
    file.begin(given.into()).unwrap();
    file.end(true).unwrap();
    let files = events(folder.path());
    let session = |event: &Event| {
        let Some(What::Summary(summary)) = &event.what else { panic!("{event:?}") };
        let plugin = summary.value[0].metadata.clone().unwrap().plugin_data.unwrap();
        assert_eq!(plugin.plugin_name, "hparams");
        let content = HParamsPluginData::decode(&plugin.content[..]).unwrap().session.unwrap();
        (summary.value[0].tag.clone(), content)
    };
    let (tag, start) = session(&files[0][2]);
    assert_eq!(tag, "_hparams_/session_start_info");
    let Session::Start(start) = start else { panic!("{start:?}") };
    let kinds: Vec<_> = start.hparams.into_iter().map(|(name, value)| (name, value.kind.unwrap())).collect();
    let expected = [
        ("checked".to_owned(), Kind::Flag(false)),
        ("lr".to_owned(), Kind::Number(0.1)),
        ("optimizer".to_owned(), Kind::Text("adam".to_owned())),
    ];
    assert_eq!(kinds, expected);
    let (tag, end) = session(&files[0][3]);
    assert_eq!(tag, "_hparams_/session_end_info");
    assert!(matches!(end, Session::End(SessionEndInfo { status: 1, .. })), "{end:?}");
    assert_eq!(last_step(folder.path()).unwrap(), 0, "they are no values of a step");
}
