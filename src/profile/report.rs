//! Contents of a profile, with the fields of the object of `--format json`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::timeline::StageRun;
use crate::engine::{Clock, Member, Stage};
use crate::timing::Ceilings;

/// Division of the time of some training steps. All times are in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Time of the run.
    pub wall_us: f64,
    /// Number of training steps.
    pub steps: usize,
    /// Engine: `gpu` or `cpu`.
    pub engine: String,
    /// Readable name of the device.
    pub device: String,
    /// Division of a step into dispatches, if any.
    pub schedule: Option<String>,
    /// Clock that timed the kernels: `timestamps` of the device, or the `host`.
    pub clock: Clock,
    /// Kernels of all steps, sorted by decreasing time.
    pub kernels: Vec<KernelReport>,
    /// Division of the time, each microsecond counted once.
    pub sums: Sums,
    /// Method of separating kernel time from gaps.
    pub gaps_from: &'static str,
    /// Measured ceilings of the device.
    pub ceilings: Ceilings,
    /// Cost of profiling, if the same steps were also run without it.
    pub cost_of_profiling: Option<ProfilingCost>,
    /// Impossible time stamps; their kernels have calls without a time.
    pub refused_stamps: usize,
}

/// A kernel with its shapes, or several without a fence between them, or a phase of the CPU engine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelReport {
    /// Names, joined by ` + ` if several are timed together.
    pub kernel: String,
    /// Operations fused into it.
    pub fused: Vec<String>,
    /// Shapes, joined by ` + ` like the names.
    pub shape: String,
    /// Number of calls.
    pub calls: usize,
    /// Time of all calls.
    pub total_us: f64,
    /// Median time of a call.
    pub median_us: f64,
    /// 95th percentile of the time of a call.
    pub p95_us: f64,
    /// Bytes read and written by a call, with all rows of the batch live.
    pub bytes: u64,
    /// Arithmetic operations of a call, with all rows of the batch live.
    pub flop: u64,
    /// FLOP per byte.
    pub intensity: f64,
    /// Bytes per second of the median call.
    pub bytes_per_second: f64,
    /// FLOP per second of the median call.
    pub flop_per_second: f64,
    /// Least time under the ceilings, as a share of the median.
    pub roofline_share: f64,
    /// Workgroups of a call, or threads of the CPU engine.
    pub workgroups: u64,
}

/// Time of the run, each microsecond counted once: first as the device's own time, then in this order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sums {
    /// Kernels' own time: the sum of their `total_us`.
    pub compute_us: f64,
    /// Time between kernels, and all remaining time.
    pub gaps_us: f64,
    /// Time in which the host recorded and submitted commands while the device was idle.
    pub recording_us: f64,
    /// Time of waiting for rows, distorting or uploading them.
    pub loading_us: f64,
    /// Time in which the host waited for the device, or the leading thread for the others.
    pub waiting_us: f64,
}

/// Time of the same steps with and without profiling.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProfilingCost {
    /// Time with profiling off.
    pub off_us: f64,
    /// Time of the run with time `wall_us`.
    pub on_us: f64,
    /// Time with every kernel timed separately, if that was another run.
    pub stages_us: Option<f64>,
}

