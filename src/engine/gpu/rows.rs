//! Rows of a data set on the device.

use std::ops::Range;

use crate::data::{Features, FeaturesRef, Rows, TargetsRef};
use crate::error::{Error, Result};
use crate::gpu::Context;
use crate::kernels::{Augment, Compute, FeatureFormat, LossTargets, Samples, blocks, pad_rows};
use crate::model::Network;
use crate::step::Distortion;

/// Least positions of the order on the device at a time.
pub const ORDER_POSITIONS: usize = 1 << 16;

/// Features, labels and order of up to `capacity` rows.
pub struct DeviceRows {
    /// [capacity, inputs], rows padded to whole words (bytes) or vec4s (floats).
    pub features: wgpu::Buffer,
    /// [capacity, words]
    pub targets: wgpu::Buffer,
    /// Row numbers.
    pub order: wgpu::Buffer,
    /// Format of features on the device.
    pub stored: FeatureFormat,
    /// Format of targets on the device; `None` for labels only, as evaluation reads them.
    form: Option<LossTargets>,
    /// Words of a row's targets.
    words: usize,
    /// Most rows.
    pub capacity: usize,
    /// Distortion of the features, if they are distorted in training.
    pub augmenter: Option<Augmenter>,
    /// Room for positions in `order`, in whole batches.
    pub positions: usize,
    inputs: usize,
}

/// Distortion of features on the device.
pub struct Augmenter {
    distortion: Distortion,
    /// Undistorted features, in the form of [`DeviceRows::features`].
    originals: wgpu::Buffer,
    /// Epoch of the distorted rows; 0 before the first.
    epoch: usize,
    /// Number of distorted rows.
    rows: usize,
}

impl Augmenter {
    /// Begins again with no rows.
    pub fn restart(&mut self) {
        (self.epoch, self.rows) = (0, 0);
    }
}

/// Rows of a batch and their targets, gathered once for all networks with an input layer.
pub struct SharedBatch {
    /// Rows as in the table.
    pub rows: wgpu::Buffer,
    /// Their targets.
    pub targets: wgpu::Buffer,
}

/// Returns the format in which rows will be stored on a device.
pub fn stored(rows: &Rows<'_>) -> FeatureFormat {
    match rows.scaled(0..0) {
        FeaturesRef::Bytes(_) => FeatureFormat::Bytes,
        FeaturesRef::Floats(_) => FeatureFormat::Floats,
    }
}

/// Returns the bytes of a row on the device.
pub fn row_bytes(inputs: usize, stored: FeatureFormat) -> u64 {
    let word = match stored {
        FeatureFormat::Bytes => 4,
        FeatureFormat::Floats => 16,
    };
    word * blocks(inputs) as u64
}

impl DeviceRows {
    /// Allocates room for `capacity` rows in a network's format, for their targets, and for their order, or
    /// for the order of some batches of `batch` rows. Without a form for training, targets are labels.
    ///
    /// # Errors
    /// When the device has no buffers of that size.
    pub fn new(
        context: &Context,
        network: &Network,
        form: Option<LossTargets>,
        stored: FeatureFormat,
        capacity: usize,
        batch: usize,
    ) -> Result<Self> {
        let inputs = network.columns();
        let words = form.map_or(1, |form| form.words(network.outputs()));
        let positions = batch * ORDER_POSITIONS.div_ceil(batch);
        Ok(Self {
            features: context.storage("features", row_bytes(inputs, stored) * capacity as u64)?,
            targets: context.storage("targets", 4 * (words * capacity) as u64)?,
            order: context.storage("order", 4 * positions as u64)?,
            stored,
            form,
            words,
            capacity,
            augmenter: None,
            positions,
            inputs,
        })
    }

    /// Adds room for the undistorted features.
    ///
    /// # Errors
    /// When the device has no buffer of that size.
    pub fn distorted_by(self, context: &Context, distortion: Option<Distortion>) -> Result<Self> {
        let Some(distortion) = distortion else { return Ok(self) };
        let originals =
            context.storage("originals", row_bytes(self.inputs, self.stored) * self.capacity as u64)?;
        Ok(Self { augmenter: Some(Augmenter { distortion, originals, epoch: 0, rows: 0 }), ..self })
    }

