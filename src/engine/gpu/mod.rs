//! Training on an adapter: many batches recorded and submitted ahead, metrics read back as they come.

mod bound;
mod evaluation;
mod finisher;
mod order;
mod rows;
mod stamper;
mod submissions;

use std::collections::BTreeMap;
use std::ops::Range;

use bound::{BoundSchedule, MOST_STEPS};
use evaluation::different_rows;
use order::DeviceOrder;
use rows::{DeviceRows, ORDER_POSITIONS, ORDERED_ROWS, check_order, row_bytes, stored};
use stamper::Stamper;
use submissions::Submissions;

use crate::data::{Rows, rows_at};
use crate::engine::{Engine, EngineKind, Evaluation, Observer, Sink, Work, begin};
use crate::error::{Error, Result};
use crate::gpu::{Adapter, Context, read_buffer};
use crate::kernels::{Batch, Ceilings, Compute, FeatureFormat, Tuning, blocks, unpad_rows};
use crate::model::{Layer, Network, Parameters};
use crate::schedule::{
    Buffer, DeviceLimits, Schedule, SelectedSchedule, TileSource, Tiles, device_parameters, layer_offsets,
    parameter_bytes, resolve,
};
use crate::train::Config;

/// Rows that a batch of an evaluation has at most.
const EVALUATION_ROWS: usize = 512;

/// Most bytes of a data set that stays on the device: there is no asking how much memory it has.
const RESIDENT_BYTES: u64 = 1 << 30;

/// Bytes of features that stand on the device at a time where a data set does not stay there.
const WINDOW_BYTES: u64 = 16 << 20;

/// Rows on the device and the plan that trains on them.
struct Training {
    rows: DeviceRows,
    plan: BoundSchedule,
    /// The order of the rows that stay on the device; not of a window.
    order: DeviceOrder,
    /// Rows of the data set that stand on the device; a window holds none of them for long.
    uploaded: usize,
    is_window: bool,
    /// Whether the rows passed through a window before, while their number was not known.
    was_window: bool,
}

/// A network on an adapter.
pub struct GpuEngine {
    compute: Compute,
    spec: Network,
    learning_rate: f32,
    chosen: SelectedSchedule,
    tiles: Tiles,
    batch: usize,
    parameters: wgpu::Buffer,
    training: Option<Training>,
    /// By form of storage, since a test set may be stored in another way than the training set.
    evaluation: BTreeMap<bool, (DeviceRows, BoundSchedule)>,
    submissions: Submissions,
    evaluation_batch: usize,
    evaluation_steps: usize,
}

impl GpuEngine {
    /// Puts the parameters on an adapter. Batches have at most `batch` rows.
    ///
    /// # Errors
    /// When the adapter cannot be opened or cannot hold the network.
    pub fn new(
        adapter: &Adapter,
        parameters: &Parameters,
        spec: &Network,
        config: &Config,
        batch: usize,
    ) -> Result<Self> {
        let context = Context::open(adapter)?;
        let settled = resolve(adapter, &context, spec, config, batch);
        Self::on(Compute::new(context), settled, parameters, spec, config, batch)
    }

    /// As [`GpuEngine::new`], with tile shapes of the caller's choice.
    ///
    /// # Errors
    /// As [`GpuEngine::new`].
    pub fn with_tuning(
        context: Context,
        tuning: Tuning,
        parameters: &Parameters,
        spec: &Network,
        config: &Config,
        batch: usize,
    ) -> Result<Self> {
        let chosen = SelectedSchedule::of(config.schedule, spec, &DeviceLimits::of(&context, batch, &tuning));
        let tiles = Tiles { tuning, source: TileSource::Given };
        Self::on(Compute::new(context), (chosen, tiles), parameters, spec, config, batch)
    }

