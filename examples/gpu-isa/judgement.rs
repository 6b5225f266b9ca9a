//! What is found out about one kernel: compiled once for each program, walked through for each shape.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde::Serialize;
use tinytrain::gpu::{Program, RecordTransport};
use tinytrain::kernels::{Kernel, StepRecord, Tuning, grid, program};

use crate::arguments::{Arguments, Dispatch};
use crate::assembly::{Assembly, Class};
use crate::bound::{Bound, bound};
use crate::clock::{Clock, Waits};
use crate::compiled::Compiled;
use crate::device::Device;
use crate::gpus::{Gpu, HOPPER};
use crate::listing::listing;
use crate::model::{Cost, Footprint, Time, time};
use crate::products::ProductLoop;
use crate::shaders::Shaders;
use crate::spirv::spirv;
use crate::walk::{Walk, walk};

/// Workgroups of a dispatch that are looked at, and waves of each.
const SOME: [u64; 2] = [5, 2];

/// What a program is as machine code.
struct Code {
    compiled: Compiled,
    assembly: Assembly,
    arguments: Option<Arguments>,
    workgroup: [u32; 3],
}

/// A kernel with its shapes.
#[derive(Debug, Serialize)]
pub struct Judgement {
    /// Name, and what is fused into it.
    pub kernel: String,
    /// Its shapes.
    pub shape: String,
    /// Tile of the matmul body, if it has one.
    pub tile: String,
    /// Steps of a dispatch.
    pub steps: usize,
    /// Workgroups.
    pub groups: u64,
    /// Threads of a workgroup.
    pub threads: u32,
    /// Threads of a wave.
    pub wave: u32,
    /// Waves of all workgroups.
    pub waves: u64,
    /// Vector registers of a thread.
    pub vgprs: u64,
    /// Scalar registers of a wave.
    pub sgprs: u64,
    /// Registers that did not fit.
    pub spills: u64,
    /// Bytes of memory for them, and for arrays of a thread's own.
    pub scratch: u64,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u64,
    /// Waves that fit on a SIMD, as the driver says.
    pub waves_per_simd: u64,
    /// Instructions.
    pub instructions: u64,
    /// Whether it is known what stands in the registers of a wave when it starts: else nothing is of the walk.
    pub starts: bool,
    /// Loops in which products are made, that with the most multiply-adds first.
    pub products: Vec<ProductLoop>,
    /// Round trips to memory of the slowest wave, one after the other; none where a loop's end is not known.
    pub trips: Option<u64>,
    /// Barriers that it passes.
    pub barriers: Option<u64>,
    /// Cycles that it takes by itself.
    pub cycles: Option<f64>,
    /// Of these, those in which it waits.
    pub waits: Option<Waits>,
    /// Whether data have decided somewhere which threads take part.
    pub assumed: bool,
    /// The model's time: of the AMD card, of the NVIDIA card.
    pub times: Option<[Time; 2]>,
    /// The least time that the tile of a product allows, of the same; none where no product is made.
    pub bounds: Option<[Bound; 2]>,
}

/// A GPU, and what has been compiled for it.
pub struct Judge<'a> {
    gpu: &'a Gpu,
    device: Device,
    shaders: &'a Shaders,
    /// Where machine code is written.
    folder: Option<PathBuf>,
    codes: HashMap<Program, Arc<Code>>,
    judged: usize,
}

