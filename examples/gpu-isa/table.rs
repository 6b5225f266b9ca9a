//! What was found, as text.

use std::fmt::Write;

use crate::bound::Bound;
use crate::clock::Hardware;
use crate::judgement::Judgement;
use crate::model::Time;
use crate::products::ProductLoop;

const COLUMNS: usize = 25;

const HEADER: [&str; COLUMNS] = [
    "kernel", "shape", "tile", "groups", "threads", "waves", "VGPR", "SGPR", "spill", "scratch", "LDS",
    "w/SIMD", "instr", "K-steps", "fma", "share", "trips/K", "banks", "trips", "barriers", "waits", "us",
    "rate", "us H100", "rate",
];

fn cells(each: &Judgement) -> [String; COLUMNS] {
    let unknown = || "?".to_owned();
    let number = |value: Option<u64>| value.map_or_else(unknown, |value| value.to_string());
    let products = |show: &dyn Fn(&ProductLoop) -> String| {
        let shown: Vec<String> = each.products.iter().map(show).collect();
        if shown.is_empty() { "-".to_owned() } else { shown.join("/") }
    };
    let time = |at: usize| {
        let show = |Time { microseconds, bound }| format!("{microseconds:.1} {}", &bound[..1]);
        each.times.map_or_else(unknown, |times| show(times[at]))
    };
    let rate = |at: usize| {
        each.times.zip(each.bounds).map_or_else(
            || "-".to_owned(),
            |(times, bounds)| {
                let Bound { microseconds, by, even } = bounds[at];
                format!(
                    "{:.0}{} {:.0}",
                    100.0 * microseconds / times[at].microseconds,
                    &by[..1],
                    100.0 * even
                )
            },
        )
    };
    let waits = each.waits.zip(each.cycles).map_or_else(unknown, |(waits, cycles)| {
        let shares =
            [waits.memory, waits.scalar, waits.shared].map(|wait| format!("{:.0}", 100.0 * wait / cycles));
        shares.join("/")
    });
    let mark = if each.assumed { "~" } else { "" };
    [
        each.kernel.clone(),
        each.shape.clone(),
        each.tile.clone(),
        each.groups.to_string(),
        each.threads.to_string(),
        each.waves.to_string(),
        each.vgprs.to_string(),
        each.sgprs.to_string(),
        each.spills.to_string(),
        each.scratch.to_string(),
        each.workgroup_memory.to_string(),
        each.waves_per_simd.to_string(),
        each.instructions.to_string(),
        products(&|each| each.rounds.to_string()),
        products(&|each| format!("{:.0}", each.multiply_adds)),
        products(&|each| format!("{:.0}%", 100.0 * each.share)),
        products(&|each| format!("{:.1}", each.trips)),
        products(&|each| format!("{:.1}", each.conflicts)),
        number(each.trips) + mark,
        number(each.barriers),
        waits,
        time(0),
        rate(0),
        time(1),
        rate(1),
    ]
}

/// Rows of cells under the header, as wide as they need.
pub fn table(rows: &[&Judgement]) -> String {
    let mut lines = vec![HEADER.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| cells(row)));
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for line in lines {
        let padded = line.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
            // Words stand to the left, numbers to the right.
            0..3 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text += padded.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

/// What the columns mean and what the model takes the hardware to cost.
pub fn legend(models: &[&Hardware]) -> String {
    let mut text = String::from(
        "\nK-steps, fma, share: rounds of each loop that makes products, multiply-adds a round, their share of its vector \
         operations.\ntrips/K, trips: round trips to memory that a wave waits for, one after the other, in a round and in \
         all. banks: cycles\nof workgroup memory for each without conflicts. waits: percent of the wave's time for memory, \
         scalar loads, workgroup memory.\nrate: of products, percent of the rate that the tile allows, by its (v)ector \
         operations, reads of (s)hared memory or\n(r)esident waves; and how evenly the grid fills the units.\n?: not known. ~: data decide which threads take part, every second is taken to.\
         \nus: a model, without launches; bound by (l)atency of a wave, (v)ector units, (s)hared memory, (m)emory. It takes\n",
    );
    for hardware in models {
        let Hardware { name, clock, memory, scalar, shared, units, schedulers, bandwidth, launch, .. } =
            hardware;
        // Infallible: it is written to a string.
        let _ = writeln!(
            text,
            "  {name} class: {clock} MHz, {units} units of {schedulers} schedulers; cycles to memory {memory} (second \
             cache, {:.1} TB/s), scalar {scalar}, workgroup memory {shared}; a launch and its barrier {launch} us",
            bandwidth / 1e6
        );
    }
    text
}