    /// Distorts the rows before `end` for an epoch, as far as they are not; does nothing without distortions. `flush`
    /// submits the recorded steps, which use the features of an earlier epoch.
    ///
    /// # Errors
    /// Errors of the device, and of `flush`.
    pub fn distort(
        &mut self,
        compute: &Compute,
        epoch: usize,
        end: usize,
        flush: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let samples = self.samples();
        let Some(augmenter) = &mut self.augmenter else { return Ok(()) };
        let first = if augmenter.epoch == epoch { augmenter.rows } else { 0 };
        if first == end {
            return Ok(());
        }
        flush()?;
        let kernel = Augment { distortion: augmenter.distortion, rows: end - first, samples };
        let record = kernel.record(first, end - first, epoch as u32);
        compute.run(&kernel, &[&augmenter.originals, &self.features], record)?;
        (augmenter.epoch, augmenter.rows) = (epoch, end);
        Ok(())
    }

    /// Copies the rows `range` to the device, starting at row `at`.
    ///
    /// # Errors
    /// [`Error::Gpu`] when their format differs from the allocated one.
    pub fn upload(&self, context: &Context, rows: &Rows<'_>, range: Range<usize>, at: usize) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let start = row_bytes(self.inputs, self.stored) * at as u64;
        let to = self.augmenter.as_ref().map_or(&self.features, |augmenter| &augmenter.originals);
        self.write_features(context, to, rows.scaled(range.clone()), start)?;
        self.write_targets(context, rows, range.map(|row| row as u32), at)?;
        Ok(())
    }

    /// Copies rows to the device, contiguously from row 0: these features, and the targets of the rows in `order`.
    ///
    /// # Errors
    /// See [`DeviceRows::upload`].
    pub fn upload_gathered(
        &self,
        context: &Context,
        rows: &Rows<'_>,
        order: &[u32],
        features: &Features,
    ) -> Result<()> {
        self.write_features(context, &self.features, features.scaled(0..features.len(), rows.scaling), 0)?;
        self.write_targets(context, rows, order.iter().copied(), 0)?;
        Ok(())
    }

    /// Replaces the order from position `first` on.
    pub fn set_order(&self, context: &Context, first: usize, order: &[u32]) {
        context.queue.write_buffer(&self.order, 4 * first as u64, bytemuck::cast_slice(order));
    }

    /// Sets the order to the storage order of the rows.
    pub fn set_identity_order(&self, context: &Context) {
        self.set_order(context, 0, &(0..self.positions as u32).collect::<Vec<u32>>());
    }

    /// Returns the data set's description for kernels.
    pub fn samples(&self) -> Samples {
        Samples { stored: self.stored, count: self.capacity }
    }

    /// Writes the targets of these rows to the device, from row `at` on.
    fn write_targets(
        &self,
        context: &Context,
        rows: &Rows<'_>,
        numbers: impl ExactSizeIterator<Item = u32>,
        at: usize,
    ) -> Result<()> {
        let mut words = Vec::with_capacity(self.words * numbers.len());
        for row in numbers.map(|row| row as usize) {
            match (rows.targets, self.form) {
                (TargetsRef::Classes(labels), _) => words.push(labels[row]),
                // Targets are not read.
                (TargetsRef::Values { .. }, None) => words.push(0),
                (TargetsRef::Values { columns, values }, Some(_)) => {
                    words.extend(values[row * columns..][..columns].iter().map(|value| value.to_bits()));
                }
            }
            if self.form.is_some_and(|form| form.weighted) {
                words.push(rows.weight(row).to_bits());
            }
            if words.len() % self.words != 0 {
                return Err(Error::Config("targets are not those of the network's loss".to_owned()));
            }
        }
        let start = 4 * (at * self.words) as u64;
        context.queue.write_buffer(&self.targets, start, bytemuck::cast_slice(&words));
        Ok(())
    }

    fn write_features(
        &self,
        context: &Context,
        to: &wgpu::Buffer,
        features: FeaturesRef<'_>,
        start: u64,
    ) -> Result<()> {
        match (features, self.stored) {
            (FeaturesRef::Bytes(bytes), FeatureFormat::Bytes) => {
                context.queue.write_buffer(to, start, &pad_rows(bytes, self.inputs));
            }
            (FeaturesRef::Floats(floats), FeatureFormat::Floats) => {
                let padded = pad_rows(&floats, self.inputs);
                context.queue.write_buffer(to, start, bytemuck::cast_slice(&padded));
            }
            _ => return Err(Error::Gpu("rows changed their form between two uploads".to_owned())),
        }
        Ok(())
    }
}