impl<'a> Judge<'a> {
    /// Opens the null device of a GPU. With a folder, the machine code of each kernel is written there.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn new(gpu: &'a Gpu, shaders: &'a Shaders, folder: Option<PathBuf>) -> Result<Self> {
        let device = Device::open(gpu.name)?;
        Ok(Self { gpu, device, shaders, folder, codes: HashMap::new(), judged: 0 })
    }

    /// As the driver calls the GPU.
    pub fn device(&self) -> &str {
        self.device.name()
    }

    /// Compiles a program; with statistics alone, or with all texts too.
    ///
    /// # Errors
    /// What naga, the driver or the file system say.
    pub fn compile(
        &self,
        kernel: &dyn Kernel,
        tuning: &Tuning,
        program: &Program,
        texts: bool,
    ) -> Result<(Compiled, [u32; 3])> {
        let name = program.entry();
        let source = self.shaders.source(kernel, tuning, program)?;
        let constants: Vec<(&str, f64)> = program.constants().collect();
        let (storage, records) = (program.bindings().len(), kernel.description().records);
        // A list of records stands in a group of its own, which here is the last binding of the first.
        let source = source.replace("@group(1) @binding(0)", &format!("@binding({}) @group(0)", storage + 1));
        let spirv = spirv(&source, name, &constants)?;
        let record = if records == 1 { size_of::<StepRecord>() } else { 0 };
        let uniforms = [storage, usize::from(records > 1)];
        let compiled = self.device.compile(&spirv.words, name, uniforms, record as u32, texts)?;
        Ok((compiled, spirv.workgroup))
    }

    fn code(&mut self, kernel: &dyn Kernel, tuning: &Tuning) -> Result<Arc<Code>> {
        let program = program(kernel, tuning, RecordTransport::Immediates);
        if let Some(code) = self.codes.get(&program) {
            return Ok(Arc::clone(code));
        }
        let (compiled, workgroup) = self.compile(kernel, tuning, &program, true)?;
        let assembly = Assembly::parse(compiled.assembly()?);
        let representations = compiled.text("NIR").zip(compiled.text("ACO"));
        let arguments = representations.and_then(|(nir, aco)| Arguments::read(nir, aco, self.gpu.generation));
        let code = Arc::new(Code { assembly, arguments, workgroup, compiled });
        self.codes.insert(program, Arc::clone(&code));
        Ok(code)
    }

    /// Everything about a kernel in a step with this record.
    ///
    /// # Errors
    /// As [`Judge::compile`].
    pub fn judge(&mut self, kernel: &dyn Kernel, tuning: &Tuning, record: &StepRecord) -> Result<Judgement> {
        let code = self.code(kernel, tuning)?;
        let params = kernel.description().params;
        let dispatch = code.dispatch(kernel, tuning, &params, record);
        let of = |name: &str| code.compiled.statistic(name);
        let footprint = Footprint {
            groups: dispatch.groups(),
            waves: dispatch.waves(),
            lanes: u64::from(dispatch.wave),
            registers: of("VGPRs"),
            memory: of("LDS size"),
        };
        let walks = code.walks(self.gpu, &dispatch, SOME);
        let slowest = walks.iter().max_by(|a, b| a.clocks[0].now.total_cmp(&b.clocks[0].now));
        self.write(kernel, &code, slowest)?;
        let resolved = slowest.filter(|_| walks.iter().all(|walk| walk.resolved));
        let barriers = resolved.map(|walk| walk.count(&code.assembly, Class::Barrier));
        let times = resolved.map(|_| {
            let of = |at: usize, hardware| {
                let clocks: Vec<&Clock> = walks.iter().map(|walk| &walk.clocks[at]).collect();
                time(hardware, &Cost::of(&clocks, barriers > Some(0)), &footprint)
            };
            [of(0, &self.gpu.hardware), of(1, &HOPPER)]
        });
        let made: Vec<_> = walks.iter().map(|walk| walk.products(&code.assembly)).collect();
        let [of_amd, of_nvidia] = [&self.gpu.hardware, &HOPPER].map(|each| bound(each, &made, &footprint));
        Ok(Judgement {
            kernel: kernel.label(),
            shape: kernel.description().shape,
            tile: tuning
                .tile_of(kernel.description().layout)
                .map_or_else(String::new, |tile| tile.to_string()),
            steps: kernel.shader().records.max(1),
            groups: footprint.groups,
            threads: dispatch.threads(),
            wave: dispatch.wave,
            waves: footprint.groups * footprint.waves,
            vgprs: footprint.registers,
            sgprs: of("SGPRs"),
            spills: of("Spilled VGPRs") + of("Spilled SGPRs"),
            scratch: of("Scratch size"),
            workgroup_memory: footprint.memory,
            waves_per_simd: self.gpu.generation.waves(of("Subgroups per SIMD"), dispatch.wave),
            instructions: of("Instructions"),
            starts: code.arguments.is_some(),
            products: slowest.map_or_else(Vec::new, |walk| walk.products(&code.assembly)),
            trips: resolved.map(Walk::round_trips),
            barriers,
            cycles: resolved.map(|walk| walk.clocks[0].now),
            waits: resolved.map(|walk| walk.clocks[0].waits),
            assumed: walks.iter().any(|walk| walk.assumed),
            times,
            bounds: of_amd.zip(of_nvidia).map(|(amd, nvidia)| [amd, nvidia]),
        })
    }

    /// Bytes that all waves of a dispatch load and store; nothing where data decide.
    ///
    /// # Errors
    /// As [`Judge::compile`].
    #[cfg(test)]
    pub fn bytes(
        &mut self,
        kernel: &dyn Kernel,
        tuning: &Tuning,
        record: &StepRecord,
    ) -> Result<Option<f64>> {
        let code = self.code(kernel, tuning)?;
        let params = kernel.description().params;
        let dispatch = code.dispatch(kernel, tuning, &params, record);
        let all = code.walks(self.gpu, &dispatch, [u64::MAX; 2]);
        let known = all.iter().all(|walk| walk.resolved && !walk.assumed);
        Ok(known.then(|| all.iter().map(|walk| walk.clocks[0].bytes).sum()))
    }

    /// Writes the machine code of a kernel, if that is asked for.
    fn write(&mut self, kernel: &dyn Kernel, code: &Code, walk: Option<&Walk>) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        self.judged += 1;
        let listed = listing(code.compiled.assembly()?, &code.assembly, walk, self.gpu.hardware.clock);
        let path = folder.join(format!("{}-{:03}-{}.s", self.gpu.name, self.judged, kernel.shader().name));
        let head = format!("; {} {}\n", kernel.label(), kernel.description().shape);
        fs::write(&path, head + &listed).with_context(|| path.display().to_string())
    }
}

