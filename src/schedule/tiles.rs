//! Which tile shapes a run takes, and where they come from.

use std::fmt;

use crate::gpu::{Adapter, Context};
use crate::kernels::Tuning;
use crate::schedule::{
    DeviceLimits, Measurement, Measurements, ScheduleKind, SelectedPlan, TrainingStep, Workload,
};

/// Where tile shapes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TileSource {
    /// The table by kind of device, [`Tuning::for_device`].
    BuiltIn,
    /// A measurement for this network on this device.
    Measured,
    /// The caller.
    Given,
}

impl fmt::Display for TileSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TileSource::BuiltIn => "built-in",
            TileSource::Measured => "measured",
            TileSource::Given => "given",
        })
    }
}

/// The tile shapes of a run. They change the order of sums: on one device the same bits come only under the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiles {
    /// The shapes.
    pub tuning: Tuning,
    /// Where they come from.
    pub source: TileSource,
}

/// Schedule and tile shapes of a run on an open adapter: what was measured for it, else what the tables say. Without a
/// requested schedule it is the fastest, where two have been measured.
pub(crate) fn resolve(
    adapter: &Adapter,
    context: &Context,
    step: &TrainingStep<'_>,
    asked: Option<ScheduleKind>,
    measurements: &Measurements,
) -> (SelectedPlan, Tiles) {
    let table = Tuning::for_device(context);
    let select =
        |asked, tuning| SelectedPlan::choose(asked, step, &DeviceLimits::from_context(context, tuning));
    let workload = Workload::for_network(adapter, step.network, step.rows);
    let measured = |kind: ScheduleKind| -> Option<&Measurement> {
        let found = measurements.find(&workload, kind)?;
        let possible = select(Some(kind), &found.tuning).kind == kind;
        (possible && table.leads_to(&found.tuning, context)).then_some(found)
    };
    let known: Vec<&Measurement> = ScheduleKind::ALL.into_iter().filter_map(measured).collect();
    let fastest = known.iter().min_by_key(|measurement| measurement.step);
    let selected = match fastest {
        Some(fastest) if asked.is_none() && known.len() > 1 => {
            SelectedPlan { kind: fastest.schedule, reason: Some("measured as the fastest".to_owned()) }
        }
        _ => select(asked, &table),
    };
    let tiles = match measured(selected.kind) {
        Some(measurement) => Tiles { tuning: measurement.tuning, source: TileSource::Measured },
        None => Tiles { tuning: table, source: TileSource::BuiltIn },
    };
    (selected, tiles)
}