impl Serialize for Clock {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Converts nanoseconds to microseconds.
pub fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

/// Returns the kernels of a run, sorted by decreasing time.
pub fn kernels(stages: &[Stage], ran: &[StageRun], ceilings: &Ceilings) -> Vec<KernelReport> {
    let mut calls: BTreeMap<_, (&Stage, usize, Vec<u64>)> = BTreeMap::new();
    for ran in ran {
        let stage = &stages[ran.stage];
        let (_, count, times) =
            calls.entry((names(stage), fused(stage))).or_insert_with(|| (stage, 0, Vec::new()));
        *count += 1;
        times.extend(ran.length);
    }
    let mut kernels: Vec<KernelReport> = calls
        .into_iter()
        .map(|(((kernel, shape), fused), (stage, calls, mut times))| {
            times.sort_unstable();
            let median_us = quantile(&times, 0.5);
            let sum = |figure: fn(&Member) -> u64| stage.iter().map(figure).sum::<u64>();
            let (bytes, flop) = (sum(|member| member.bytes), sum(|member| member.flop));
            // No call was timed, or only too short ones: 0, since JSON has no infinity.
            let a_second = |amount: f64| if median_us > 0.0 { amount / median_us * 1e6 } else { 0.0 };
            KernelReport {
                kernel,
                fused,
                shape,
                calls,
                total_us: microseconds(times.iter().sum()),
                median_us,
                p95_us: quantile(&times, 0.95),
                bytes,
                flop,
                intensity: flop as f64 / bytes.max(1) as f64,
                bytes_per_second: a_second(bytes as f64),
                flop_per_second: a_second(flop as f64),
                roofline_share: a_second(ceilings.least_seconds(bytes, flop)),
                workgroups: sum(|member| member.workgroups),
            }
        })
        .collect();
    kernels.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
    kernels
}

/// Returns names and shapes of a stage.
pub fn names(stage: &Stage) -> (String, String) {
    let join = |name: fn(&Member) -> &str| stage.iter().map(name).collect::<Vec<_>>().join(" + ");
    (join(|member| &member.kernel), join(|member| &member.shape))
}

/// Returns the operations fused into the kernels of a stage.
fn fused(stage: &Stage) -> Vec<String> {
    stage.iter().flat_map(|member| member.fused.clone()).collect()
}

/// Returns the quantile of sorted nanoseconds, in microseconds.
fn quantile(sorted: &[u64], share: f64) -> f64 {
    let position = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(position.saturating_sub(1)).map_or(0.0, |time| microseconds(*time))
}

impl Report {
    /// Returns the report as one JSON object, on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("figures and texts are JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::Span;

    fn member(kernel: &str, bytes: u64) -> Member {
        let (kernel, shape) = (kernel.to_owned(), "2 x 3".to_owned());
        Member { kernel, fused: Vec::new(), shape, workgroups: 4, bytes, flop: 10 }
    }

    fn ran(stage: usize, length: Option<u64>) -> StageRun {
        StageRun { stage, length, span: Span { begin: 0, end: 0 } }
    }

    #[test]
    fn rows_are_by_name_and_shape_and_the_longest_comes_first() {
        let stages = [
            vec![member("a", 1000)],
            vec![member("b", 2000), member("c", 3000)],
            // The same kernel at another position of the schedule, and with a fused operation.
            vec![member("a", 1000)],
            vec![Member { fused: vec!["relu".to_owned()], ..member("a", 1000) }],
        ];
        let times =
            [(0, Some(2000)), (1, Some(9000)), (2, Some(4000)), (0, None), (0, Some(3000)), (3, Some(1))];
        let ran: Vec<StageRun> = times.map(|(stage, length)| ran(stage, length)).to_vec();
        let ceilings = Ceilings { bytes_per_second: 1e9, flop_per_second: 1e9 };
        let rows = kernels(&stages, &ran, &ceilings);
        let texts: Vec<_> = rows.iter().map(|row| (&*row.kernel, &*row.shape, row.calls)).collect();
        assert_eq!(texts, [("a", "2 x 3", 4), ("b + c", "2 x 3 + 2 x 3", 1), ("a", "2 x 3", 1)]);
        let [a, b, fused] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((a.fused.len(), fused.fused.as_slice()), (0, &["relu".to_owned()][..]));
        assert_eq!((a.total_us, a.median_us, a.p95_us), (9.0, 3.0, 4.0));
        assert_eq!((b.total_us, b.bytes, b.flop, b.workgroups), (9.0, 5000, 20, 8));
        // 1000 bytes take at least 1 us; the median is 3 us.
        assert!((a.roofline_share - 1.0 / 3.0).abs() < 1e-12);
        assert!((a.bytes_per_second - 1000.0 / 3e-6).abs() < 1e-3 && a.intensity == 0.01);
    }

    #[test]
    fn quantiles_are_times_that_were_measured() {
        let times: Vec<u64> = (1..=20).map(|n| n * 1000).collect();
        assert_eq!([quantile(&times, 0.5), quantile(&times, 0.95)], [10.0, 19.0]);
        assert_eq!([quantile(&times[..1], 0.5), quantile(&[], 0.5)], [1.0, 0.0]);
    }
}