    /// On a device that is open, with schedule and tile shapes settled.
    pub(crate) fn on(
        compute: Compute,
        (chosen, tiles): (SelectedSchedule, Tiles),
        parameters: &Parameters,
        spec: &Network,
        config: &Config,
        batch: usize,
    ) -> Result<Self> {
        let (compute, tuning) = (compute.tuned(tiles.tuning), tiles.tuning);
        let context = &compute.context;
        let padded = device_parameters(parameters);
        let bytes = parameter_bytes(chosen.kind, spec, batch, &tuning);
        let buffer = context.storage("parameters", bytes)?;
        context.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&padded));
        let widest = spec.sizes().iter().copied().max().unwrap_or(1);
        let fitting = context.largest_storage() / (16 * blocks(widest) as u64);
        Ok(Self {
            compute,
            spec: spec.clone(),
            learning_rate: config.learning_rate,
            chosen,
            tiles,
            batch,
            parameters: buffer,
            training: None,
            evaluation: BTreeMap::new(),
            submissions: Submissions::new()?,
            evaluation_batch: (fitting as usize).clamp(1, EVALUATION_ROWS),
            evaluation_steps: 1,
        })
    }

    fn training_schedule(&self, stored: FeatureFormat) -> Schedule {
        let (kind, rate) = (self.chosen.kind, self.learning_rate);
        Schedule::train(kind, &self.spec, self.batch, stored, rate, &self.compute.tuning)
    }

    fn plan(&self, schedule: &Schedule, rows: &DeviceRows, predictions: usize) -> Result<BoundSchedule> {
        let Self { compute: Compute { context, pipelines, tuning, .. }, parameters, .. } = self;
        BoundSchedule::new(context, pipelines, schedule, tuning, rows, parameters, predictions)
    }

    /// Rows of a window for batches of `batch` rows: whole batches, one at least.
    fn window_rows(&self, stored: FeatureFormat, batch: usize) -> usize {
        let budget = WINDOW_BYTES.min(self.compute.context.largest_storage());
        let rows = (budget / row_bytes(self.spec.inputs(), stored)) as usize;
        batch * (rows.min(ORDER_POSITIONS) / batch).clamp(1, MOST_STEPS)
    }

    /// What `rows` are trained with: the whole set on the device where its size is known and it has room, else a
    /// window through which it passes.
    fn prepare_training(&mut self, rows: &Rows<'_>) -> Result<Training> {
        let (stored, inputs) = (stored(rows), self.spec.inputs());
        let resident = self.resident_rows(rows);
        let capacity = resident.unwrap_or_else(|| self.window_rows(stored, self.batch));
        let device_rows = DeviceRows::new(&self.compute.context, inputs, stored, capacity, self.batch)?;
        if resident.is_none() {
            device_rows.set_identity_order(&self.compute.context);
        }
        let plan = self.plan(&self.training_schedule(stored), &device_rows, 0)?;
        let is_window = resident.is_none();
        Ok(Training {
            rows: device_rows,
            plan,
            order: DeviceOrder::default(),
            uploaded: 0,
            is_window,
            was_window: false,
        })
    }

    /// Rows of the whole set, if their number is known and the device has room for them.
    fn resident_rows(&self, rows: &Rows<'_>) -> Option<usize> {
        let bytes = row_bytes(self.spec.inputs(), stored(rows));
        let most = self.compute.context.largest_storage().min(RESIDENT_BYTES);
        rows.total.filter(|total| bytes * *total as u64 <= most)
    }

    /// What `rows` are trained with, those that stay on the device uploaded.
    fn take_training(&mut self, rows: &Rows<'_>) -> Result<Training> {
        // While its size was not known a set passed through a window; now it may stay on the device.
        let may_stay = self.resident_rows(rows).is_some();
        let mut training = match self.training.take() {
            Some(training) if !(training.is_window && may_stay) => training,
            before => Training { was_window: before.is_some(), ..self.prepare_training(rows)? },
        };
        if let Some(recorder) = self.submissions.unstamped() {
            let schedule = self.training_schedule(training.rows.stored);
            let Compute { context, tuning, .. } = &self.compute;
            self.submissions.stamp(Stamper::new(context, recorder, schedule, *tuning));
        }
        if !training.is_window {
            let context = &self.compute.context;
            let _upload = begin(self.submissions.listener(), Work::Upload);
            training.rows.upload(context, rows, training.uploaded..rows.len(), training.uploaded)?;
            training.uploaded = rows.len();
        }
        Ok(training)
    }

    /// Trains on these positions of the order, all of them on the device. What passes through a window does so here,
    /// in that order.
    fn train_positions(
        &mut self,
        training: &Training,
        positions: Range<usize>,
        window: Option<(&Rows<'_>, &[u32])>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let mut done = positions.start;
        while done < positions.end {
            self.submissions.make_room(&self.compute.context, sink)?;
            let most = if window.is_some() { training.rows.capacity / self.batch } else { MOST_STEPS };
            let end = positions.end.min(done + self.batch * self.submissions.steps().min(most));
            if let Some((rows, order)) = window {
                let _upload = begin(self.submissions.listener(), Work::Upload);
                self.submissions.flush(&self.compute.context)?;
                training.rows.upload_gathered(&self.compute.context, rows, &order[done..end])?;
            }
            let first = if window.is_some() { 0 } else { done };
            let sizes: Vec<usize> =
                (done..end).step_by(self.batch).map(|start| self.batch.min(end - start)).collect();
            let _recording = begin(self.submissions.listener(), Work::Recording);
            self.submissions.record(&self.compute.context, &training.plan, first, &sizes)?;
            done = end;
        }
        // What comes next may be a wait for more rows, or an order in the place of this one.
        let _recording = begin(self.submissions.listener(), Work::Recording);
        self.submissions.flush(&self.compute.context)
    }

    /// Parameters, or gradients in the same layout, from the device.
    fn read_layers(&self, buffer: &wgpu::Buffer) -> Result<Parameters> {
        let offsets = layer_offsets(&self.spec);
        let bytes = read_buffer(&self.compute.context, buffer, 16 * offsets[offsets.len() - 1] as u64)?;
        let values: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes);
        let layers = self
            .spec
            .layers()
            .zip(offsets.windows(2))
            .map(|((inputs, outputs), range)| {
                let mut weights = unpad_rows(&values[4 * range[0]..4 * range[1]], outputs);
                let bias = weights.split_off(inputs * outputs);
                Layer { inputs, outputs, weights, bias }
            })
            .collect();
        Ok(Parameters { layers })
    }
}

