//! Compute pipelines, compiled once each, and fully bound dispatches.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::context::Context;
use super::record_transport::RecordTransport;
use super::steps::{StepBinding, entry, step_layout};
use super::unchecked_shaders;
use crate::error::{Error, Result};
use crate::threads::{EXIST, available, block, each};

/// A kernel's access to a storage buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read only.
    Read,
    /// Read and write.
    Write,
}

/// A complete compute program, with everything that determines its machine code, created by
/// [`program`](crate::kernels::program()).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Program {
    /// Entry point, and name in messages.
    pub(crate) entry: &'static str,
    /// WGSL, with all pieces inserted.
    pub(crate) source: String,
    /// Whether the source is unmodified from `shaders/`, where its bounds are proven.
    pub(crate) unchecked: bool,
    /// Override constants, as bit patterns of f64 so that programs can be compared.
    pub(crate) constants: Vec<(&'static str, u64)>,
    /// Bindings 1, 2, ... of group 0 (binding 0 is the uniform of its parameters).
    pub(crate) bindings: Vec<Access>,
    /// Bytes of the uniform at binding 0 of group 0.
    pub(crate) params_bytes: u64,
    /// Bytes of the record that changes from step to step, or of all records read; 0 for none.
    pub(crate) step_bytes: u64,
    /// Transport of the record.
    pub(crate) transport: RecordTransport,
}

impl Program {
    /// Returns the entry point, which is also the name in messages.
    pub fn entry(&self) -> &'static str {
        self.entry
    }

    /// Returns the WGSL, with all pieces inserted.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the bytes of the records that change from step to step.
    pub fn step_bytes(&self) -> usize {
        self.step_bytes as usize
    }

    /// Returns names and values of the override constants.
    pub fn constants(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.constants.iter().map(|(name, bits)| (*name, f64::from_bits(*bits)))
    }

    /// Returns the bindings 1, 2, ... of group 0.
    pub fn bindings(&self) -> &[Access] {
        &self.bindings
    }

    /// Returns a program with another source without override constants, and other bindings. Its bounds are
    /// unknown, so it is compiled with all checks.
    #[must_use]
    pub fn rewritten(&self, source: String, bindings: Vec<Access>) -> Self {
        Self { source, bindings, constants: Vec::new(), unchecked: false, ..self.clone() }
    }
}

/// A pipeline and the layout of its first group.
struct Pipeline {
    pipeline: wgpu::ComputePipeline,
    group_layout: wgpu::BindGroupLayout,
}

/// All pipelines of a device: each program is compiled once.
pub struct Pipelines {
    made: Mutex<HashMap<Program, Arc<Pipeline>>>,
}

/// A dispatch with its pipeline, buffers and size, ready to be recorded.
pub struct Prepared {
    pipeline: Arc<Pipeline>,
    group: wgpu::BindGroup,
    workgroups: [u32; 3],
    needs_step: bool,
}

impl Prepared {
    /// Records the dispatch. `step` is the record of this step, for kernels that read one.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>, step: Option<StepBinding<'_>>) {
        self.record_first(pass, step, [u32::MAX; 3]);
    }

    /// Records the dispatch as [`Prepared::record`] does, with at most `most` workgroups in each dimension.
    pub fn record_first(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        step: Option<StepBinding<'_>>,
        most: [u32; 3],
    ) {
        pass.set_pipeline(&self.pipeline.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        if let (true, Some(step)) = (self.needs_step, step) {
            // Set every time, also for immediates, since another pipeline's layout clears them.
            step.set(pass);
        }
        let [x, y, z] = std::array::from_fn(|at| self.workgroups[at].min(most[at]));
        pass.dispatch_workgroups(x, y, z);
    }
}

