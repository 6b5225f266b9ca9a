//! Judges the GPU kernels by their machine code, without a GPU: `scripts/gpu-isa --help`, docs/GPU-ISA.md.
//!
//! An example, so that only who asks for it builds it, and one with tests (`test = true` in Cargo.toml), so that they
//! share its modules without a second way to them.

mod arguments;
mod assembly;
mod banks;
mod bound;
mod clock;
mod compiled;
#[cfg_attr(not(target_os = "linux"), path = "no_device.rs")]
mod device;
mod gpus;
mod judgement;
mod listing;
mod model;
mod operations;
mod products;
mod shaders;
mod spirv;
mod table;
#[cfg(test)]
mod tests;
mod walk;
mod wave;
mod work;

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use serde::Serialize;
use tinytrain::kernels::Tuning;

use gpus::{GPUS, Gpu, HOPPER};
use judgement::{Judge, Judgement};
use shaders::Shaders;
use work::{SEQUENCES, Workload, tilings};

/// Compiles the GPU kernels with RADV, Mesa's driver for AMD GPUs, for GPUs that need not be there, and prints what
/// the machine code says: registers, spills, memory, the loops in which products are made, and a walk of a wave through
/// all of it (docs/GPU-ISA.md). Linux with mesa-vulkan-drivers.
#[derive(Parser)]
#[command(name = "gpu-isa")]
struct Options {
    /// Which GPUs: all, or some of these
    #[arg(default_value = "navi21", value_parser = ["navi21", "gfx1100", "vega20", "all"])]
    gpus: Vec<String>,
    /// W1, W2 or W3 of docs/BENCHMARKS.md, or sizes such as 784-300-100-10
    #[arg(long, default_value = "W1")]
    network: Vec<String>,
    /// Rows of a batch [default: 64; of W2 256, of W3 16]
    #[arg(long)]
    batch: Option<usize>,
    /// Only kernels of this name
    #[arg(long, value_name = "KERNEL")]
    only: Vec<String>,
    /// Only this sequence of kernels
    #[arg(long, value_parser = SEQUENCES)]
    schedule: Vec<String>,
    /// Tile shapes: `candidates` for all that `tinytrain tune` may try, or a line as model files keep it
    #[arg(long, value_name = "TILES")]
    tiles: Option<String>,
    /// Take the text of the shaders from this folder, not what is compiled in
    #[arg(long, value_name = "FOLDER")]
    shaders: Option<PathBuf>,
    /// Write the machine code to this folder, with what a wave did where
    #[arg(long, value_name = "FOLDER")]
    isa: Option<PathBuf>,
    /// How to print
    #[arg(long, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// One sequence of kernels on one GPU.
#[derive(Serialize)]
struct Section {
    gpu: &'static str,
    network: String,
    schedule: String,
    tiles: String,
    kernels: Vec<Judgement>,
    /// The cards of the model.
    hardware: [&'static str; 2],
    /// Its time on each, with launches; none where a kernel's is not known.
    microseconds: Option<[f64; 2]>,
    /// What its products take of that, and what their tiles allow; none where a time is not known.
    products: Option<[Products; 2]>,
}

/// All products of a sequence, in microseconds without launches.
#[derive(Clone, Copy, Serialize)]
struct Products {
    /// What they take.
    taken: f64,
    /// What their registers and workgroup memory allow.
    allowed: f64,
    /// What those allow where a workgroup is not divided.
    whole: f64,
}

impl Products {
    /// Of these kernels, on the first or the second card.
    fn of(kernels: &[Judgement], at: usize) -> Self {
        let mut sums = Self { taken: 0.0, allowed: 0.0, whole: 0.0 };
        for (times, bounds) in kernels.iter().filter_map(|kernel| kernel.times.zip(kernel.bounds)) {
            let (taken, bound) = (times[at].microseconds, bounds[at]);
            sums.taken += taken;
            sums.allowed += bound.microseconds;
            sums.whole += bound.microseconds / bound.even;
        }
        sums
    }
}

fn main() -> ExitCode {
    let finished = run(&Options::parse(), &mut io::stdout().lock());
    let Err(error) = finished else { return ExitCode::SUCCESS };
    // Whoever reads has seen enough.
    if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    eprintln!("gpu-isa: {error:#}");
    ExitCode::from(2)
}

fn run(options: &Options, out: &mut impl Write) -> Result<()> {
    let shaders = options.shaders.clone().map_or(Shaders::BuiltIn, Shaders::Folder);
    if let Some(folder) = &options.isa {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let is_text = options.format == Format::Text;
    let all = options.gpus.iter().any(|name| name == "all");
    let gpus: Vec<&Gpu> =
        GPUS.iter().filter(|gpu| all || options.gpus.iter().any(|name| name == gpu.name)).collect();
    let mut sections = Vec::new();
    for gpu in &gpus {
        let mut judge = Judge::new(gpu, &shaders, options.isa.clone())?;
        if is_text {
            writeln!(out, "{}: {}", gpu.name, judge.device())?;
        }
        let mut seen = HashSet::new();
        for network in &options.network {
            let workload = Workload::parse(network, options.batch)?;
            for (tiles, tuning) in tilings(options.tiles.as_deref())? {
                let wanted = |name: &&&str| {
                    options.schedule.is_empty() || options.schedule.iter().any(|it| it == **name)
                };
                for schedule in SEQUENCES.iter().filter(wanted) {
                    let section = section(options, gpu, &mut judge, &workload, (&tiles, &tuning), schedule)?;
                    if section.kernels.is_empty() {
                        continue;
                    }
                    if is_text {
                        print(&section, &mut seen, out)?;
                    }
                    sections.push(section);
                }
            }
        }
    }
    if sections.is_empty() {
        bail!("none of these schedules has a kernel called {}", options.only.join(" or "));
    }
    if is_text {
        let models = gpus.iter().map(|gpu| &gpu.hardware).chain([&HOPPER]);
        write!(out, "{}", table::legend(&models.collect::<Vec<_>>()))?;
    } else {
        writeln!(out, "{}", serde_json::to_string_pretty(&sections)?)?;
    }
    Ok(())
}

fn section(
    options: &Options,
    gpu: &'static Gpu,
    judge: &mut Judge<'_>,
    workload: &Workload,
    (tiles, tuning): (&str, &Tuning),
    schedule: &str,
) -> Result<Section> {
    let sequence = workload.sequence(schedule, tuning)?;
    let mut kernels = Vec::new();
    for kernel in &sequence.kernels {
        if options.only.is_empty() || options.only.iter().any(|only| only == kernel.shader().name) {
            kernels.push(judge.judge(&**kernel, tuning, &sequence.record)?);
        }
    }
    // Steps of a dispatch share its launch.
    let times: Option<Vec<_>> =
        kernels.iter().map(|kernel| kernel.times.map(|times| (times, 1.0 / kernel.steps as f64))).collect();
    let models = [&gpu.hardware, &HOPPER];
    let microseconds = times.map(|times| {
        [0, 1].map(|at| {
            times.iter().map(|(each, share)| each[at].microseconds + models[at].launch * share).sum()
        })
    });
    let products = microseconds.map(|_| [0, 1].map(|at| Products::of(&kernels, at)));
    Ok(Section {
        gpu: gpu.name,
        network: workload.name.clone(),
        schedule: schedule.to_owned(),
        tiles: tiles.to_owned(),
        kernels,
        hardware: models.map(|model| model.name),
        microseconds,
        products,
    })
}

/// Prints what has not been printed before.
fn print(section: &Section, seen: &mut HashSet<String>, out: &mut impl Write) -> io::Result<()> {
    let Section { network, schedule, tiles, kernels, microseconds, hardware, products, .. } = section;
    let new = |kernel: &&Judgement| seen.insert(format!("{network} {kernel:?}"));
    let rows: Vec<&Judgement> = kernels.iter().filter(new).collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{network} {schedule}, tiles {tiles}")?;
    write!(out, "{}", table::table(&rows))?;
    let show = |at: usize| microseconds.map_or_else(|| "?".to_owned(), |both| format!("{:.1}", both[at]));
    let [amd, nvidia] = [0, 1].map(|at| format!("{} class {} us", hardware[at], show(at)));
    writeln!(out, "{} dispatches with launches: {amd}, {nvidia}", kernels.len())?;
    let Some(both) = products.filter(|both| both[0].taken > 0.0) else { return Ok(()) };
    let [amd, nvidia] = [0, 1].map(|at| {
        let Products { taken, allowed, whole } = both[at];
        format!("{} class {:.0} % ({:.0} %)", hardware[at], 100.0 * allowed / taken, 100.0 * whole / taken)
    });
    writeln!(out, "products, of the rate that their tiles allow (with whole workgroups): {amd}, {nvidia}")
}
