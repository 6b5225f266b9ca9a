//! Operations on single members of a pack.

use super::GpuPack;
use crate::data::Rows;
use crate::engine::gpu::GpuEngine;
use crate::engine::gpu::evaluation::ParametersAt;
use crate::engine::gpu::rows::stored;
use crate::engine::order::unpolled;
use crate::engine::{EngineOptions, EngineState, Evaluation};
use crate::error::Result;
use crate::gpu::read_buffer_at;
use crate::model::{Network, ParameterLayout, Parameters};
use crate::schedule::ScheduleKind;
use crate::threads::block;

/// As in [`Engine`](crate::engine::Engine), call these when nothing is in flight.
impl GpuPack {
    /// Returns the current parameters of a member.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn parameters(&mut self, member: usize) -> Result<Parameters> {
        self.read_region(member, 0)
    }

    /// Returns the parameters, the optimizer's state and the number of steps of a member, all of one moment.
    ///
    /// # Errors
    /// Errors of the device; [`Error::Config`](crate::Error::Config) while metrics of a step have not been
    /// polled.
    pub fn snapshot(&mut self, member: usize) -> Result<(Parameters, EngineState)> {
        let parameters = self.parameters(member)?;
        if !self.submissions.is_idle() {
            return Err(unpolled());
        }
        let optimizer = self.state_places(member).map(|place| self.read_region(member, place));
        let state =
            EngineState { step: self.members[member].steps, optimizer: optimizer.collect::<Result<_>>()? };
        Ok((parameters, state))
    }

    /// Restores parameters and state of a member. A stopped member stays stopped.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn restore(&mut self, member: usize, parameters: &Parameters, state: &EngineState) -> Result<()> {
        self.write_region(member, 0, parameters);
        let zeros = Parameters::zeros(&self.members[member].network);
        for (number, place) in self.state_places(member).enumerate() {
            self.write_region(member, place, state.optimizer.get(number).unwrap_or(&zeros));
        }
        self.members[member].steps = state.step;
        self.compute.context.check()
    }

    /// Returns loss and predictions of `rows` for some members that predict classes. The rows are copied to
    /// the device once per shape.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn evaluate(&mut self, members: &[usize], rows: &Rows<'_>) -> Result<Vec<Evaluation>> {
        self.by_evaluators(members, |engine, parameters| block(engine.evaluate_rows(rows, parameters)))
    }

    /// Returns outputs of some members for `rows`, [rows, outputs] each, from which [`GpuPack::evaluate`]
    /// predicts.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn outputs(&mut self, members: &[usize], rows: &Rows<'_>) -> Result<Vec<Vec<f32>>> {
        self.by_evaluators(members, |engine, parameters| block(engine.outputs_of_rows(rows, parameters)))
    }

    /// Returns the results of `work` for each member; it gets an engine for all members of one shape, and
    /// their parameters' locations.
    fn by_evaluators<T>(
        &mut self,
        members: &[usize],
        work: impl Fn(&mut GpuEngine, &[ParametersAt<'_>]) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        // Members that differ only in dropout predict with the same engine.
        let network = |member: &usize| self.members[*member].network.without_dropout();
        let mut left: Vec<(usize, Network)> =
            members.iter().enumerate().map(|(place, member)| (place, network(member))).collect();
        let mut made: Vec<Option<T>> = members.iter().map(|_| None).collect();
        while let Some((place, network)) = left.first().cloned() {
            let places: Vec<usize> =
                left.extract_if(.., |(_, other)| *other == network).map(|(place, _)| place).collect();
            let mut engine = self.evaluator(&network, members[place])?;
            let parameters: Vec<ParametersAt<'_>> = places
                .iter()
                .map(|place| {
                    let (buffer, base, _) = self.region(members[*place]);
                    ParametersAt::Place(buffer, 16 * base as u64)
                })
                .collect();
            let values = work(&mut engine, &parameters)?;
            self.evaluator = Some(engine);
            places.into_iter().zip(values).for_each(|(place, value)| made[place] = Some(value));
        }
        Ok(made.into_iter().flatten().collect())
    }

    /// Creates the evaluator of the largest member, for rows in this form.
    pub(super) fn prepare_evaluation(&mut self, rows: &Rows<'_>) -> Result<()> {
        let network = |member: &usize| self.members[*member].network.without_dropout();
        let largest = (0..self.members.len()).max_by_key(|member| network(member).parameter_count());
        let Some(member) = largest else { return Ok(()) };
        let mut engine = self.evaluator(&network(&member), member)?;
        engine.prepare_evaluation(stored(rows))?;
        self.evaluator = Some(engine);
        Ok(())
    }

    /// Returns an engine for a network of the same shape as a member's: the existing one, if it is for such a
    /// network.
    fn evaluator(&mut self, network: &Network, member: usize) -> Result<GpuEngine> {
        if let Some(engine) = self.evaluator.take().filter(|engine| engine.network == *network) {
            return Ok(engine);
        }
        let options = &self.members[member].options;
        let options = EngineOptions { schedule: Some(ScheduleKind::Fused), ..options.clone() };
        let (compute, tuning) = (self.compute.clone(), self.compute.tuning);
        GpuEngine::with_tuning(compute, tuning, &Parameters::zeros(network), network, &options)
    }

    /// Returns buffer, first vec4 and layout of a member.
    fn region(&self, member: usize) -> (&wgpu::Buffer, usize, &ParameterLayout) {
        let (group, number) = self.members[member].place;
        self.groups[group].region(number)
    }

    /// Reads numbers in the form of a member's parameters, from vec4 `start` of its region.
    fn read_region(&self, member: usize, start: usize) -> Result<Parameters> {
        let (buffer, base, layout) = self.region(member);
        let place = 16 * (base + start) as u64;
        let bytes = block(read_buffer_at(&self.compute.context, buffer, place, layout.weight_bytes()))?;
        Ok(layout.unpack(&bytemuck::pod_collect_to_vec::<u8, f32>(&bytes)))
    }

    fn write_region(&self, member: usize, start: usize, values: &Parameters) {
        let (buffer, base, layout) = self.region(member);
        let packed = layout.pack(values);
        let place = 16 * (base + start) as u64;
        self.compute.context.queue.write_buffer(buffer, place, bytemuck::cast_slice(&packed));
    }

    /// Returns the start of each number of optimizer state of a member.
    fn state_places(&self, member: usize) -> impl Iterator<Item = usize> + use<> {
        let (_, _, layout) = self.region(member);
        layout.state_places()
    }
}
