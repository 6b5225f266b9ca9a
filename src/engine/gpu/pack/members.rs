//! What there is of single members of a pack.

use super::{GpuPack, Member};
use crate::data::Rows;
use crate::engine::gpu::GpuEngine;
use crate::engine::{Engine, EngineOptions, EngineState, Evaluation};
use crate::error::Result;
use crate::gpu::read_buffer_at;
use crate::model::{ParameterLayout, Parameters};
use crate::schedule::ScheduleKind;

/// As in [`Engine`], call these when nothing is on its way.
impl GpuPack {
    /// The parameters of a member as they are.
    ///
    /// # Errors
    /// Those of the device.
    pub fn parameters(&mut self, member: usize) -> Result<Parameters> {
        self.read_region(member, 0)
    }

    /// What the optimizer of a member remembers.
    ///
    /// # Errors
    /// Those of the device.
    pub fn state(&mut self, member: usize) -> Result<EngineState> {
        let optimizer = self.state_places(member).map(|place| self.read_region(member, place));
        Ok(EngineState { step: self.members[member].steps, optimizer: optimizer.collect::<Result<_>>()? })
    }

    /// Gives a member these parameters and this state. One that has stopped stays stopped.
    ///
    /// # Errors
    /// Those of the device.
    pub fn restore(&mut self, member: usize, parameters: &Parameters, state: &EngineState) -> Result<()> {
        self.write_region(member, 0, parameters);
        let zeros = Parameters::zeros(&self.members[member].network);
        for (number, place) in self.state_places(member).enumerate() {
            self.write_region(member, place, state.optimizer.get(number).unwrap_or(&zeros));
        }
        self.members[member].steps = state.step;
        self.compute.context.check()
    }

    /// Loss and predictions of `rows` by a member that predicts classes.
    ///
    /// # Errors
    /// Those of the device.
    pub fn evaluate(&mut self, member: usize, rows: &Rows<'_>) -> Result<Evaluation> {
        self.evaluator(member)?.evaluate(rows)
    }

    /// Outputs of a member for `rows`, [rows, outputs]: those from which [`GpuPack::evaluate`] predicts.
    ///
    /// # Errors
    /// Those of the device.
    pub fn outputs(&mut self, member: usize, rows: &Rows<'_>) -> Result<Vec<f32>> {
        self.evaluator(member)?.outputs(rows)
    }

    /// An engine with the parameters of a member, copied on the device.
    fn evaluator(&mut self, member: usize) -> Result<&mut GpuEngine> {
        let Member { network, options, .. } = &self.members[member];
        // Members that differ in dropout alone predict by the same engine.
        let network = &network.without_dropout();
        let engine = match self.evaluator.take().filter(|engine| engine.network == *network) {
            Some(engine) => engine,
            None => {
                let options = EngineOptions { schedule: Some(ScheduleKind::Fused), ..options.clone() };
                let (compute, tuning) = (self.compute.clone(), self.compute.tuning);
                GpuEngine::with_tuning(compute, tuning, &Parameters::zeros(network), network, &options)?
            }
        };
        let (buffer, base, layout) = self.region(member);
        let context = &self.compute.context;
        let mut encoder = context.device.create_command_encoder(&Default::default());
        let bytes = Some(layout.weight_bytes());
        encoder.copy_buffer_to_buffer(buffer, 16 * base as u64, &engine.parameters, 0, bytes);
        context.queue.submit([encoder.finish()]);
        Ok(self.evaluator.insert(engine))
    }

    /// Where all of a member stands: buffer, first vec4, and how from there on.
    fn region(&self, member: usize) -> (&wgpu::Buffer, usize, &ParameterLayout) {
        let (group, number) = self.members[member].place;
        self.groups[group].region(number)
    }

    /// Numbers in the form of a member's parameters, from vec4 `start` of what is its own.
    fn read_region(&self, member: usize, start: usize) -> Result<Parameters> {
        let (buffer, base, layout) = self.region(member);
        let place = 16 * (base + start) as u64;
        let bytes = read_buffer_at(&self.compute.context, buffer, place, layout.weight_bytes())?;
        Ok(layout.unpack(&bytemuck::pod_collect_to_vec::<u8, f32>(&bytes)))
    }

    fn write_region(&self, member: usize, start: usize, values: &Parameters) {
        let (buffer, base, layout) = self.region(member);
        let packed = layout.pack(values);
        let place = 16 * (base + start) as u64;
        self.compute.context.queue.write_buffer(buffer, place, bytemuck::cast_slice(&packed));
    }

    /// Where each number of optimizer state of a member begins.
    fn state_places(&self, member: usize) -> impl Iterator<Item = usize> + use<> {
        let (_, _, layout) = self.region(member);
        layout.state_places()
    }
}
