//! What `tinytrain train --verbose` tells before training begins.

use tinytrain::engine::{Description, EngineKind};
use tinytrain::schedule::{SelectedSchedule, Tiles};
use tinytrain::settings::{Preset, TrainSettings};
use tinytrain::train::Started;

use super::config_file::{table, words};
use super::text::grouped;
use super::train_report::TrainReport;

impl TrainReport<'_> {
    /// What has no effect, and what `--verbose` adds.
    pub(super) fn details(&self, Started { engine, network, transform, .. }: &Started) {
        let Description { schedule, tiles, dispatches, .. } = engine;
        if engine.engine == EngineKind::Gpu && self.config.threads.is_some() {
            self.console.notice("--threads is for the CPU engine: it has no effect here");
        }
        if self.options.verbose {
            if !self.is_plain {
                let spelled = TrainSettings::spelled(self.config, Preset::Table);
                let spelled = TrainSettings { preset: None, seed: None, ..spelled };
                let options = table(&spelled).map(|spelled| words(&spelled).join(" ").replace('=', " "));
                self.console.notice(&format!("--preset table is here {}", options.unwrap_or_default()));
            }
            let parameters = grouped(network.parameter_count() as u64);
            self.console.notice(&format!(
                "seed {}, {parameters} parameters, inputs scaled: {transform}",
                self.config.seed
            ));
            if engine.engine == EngineKind::Cpu {
                let threads = self.config.threads.map(|threads| format!("at most {threads} asked for"));
                let threads = threads.unwrap_or_else(|| "one for each core where that pays".to_owned());
                self.console.notice(&format!("{}, {threads}", engine.device));
            }
            if let Some(Tiles { tuning, source }) = tiles {
                self.console.notice(&format!("{source} tile shapes: {tuning}"));
            }
            if let Some(SelectedSchedule { kind, reason }) = schedule {
                let because = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
                self.console.notice(&format!("a step of the {kind} schedule{because}:"));
            }
            for (number, dispatch) in (1..).zip(dispatches) {
                self.console.notice(&format!("{number:>4}. {dispatch}"));
            }
        }
    }
}
