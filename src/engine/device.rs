//! Choice of the training device.

use std::convert::Infallible;
use std::str::FromStr;

use crate::engine::{CpuEngine, Engine, EngineOptions};
use crate::error::Result;
#[cfg(feature = "gpu")]
use crate::gpu::{Adapter, Backend, DeviceOptions, backend_named};
use crate::model::{Network, Parameters};
#[cfg(feature = "gpu")]
use crate::model::{ParameterLayout, blocks};
use crate::threads::block;

/// Device requested by the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DeviceRequest {
    /// A real GPU if one can run the kernels, else the CPU engine.
    #[default]
    Auto,
    /// The CPU engine.
    Cpu,
    /// Any adapter; real ones are preferred to software.
    Gpu,
    /// An adapter of this back end; real ones are preferred to software.
    #[cfg(feature = "gpu")]
    Backend(Backend),
    /// The adapter with this index in the list of all adapters.
    Index(usize),
    /// The first adapter with this name, or whose name contains it, ignoring case.
    Name(String),
}

impl std::fmt::Display for DeviceRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceRequest::Auto => f.write_str("auto"),
            DeviceRequest::Cpu => f.write_str("cpu"),
            DeviceRequest::Gpu => f.write_str("gpu"),
            #[cfg(feature = "gpu")]
            DeviceRequest::Backend(backend) => backend.fmt(f),
            DeviceRequest::Index(index) => index.fmt(f),
            DeviceRequest::Name(name) => f.write_str(name),
        }
    }
}

impl FromStr for DeviceRequest {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let lower = text.to_lowercase();
        #[cfg(feature = "gpu")]
        if let Some(backend) = backend_named(&lower) {
            return Ok(DeviceRequest::Backend(backend));
        }
        Ok(match lower.as_str() {
            "auto" => DeviceRequest::Auto,
            "cpu" => DeviceRequest::Cpu,
            "gpu" => DeviceRequest::Gpu,
            _ => lower.parse().map_or_else(|_| DeviceRequest::Name(text.to_owned()), DeviceRequest::Index),
        })
    }
}

/// The chosen device.
#[derive(Debug, Clone)]
pub enum Device {
    /// The CPU engine.
    Cpu,
    /// An adapter.
    #[cfg(feature = "gpu")]
    Gpu(Box<Adapter>),
}

impl Device {
    /// Returns whether this is the CPU engine.
    pub fn is_cpu(&self) -> bool {
        matches!(self, Device::Cpu)
    }

    /// Returns the same device with these options for opening it. They have no effect on the CPU engine.
    #[cfg(feature = "gpu")]
    #[must_use]
    pub fn with_options(self, options: DeviceOptions) -> Self {
        match self {
            Device::Cpu => Device::Cpu,
            Device::Gpu(adapter) => Device::Gpu(Box::new(adapter.with_options(options))),
        }
    }

    /// Checks before any allocation whether the device has buffers for the network's parameters, with
    /// `states` numbers of optimizer state each, and for a batch of `batch` rows.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) when it has no buffers of that size.
    #[cfg_attr(not(feature = "gpu"), expect(unused_variables, reason = "adapters alone are asked"))]
    pub fn check(&self, network: &Network, states: usize, batch: usize) -> Result<()> {
        match self {
            // Host memory is checked when the network is created.
            Device::Cpu => Ok(()),
            #[cfg(feature = "gpu")]
            Device::Gpu(adapter) => {
                let layout = ParameterLayout::new(network).with_states(states);
                adapter.check_storage("parameters", layout.bytes())?;
                // Outputs of an input layer are stored twice: before and after scaling.
                let made = network.input_layer().map(|_| 2 * network.inputs());
                let widest = network.sizes()[1..].iter().copied().chain(made).max().unwrap_or(1);
                let bytes = 16 * (batch as u64).saturating_mul(blocks(widest) as u64);
                adapter.check_storage("a layer's outputs", bytes)
            }
        }
    }

    /// Creates an engine on this device, with these parameters.
    ///
    /// # Errors
    /// When the device cannot be opened or cannot hold the network.
    pub fn engine(
        &self,
        parameters: &Parameters,
        network: &Network,
        options: &EngineOptions,
    ) -> Result<Box<dyn Engine>> {
        block(self.engine_async(parameters, network, options))
    }

    /// Creates an engine as [`Device::engine`] does, for threads that must not block.
    ///
    /// # Errors
    /// See [`Device::engine`].
    pub async fn engine_async(
        &self,
        parameters: &Parameters,
        network: &Network,
        options: &EngineOptions,
    ) -> Result<Box<dyn Engine>> {
        Ok(match self {
            Device::Cpu => Box::new(CpuEngine::new(parameters, network, options)),
            #[cfg(feature = "gpu")]
            Device::Gpu(adapter) => {
                Box::new(super::GpuEngine::new_async(adapter, parameters, network, options).await?)
            }
        })
    }
}

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use super::*;
    use crate::gpu::adapters;

    #[test]
    fn requests_are_read_as_written() {
        for (text, request) in [
            ("auto", DeviceRequest::Auto),
            ("CPU", DeviceRequest::Cpu),
            ("gpu", DeviceRequest::Gpu),
            ("vulkan", DeviceRequest::Backend(Backend::Vulkan)),
            ("gl", DeviceRequest::Backend(Backend::Gl)),
            ("metal", DeviceRequest::Backend(Backend::Metal)),
            ("dx12", DeviceRequest::Backend(Backend::Dx12)),
            ("noop", DeviceRequest::Name("noop".to_owned())),
            ("2", DeviceRequest::Index(2)),
            ("RTX 4070", DeviceRequest::Name("RTX 4070".to_owned())),
        ] {
            assert_eq!(text.parse(), Ok(request));
        }
    }

    #[test]
    fn a_network_is_refused_by_an_adapter_without_buffers_for_it_and_not_by_the_cpu_engine() {
        let small = Network::classifier(&[784, 300, 10]).unwrap();
        for adapter in adapters(None) {
            let largest = adapter.largest_storage() as usize;
            let device = Device::Gpu(Box::new(adapter));
            device.check(&small, 0, 64).unwrap();
            let mut refused = vec![(small.clone(), largest / 1200 + 1, "a layer's outputs needs")];
            // If the host has less memory than such a network needs, that error comes first.
            let wide = Network::classifier(&[64, largest / 256 + 1, 4]);
            refused.extend(wide.map(|wide| (wide, 1, "parameters needs")));
            for (network, batch, word) in refused {
                let error = device.check(&network, 0, batch).unwrap_err();
                assert_eq!(error.exit_code(), 2);
                assert!(error.to_string().contains(word), "{error}");
                Device::Cpu.check(&network, 0, batch).unwrap();
            }
        }
    }
}
