//! Training on an adapter: many batches are recorded and submitted ahead; metrics are read back as they
//! become available.

mod bound;
mod encoder_thread;
mod evaluation;
mod pack;
mod rows;
mod submission_sizing;
mod submissions;
mod timestamp_recorder;
mod training;

use std::collections::BTreeMap;

pub use pack::{GpuPack, PackMember};
pub use submissions::MemberMetrics;

use bound::BoundSchedule;
use evaluation::ParametersAt;
use rows::{DeviceRows, stored};
use submissions::Submissions;
use training::Training;

use crate::data::Rows;
use crate::engine::order::{HostOrder, unpolled};
use crate::engine::{
    BatchMetrics, Batches, Description, Engine, EngineKind, EngineOptions, EngineState, Evaluation,
    Inference, Observer, Waiting,
};
use crate::error::{Error, Result};
use crate::gpu::{Adapter, Context, read_buffer_at};
use crate::kernels::{Compute, StepRecord, Tuning, blocks, measure_ceilings};
use crate::model::{Network, ParameterLayout, Parameters};
use crate::schedule::{Buffer, DeviceLimits, DispatchPlan, SelectedPlan, TrainingStep, parameter_layout};
use crate::step::ScheduleKind;
use crate::threads::block;
use crate::timing::Ceilings;

/// Most rows of an evaluation's batch.
const EVALUATION_ROWS: usize = 512;

/// A network on an adapter.
pub struct GpuEngine {
    compute: Compute,
    network: Network,
    options: EngineOptions,
    selected: SelectedPlan,
    layout: ParameterLayout,
    parameters: wgpu::Buffer,
    /// Number of steps done.
    steps: u64,
    host_order: HostOrder,
    training: Option<Training>,
    /// By storage format, since a test set may have a different format than the training set.
    evaluation: BTreeMap<bool, (DeviceRows, BoundSchedule)>,
    submissions: Submissions,
    evaluation_batch: usize,
    evaluation_steps: usize,
}

impl GpuEngine {
    /// Creates an engine with these parameters on an adapter.
    ///
    /// # Errors
    /// When the adapter cannot be opened or cannot hold the network.
    pub fn new(
        adapter: &Adapter,
        parameters: &Parameters,
        network: &Network,
        options: &EngineOptions,
    ) -> Result<Self> {
        block(Self::new_async(adapter, parameters, network, options))
    }

    /// Creates an engine as [`GpuEngine::new`] does.
    ///
    /// # Errors
    /// See [`GpuEngine::new`].
    pub async fn new_async(
        adapter: &Adapter,
        parameters: &Parameters,
        network: &Network,
        options: &EngineOptions,
    ) -> Result<Self> {
        let compute = Compute::new(Context::open_async(adapter).await?);
        let tuning = compute.tuning;
        Self::with_tuning(compute, tuning, parameters, network, options)
    }

    /// Creates an engine as [`GpuEngine::new`] does, on an open device with these tile shapes.
    ///
    /// # Errors
    /// See [`GpuEngine::new`].
    pub fn with_tuning(
        compute: Compute,
        tuning: Tuning,
        parameters: &Parameters,
        network: &Network,
        options: &EngineOptions,
    ) -> Result<Self> {
        let compute = compute.with_tuning(tuning);
        let step = training_step(network, options);
        let limits = DeviceLimits::from_context(&compute.context, &tuning);
        let selected = SelectedPlan::choose(options.schedule, &step, &limits);
        let context = &compute.context;
        let layout = parameter_layout(selected.kind, &step, &tuning);
        let buffer = context.storage("parameters", layout.bytes())?;
        let widest = network.sizes().into_iter().max().unwrap_or(1);
        let fitting = context.largest_storage() / (16 * blocks(widest) as u64);
        let mut engine = Self {
            compute,
            network: network.clone(),
            options: options.clone(),
            selected,
            layout,
            parameters: buffer,
            steps: 0,
            host_order: HostOrder::default(),
            training: None,
            evaluation: BTreeMap::new(),
            submissions: Submissions::new()?,
            evaluation_batch: (fitting as usize).clamp(1, EVALUATION_ROWS),
            evaluation_steps: 1,
        };
        engine.restore(parameters, &EngineState::default())?;
        Ok(engine)
    }

    /// Returns the training schedule.
    pub(crate) fn schedule(&self) -> ScheduleKind {
        self.selected.kind
    }

    /// Creates an engine on the same device with another schedule, if available, and these parameters.
    pub(crate) fn with_schedule(&self, kind: ScheduleKind, parameters: &Parameters) -> Result<Self> {
        let options = EngineOptions { schedule: Some(kind), ..self.options.clone() };
        let tuning = self.compute.tuning;
        Self::with_tuning(self.compute.clone(), tuning, parameters, &self.network, &options)
    }

    /// Clears the device's error: a rejected kernel does not affect others.
    pub(crate) fn forget_failure(&self) {
        self.compute.context.forget();
    }