impl Code {
    fn dispatch<'a>(
        &self,
        kernel: &dyn Kernel,
        tuning: &Tuning,
        params: &'a [u8],
        record: &'a StepRecord,
    ) -> Dispatch<'a> {
        Dispatch {
            params,
            record: bytemuck::bytes_of(record),
            list: kernel.shader().bindings.len() as u32 + 1,
            grid: grid(kernel, tuning),
            workgroup: self.workgroup,
            wave: self.compiled.wave,
        }
    }

    /// Walks of at most so many waves of at most so many workgroups, the first and the last among them.
    fn walks(&self, gpu: &Gpu, dispatch: &Dispatch<'_>, [groups, waves]: [u64; 2]) -> Vec<Walk> {
        let Some(arguments) = &self.arguments else { return Vec::new() };
        let hardware = [gpu.hardware, HOPPER];
        let stores_apart = gpu.generation.stores_apart();
        let mut walks = Vec::new();
        for group in spread(dispatch.groups(), groups) {
            for wave in spread(dispatch.waves(), waves) {
                let which = [group, wave];
                let walked = walk(&self.assembly, arguments, dispatch, which, &hardware, stores_apart);
                let resolved = walked.resolved;
                walks.push(walked);
                if !resolved {
                    // The others would not say more, and may take long.
                    return walks;
                }
            }
        }
        walks
    }
}

/// At most so many of `count` numbers from 0, the first and the last among them.
fn spread(count: u64, most: u64) -> Vec<u64> {
    let parts = most.min(count).saturating_sub(1).max(1);
    let mut numbers: Vec<u64> = (0..=parts).map(|part| count.saturating_sub(1) * part / parts).collect();
    numbers.dedup();
    numbers
}
