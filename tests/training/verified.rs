//! A run whose device is first compared with the CPU engine trains the same as without the comparison.

use tinytrain::data::{BLOCK_ROWS, Reader};
use tinytrain::engine::Device;
use tinytrain::model::Parameters;
use tinytrain::schedule::ScheduleKind;
use tinytrain::train::{Config, Run, TrainingData};

use crate::support::{Pictures, as_bytes, csv_reader, devices};

/// Returns the parameters after the last epoch; nothing may be rejected.
fn trained(config: &Config, reader: Reader, device: &Device, is_verified: bool) -> Parameters {
    let data = TrainingData::new(reader, None, None, &config.data).unwrap();
    let run = Run::new(config.clone(), data, device.clone(), None).unwrap();
    let mut run = if is_verified { run.verified() } else { run };
    while run.next().unwrap().is_some() {}
    assert!(run.refused().is_empty(), "{:?}", run.refused());
    run.summary().unwrap().model.parameters
}

#[test]
fn a_comparison_changes_nothing() {
    // One table is shorter than the compared rows; the other passes through a window in its first epoch.
    for rows in [90, BLOCK_ROWS + 300] {
        let text = Pictures::new(rows, 16, 3, 3).csv();
        for device in devices() {
            let kinds = if device.is_cpu() { &[None][..] } else { &ScheduleKind::ALL.map(Some) };
            for schedule in kinds.iter().copied() {
                let config = Config {
                    hidden: vec![9],
                    epochs: 2,
                    batch_size: 64,
                    data: as_bytes(),
                    schedule,
                    ..Config::default()
                };
                let [plain, verified] =
                    [false, true].map(|it| trained(&config, csv_reader(text.as_str()), &device, it));
                assert_eq!(plain, verified, "{rows} rows, {schedule:?}");
            }
        }
    }
}