    fn step(&self) -> TrainingStep<'_> {
        training_step(&self.network, &self.options)
    }

    fn bind(&self, schedule: &DispatchPlan, rows: &DeviceRows, predictions: usize) -> Result<BoundSchedule> {
        let Self { compute: Compute { context, pipelines, tuning, .. }, parameters, .. } = self;
        BoundSchedule::new(context, pipelines, schedule, tuning, rows, parameters, predictions)
    }

    /// Reads numbers in the layout of the parameters from vec4 `start` on.
    async fn read_region(&self, buffer: &wgpu::Buffer, start: usize) -> Result<Parameters> {
        let (context, bytes) = (&self.compute.context, self.layout.weight_bytes());
        let bytes = read_buffer_at(context, buffer, 16 * start as u64, bytes).await?;
        Ok(self.layout.unpack(&bytemuck::pod_collect_to_vec::<u8, f32>(&bytes)))
    }

    fn write_region(&self, start: usize, values: &Parameters) {
        let packed = self.layout.pack(values);
        let queue = &self.compute.context.queue;
        queue.write_buffer(&self.parameters, 16 * start as u64, bytemuck::cast_slice(&packed));
    }
}

fn training_step<'a>(network: &'a Network, options: &'a EngineOptions) -> TrainingStep<'a> {
    TrainingStep { network, rule: &options.rule, rows: options.batch, weighted: options.weighted }
}

/// Blocking parts of these futures: compiling kernels on first use, time stamps, and outside browsers the
/// first poll of [`Context::ended`], since nothing else drives a device there.
impl GpuEngine {
    async fn poll_metrics(&mut self, wait: bool) -> Result<Vec<BatchMetrics>> {
        let polled = self.submissions.poll(&self.compute.context, wait).await?;
        Ok(polled.into_iter().map(|it| it.metrics).collect())
    }

    async fn take_snapshot(&self) -> Result<(Parameters, EngineState)> {
        // Check first whether the device is available.
        let parameters = self.read_region(&self.parameters, 0).await?;
        if !self.submissions.is_idle() {
            return Err(unpolled());
        }
        let mut optimizer = Vec::new();
        for place in self.layout.state_places() {
            optimizer.push(self.read_region(&self.parameters, place).await?);
        }
        Ok((parameters, EngineState { step: self.steps, optimizer }))
    }

    async fn compute_gradients(&self, rows: &Rows<'_>) -> Result<Parameters> {
        let (stored, count, most) = (stored(rows), rows.len(), self.options.batch);
        if count == 0 || count > most {
            return Err(Error::Config(format!("{count} rows are no batch of 1 to {most}")));
        }
        let device_rows = DeviceRows::new(
            &self.compute.context,
            &self.network,
            Some(self.targets()),
            stored,
            count,
            count,
        )?;
        device_rows.upload(&self.compute.context, rows, 0..count, 0)?;
        device_rows.set_identity_order(&self.compute.context);
        let schedule = DispatchPlan::gradients(&self.step(), device_rows.samples(), &self.compute.tuning);
        let bound = self.bind(&schedule, &device_rows, 0)?;
        let mut encoder = self.compute.context.device.create_command_encoder(&Default::default());
        let record = StepRecord { rows: count as u32, ..self.options.rule.record(self.steps) };
        let steps = bound.steps(&[record])?;
        bound.record(&mut encoder, &steps);
        bound.place(&self.compute.context, &steps);
        self.compute.context.queue.submit([encoder.finish()]);
        self.read_region(bound.buffer(Buffer::Gradients), 0).await
    }
}

impl Inference for GpuEngine {
    fn evaluate<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Evaluation> {
        Box::pin(async { Ok(self.evaluate_rows(rows, &[ParametersAt::Engine]).await?.swap_remove(0)) })
    }

    fn outputs<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Vec<f32>> {
        Box::pin(async { Ok(self.outputs_of_rows(rows, &[ParametersAt::Engine]).await?.swap_remove(0)) })
    }

    fn description(&self) -> Description {
        let Context { name, backend, .. } = &*self.compute.context;
        Description {
            engine: EngineKind::Gpu,
            device: format!("{name} ({backend})"),
            schedule: Some(self.selected.clone()),
            dispatches: self.dispatches(),
        }
    }
}

impl Engine for GpuEngine {
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize> {
        self.submit_batches(batches)
    }

    fn poll(&mut self, wait: bool) -> Waiting<'_, Vec<BatchMetrics>> {
        Box::pin(self.poll_metrics(wait))
    }

    fn parameters(&mut self) -> Waiting<'_, Parameters> {
        Box::pin(self.read_region(&self.parameters, 0))
    }

    fn snapshot(&mut self) -> Waiting<'_, (Parameters, EngineState)> {
        Box::pin(self.take_snapshot())
    }

    fn restore(&mut self, parameters: &Parameters, state: &EngineState) -> Result<()> {
        self.write_region(0, parameters);
        let zeros = Parameters::zeros(&self.network);
        for (number, place) in self.layout.state_places().enumerate() {
            self.write_region(place, state.optimizer.get(number).unwrap_or(&zeros));
        }
        self.steps = state.step;
        self.host_order = HostOrder::default();
        self.training = self.training.take().and_then(Training::restarted);
        self.compute.context.check()
    }

    fn gradients<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Parameters> {
        Box::pin(self.compute_gradients(rows))
    }

    fn observe(&mut self, observer: Observer) {
        self.submissions.observe(observer);
    }

    fn ceilings(&mut self) -> Result<Ceilings> {
        measure_ceilings(&self.compute)
    }
}