impl Engine for GpuEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Gpu
    }

    fn device(&self) -> String {
        format!("{} ({})", self.compute.context.name, self.compute.context.backend)
    }

    fn train(&mut self, rows: &Rows<'_>, order: &[u32], sink: &mut Sink<'_>) -> Result<()> {
        check_order(rows, order.iter().map(|row| *row as usize))?;
        let mut training = self.take_training(rows)?;
        training.order = DeviceOrder::default();
        for piece in order.chunks(training.rows.positions) {
            if !training.is_window {
                let _upload = begin(self.submissions.listener(), Work::Upload);
                training.rows.set_order(&self.compute.context, piece);
            }
            let window = training.is_window.then_some((rows, piece));
            self.train_positions(&training, 0..piece.len(), window, sink)?;
        }
        self.training = Some(training);
        Ok(())
    }

    fn train_epoch(
        &mut self,
        rows: &Rows<'_>,
        seed: u64,
        epoch: usize,
        positions: Range<usize>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        if positions.is_empty() {
            return Ok(());
        }
        check_order(rows, positions.end.checked_sub(1))?;
        let mut training = self.take_training(rows)?;
        if training.is_window || training.rows.capacity > ORDERED_ROWS {
            self.training = Some(training);
            return self.train(rows, &rows_at(seed, epoch, rows.len(), positions), sink);
        }
        let upload = begin(self.submissions.listener(), Work::Upload);
        training.order.make(&self.compute, &training.rows, rows.len(), (seed, epoch), positions.clone())?;
        drop(upload);
        self.train_positions(&training, positions, None, sink)?;
        self.training = Some(training);
        Ok(())
    }

    fn finish(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        self.submissions.finish(&self.compute.context, sink)
    }

    fn evaluate(&mut self, rows: &Rows<'_>) -> Result<Evaluation> {
        self.evaluate_rows(rows)
    }

    fn logits(&mut self, rows: &Rows<'_>) -> Result<Vec<f32>> {
        self.logits_of_rows(rows)
    }

    fn errors(&mut self, labels: &[u32], predictions: &[u32]) -> Result<Vec<u32>> {
        different_rows(&self.compute, labels, predictions)
    }

    fn parameters(&mut self) -> Result<Parameters> {
        self.read_layers(&self.parameters)
    }

    fn gradients(&mut self, rows: &Rows<'_>) -> Result<Parameters> {
        let (stored, count) = (stored(rows), rows.len());
        if count == 0 || count > self.batch {
            return Err(Error::Config(format!("{count} rows are no batch of 1 to {}", self.batch)));
        }
        let device_rows = DeviceRows::new(&self.compute.context, self.spec.inputs(), stored, count, count)?;
        device_rows.upload(&self.compute.context, rows, 0..count, 0)?;
        device_rows.set_identity_order(&self.compute.context);
        let schedule = Schedule::gradients(&self.spec, self.batch, stored, &self.compute.tuning);
        let plan = self.plan(&schedule, &device_rows, 0)?;
        let mut encoder = self.compute.context.device.create_command_encoder(&Default::default());
        let steps = plan.steps(&[Batch { rows: count as u32, ..Batch::default() }]);
        plan.record(&mut encoder, &steps);
        plan.place(&self.compute.context, &steps);
        self.compute.context.queue.submit([encoder.finish()]);
        self.read_layers(plan.buffer(Buffer::Gradients))
    }

    fn observe(&mut self, listener: Observer) {
        self.submissions.observe(listener);
    }

    fn restart(&mut self, parameters: &Parameters) -> Result<()> {
        let padded = device_parameters(parameters);
        self.compute.context.queue.write_buffer(&self.parameters, 0, bytemuck::cast_slice(&padded));
        // A table whose rows are not counted yet begins with a window again.
        self.training = self.training.take().filter(|training| !training.was_window);
        if let Some(training) = &mut self.training {
            training.uploaded = 0;
            training.order.restart();
        }
        self.compute.context.check()
    }

    fn ceilings(&mut self) -> Result<Ceilings> {
        Ceilings::measure(&self.compute)
    }

    fn schedule(&self) -> Option<SelectedSchedule> {
        Some(self.chosen.clone())
    }

    fn tiles(&self) -> Option<Tiles> {
        Some(self.tiles)
    }

    fn describe(&self) -> Vec<String> {
        let schedule = self.training_schedule(FeatureFormat::Bytes);
        schedule.dispatches.iter().map(|dispatch| dispatch.describe(&self.compute.tuning)).collect()
    }
}
