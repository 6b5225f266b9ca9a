//! All readers on randomly modified valid files: no panic, no hang, no memory out of proportion to the input,
//! and nothing invalid accepted.
//!
//! `TINYTRAIN_FUZZ_CASES` sets the number of cases for each reader, by default a few hundred; a failing case
//! is saved in a file, and `TINYTRAIN_FUZZ_CASE=FILE` runs only this case. `cargo fuzz` searches further,
//! with the same functions: see docs/RELIABILITY.md.

#[path = "support/jpegs.rs"]
mod jpegs;
mod program;

#[path = "fuzz/commands.rs"]
mod commands;
#[path = "fuzz/entries.rs"]
mod entries;
#[path = "fuzz/heap.rs"]
mod heap;
#[path = "fuzz/mutate.rs"]
mod mutate;
#[path = "fuzz/seeds.rs"]
mod seeds;
#[path = "fuzz/watch.rs"]
mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};

use entries::{ENTRIES, Entry};
use mutate::{Chance, mutated, repair_archive, repair_header, repair_sums};

/// Returns a number from the environment.
pub fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}: expected a number, found {text}")))
}

/// Runs one case, and returns whether it was accepted, or the fault.
fn run(entry: &Entry, bytes: &[u8]) -> Result<bool, String> {
    let _watched = watch::begin(entry.name, bytes);
    let begun = heap::begin();
    let ended = catch_unwind(AssertUnwindSafe(|| (entry.run)(bytes)));
    let (taken, panics) = (heap::most(begun), watch::panics());
    let (constant, factor) = entry.memory;
    let most = constant + factor * bytes.len();
    if !panics.is_empty() {
        return Err(panics.join("; "));
    }
    if taken > most {
        return Err(format!("{taken} bytes of memory for {} bytes, expected at most {most}", bytes.len()));
    }
    ended.map_err(|_| "a panic without a word".to_owned())
}

/// Runs a number of cases of a reader, the same in every run.
fn fuzz(name: &str, usual: u64) {
    let _one = watch::alone();
    let entry = ENTRIES.iter().find(|entry| entry.name == name).expect("an entry of this name");
    if let Some(path) = std::env::var_os("TINYTRAIN_FUZZ_CASE") {
        run(entry, &std::fs::read(path).unwrap()).unwrap();
        return;
    }
    let seeds = seeds::of(name);
    for seed in &seeds {
        // Some tables need an option for the target column.
        let is_accepted = run(entry, seed).unwrap();
        assert!(
            is_accepted || ["table", "gzip", "zstd", "npz"].contains(&name),
            "{name}: {:?}",
            String::from_utf8_lossy(seed)
        );
    }
    let (cases, first) =
        (setting("TINYTRAIN_FUZZ_CASES").unwrap_or(usual), setting("TINYTRAIN_FUZZ_SEED").unwrap_or(0));
    let (mut failures, mut accepted) = (Vec::new(), 0);
    for case in 0..cases {
        let mut chance = Chance::new(first.wrapping_add(case));
        let mut bytes = mutated(&seeds, &mut chance);
        // Most changes would only be rejected by a length or a checksum.
        match name {
            "model" | "checkpoint" | "resume" if chance.below(4) > 0 => repair_header(&mut bytes),
            "npz" if chance.below(4) > 0 => repair_archive(&mut bytes),
            "png" if chance.below(4) > 0 => repair_sums(&mut bytes),
            _ => {}
        }
        match run(entry, &bytes) {
            Ok(is_accepted) => accepted += u64::from(is_accepted),
            Err(fault) => {
                let kept = watch::keep(&format!("{name}-{case}"), &bytes);
                failures.push(format!("case {case}, kept in {}: {fault}", kept.display()));
            }
        }
        if failures.len() == 20 {
            break;
        }
    }
    assert!(failures.is_empty(), "{name}:\n{}", failures.join("\n"));
    println!("{name}: {cases} cases, {accepted} of them accepted");
    // If all cases are rejected, only the rejection is tested.
    assert!(accepted * 100 >= cases, "{name}: {accepted} of {cases} cases accepted");
}

macro_rules! readers {
    ($($name:ident $cases:literal),* $(,)?) => {
        $(#[test]
        fn $name() {
            fuzz(stringify!($name), $cases);
        })*

        #[test]
        fn every_entry_is_run() {
            let names = [$(stringify!($name)),*];
            assert_eq!(ENTRIES.each_ref().map(|entry| entry.name), names);
        }
    };
}

readers! {
    idx 1500,
    idx_packed 1500,
    table 3000,
    gzip 1000,
    zstd 1000,
    npz 1500,
    png 2000,
    jpeg 2000,
    model 2000,
    checkpoint 2000,
    resume 200,
    space 3000,
}