impl Pipelines {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self { made: Mutex::new(HashMap::new()) }
    }

    /// Compiles the new ones of `programs` in parallel, one per core.
    ///
    /// # Errors
    /// See [`Pipelines::prepare`].
    pub fn compile(&self, context: &Context, programs: impl IntoIterator<Item = Program>) -> Result<()> {
        let programs: Vec<Program> = programs.into_iter().collect::<HashSet<_>>().into_iter().collect();
        let cores = match context.backend {
            // wgpu reports a deadlock if threads wait some seconds for GL's only context; a browser's device
            // belongs to one thread.
            wgpu::Backend::Gl | wgpu::Backend::BrowserWebGpu => 1,
            _ => available(),
        };
        let failed = Mutex::new(None);
        let first_error = || failed.lock().unwrap_or_else(PoisonError::into_inner);
        each(cores, programs.iter(), |program| {
            if first_error().is_some() {
                return;
            }
            if let Err(error) = self.pipeline(context, program) {
                first_error().get_or_insert(error);
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Returns the pipeline of a program, compiled if it is new.
    fn pipeline(&self, context: &Context, program: &Program) -> Result<Arc<Pipeline>> {
        let made = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = made().get(program) {
            return Ok(Arc::clone(pipeline));
        }
        let pipeline = Arc::new(compile(context, program)?);
        made().insert(program.clone(), Arc::clone(&pipeline));
        Ok(pipeline)
    }

    /// Binds `params` and `buffers` to a program, compiling it if it is new, with all checks, since nothing
    /// is known about the buffers.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the driver rejects the program, [`Error::Shape`] when there is not one buffer for
    /// each binding, [`Error::Device`] when the grid or the bindings exceed the device's limits.
    pub fn prepare(
        &self,
        context: &Context,
        program: &Program,
        params: &[u8],
        buffers: &[&wgpu::Buffer],
        workgroups: [u32; 3],
    ) -> Result<Prepared> {
        let program = Program { unchecked: false, ..program.clone() };
        self.bind(context, &program, params, buffers, workgroups)
    }

    /// Binds as [`Pipelines::prepare`] does, without checks if the program is `unchecked`: the caller has
    /// compared the buffers with its extents.
    ///
    /// # Errors
    /// See [`Pipelines::prepare`].
    pub(crate) fn bind(
        &self,
        context: &Context,
        program: &Program,
        params: &[u8],
        buffers: &[&wgpu::Buffer],
        workgroups: [u32; 3],
    ) -> Result<Prepared> {
        let found = [buffers.len(), params.len()];
        let expected = [program.bindings.len(), program.params_bytes as usize];
        if found != expected {
            let say =
                |[buffers, bytes]: [usize; 2]| format!("{buffers} buffers and {bytes} bytes of parameters");
            let (kernel, expected, found) = (program.entry, say(expected), say(found));
            return Err(Error::Shape { kernel, expected, found });
        }
        let most = context.limits.max_compute_workgroups_per_dimension;
        if workgroups.iter().any(|count| *count > most) {
            return Err(Error::Device(format!(
                "{}: {workgroups:?} workgroups, {} takes {most} in each dimension",
                program.entry, context.name
            )));
        }
        let pipeline = self.pipeline(context, program)?;
        let params = context.uniform(program.entry, params);
        let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: params.as_entire_binding() }];
        entries.extend(
            (1..).zip(buffers).map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            }),
        );
        let group = context.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(program.entry),
            layout: &pipeline.group_layout,
            entries: &entries,
        });
        Ok(Prepared { pipeline, group, workgroups, needs_step: program.step_bytes > 0 })
    }
}

impl Default for Pipelines {
    fn default() -> Self {
        Self::new()
    }
}

fn compile(context: &Context, program: &Program) -> Result<Pipeline> {
    let limit = context.limits.max_storage_buffers_per_shader_stage as usize;
    if program.bindings.len() > limit {
        return Err(Error::Device(format!(
            "{} needs {} storage buffers, {} takes {limit}",
            program.entry,
            program.bindings.len(),
            context.name
        )));
    }
    // A browser reports errors of a program later, through `Context::check`.
    let scope = EXIST.then(|| context.device.push_error_scope(wgpu::ErrorFilter::Validation));
    let descriptor = wgpu::ShaderModuleDescriptor {
        label: Some(program.entry),
        source: wgpu::ShaderSource::Wgsl(program.source.as_str().into()),
    };
    let checked = context.device_options.checked || !program.unchecked;
    let module = unchecked_shaders::shader_module(&context.device, descriptor, checked);
    let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform, false, program.params_bytes)];
    entries.extend((1..).zip(&program.bindings).map(|(binding, access)| {
        let read_only = *access == Access::Read;
        entry(binding, wgpu::BufferBindingType::Storage { read_only }, false, 16)
    }));
    let group_layout = context.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(program.entry),
        entries: &entries,
    });
    let by_offset = program.step_bytes > 0 && program.transport == RecordTransport::Offsets;
    let step_layout = by_offset.then(|| step_layout(context, program.step_bytes));
    let mut layouts = vec![Some(&group_layout)];
    layouts.extend(step_layout.as_ref().map(Some));
    let layout = context.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(program.entry),
        bind_group_layouts: &layouts,
        immediate_size: if by_offset { 0 } else { program.step_bytes as u32 },
    });
    let constants: Vec<(&str, f64)> = program.constants().collect();
    let pipeline = context.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(program.entry),
        layout: Some(&layout),
        module: &module,
        entry_point: Some(program.entry),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &constants,
            // Every kernel writes its workgroup memory before it reads it.
            zero_initialize_workgroup_memory: checked,
        },
        cache: context.cache.as_ref().map(|cache| &cache.handle),
    });
    match scope.and_then(|scope| block(scope.pop())) {
        Some(error) => Err(Error::Gpu(format!("{}: {error}", program.entry))),
        None => Ok(Pipeline { pipeline, group_layout }),
    }
}
