//! Which device trains.

use std::convert::Infallible;
use std::str::FromStr;

use crate::engine::{CpuEngine, Engine, EngineOptions, GpuEngine};
use crate::error::{Error, Result};
use crate::gpu::{Adapter, Backend, DeviceKind, Opening, adapters, may_have_gpu};
use crate::kernels::{MOST_BUFFERS, blocks};
use crate::model::{Network, ParameterLayout, Parameters};

/// What the user asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DeviceRequest {
    /// A real GPU if there is one that can run the kernels, else the CPU engine.
    #[default]
    Auto,
    /// The CPU engine.
    Cpu,
    /// Any adapter, real before software.
    Gpu,
    /// An adapter of this back end, real before software.
    Backend(Backend),
    /// The adapter with this index in the list of all.
    Index(usize),
    /// The first adapter with this name, or with this in its name, whatever the case.
    Name(String),
}

impl std::fmt::Display for DeviceRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceRequest::Auto => f.write_str("auto"),
            DeviceRequest::Cpu => f.write_str("cpu"),
            DeviceRequest::Gpu => f.write_str("gpu"),
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
        Ok(match lower.as_str() {
            "auto" => DeviceRequest::Auto,
            "cpu" => DeviceRequest::Cpu,
            "gpu" => DeviceRequest::Gpu,
            _ => match (lower.parse(), lower.parse()) {
                (Ok(backend), _) => DeviceRequest::Backend(backend),
                (_, Ok(index)) => DeviceRequest::Index(index),
                _ => DeviceRequest::Name(text.to_owned()),
            },
        })
    }
}

/// The device that was chosen.
#[derive(Debug, Clone)]
pub enum Device {
    /// The CPU engine.
    Cpu,
    /// An adapter.
    Gpu(Box<Adapter>),
}

/// Finds the device that was asked for.
///
/// # Errors
/// [`Error::Device`], in one line, when it is not there.
pub fn find_device(request: &DeviceRequest) -> Result<Device> {
    let only = match request {
        DeviceRequest::Cpu => return Ok(Device::Cpu),
        DeviceRequest::Auto if !may_have_gpu() => return Ok(Device::Cpu),
        DeviceRequest::Backend(backend) => Some(*backend),
        _ => None,
    };
    let mut found = adapters(only);
    let position = match request {
        DeviceRequest::Auto | DeviceRequest::Cpu => {
            let real = found.iter().filter(|adapter| {
                adapter.kind != DeviceKind::Software && adapter.storage_buffers() >= MOST_BUFFERS
            });
            match real.min_by_key(|adapter| adapter.kind) {
                Some(adapter) => Some(adapter.index),
                None => return Ok(Device::Cpu),
            }
        }
        DeviceRequest::Gpu | DeviceRequest::Backend(_) => {
            found.iter().min_by_key(|adapter| adapter.kind).map(|adapter| adapter.index)
        }
        DeviceRequest::Index(index) => Some(*index).filter(|index| *index < found.len()),
        DeviceRequest::Name(name) => named(&found, name),
    };
    match position {
        Some(position) => Ok(Device::Gpu(Box::new(found.swap_remove(position)))),
        None => Err(missing(request, &found)),
    }
}

fn named(found: &[Adapter], name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    let exact = found.iter().position(|adapter| adapter.name.to_lowercase() == name);
    exact.or_else(|| found.iter().position(|adapter| adapter.name.to_lowercase().contains(&name)))
}

fn missing(request: &DeviceRequest, found: &[Adapter]) -> Error {
    let asked = match request {
        DeviceRequest::Backend(backend) => format!("no {backend} adapter is on this machine"),
        DeviceRequest::Index(index) => format!("no adapter has index {index}"),
        DeviceRequest::Name(name) => format!("no adapter has {name:?} in its name"),
        DeviceRequest::Auto | DeviceRequest::Cpu | DeviceRequest::Gpu => {
            "no adapter is on this machine".to_owned()
        }
    };
    let names: Vec<String> = found
        .iter()
        .map(|adapter| format!("{} {} ({})", adapter.index, adapter.name, adapter.backend))
        .collect();
    let there = if names.is_empty() { String::new() } else { format!("; there are: {}", names.join(", ")) };
    Error::Device(format!("{asked}{there}"))
}

impl Device {
    /// The same device, opened like this. The CPU engine has nothing to open.
    #[must_use]
    pub fn opened(self, opening: Opening) -> Self {
        match self {
            Device::Cpu => Device::Cpu,
            Device::Gpu(adapter) => Device::Gpu(Box::new(adapter.opened(opening))),
        }
    }

    /// Checks whether the device has buffers for the network's parameters, with so many numbers of optimizer state each,
    /// and for a batch of so many rows, before anything is made for them.
    ///
    /// # Errors
    /// [`Error::Device`] when it has none of that size.
    pub fn check(&self, network: &Network, states: usize, batch: usize) -> Result<()> {
        let Device::Gpu(adapter) = self else { return Ok(()) };
        adapter.check_storage("parameters", ParameterLayout::new(network).with_states(states).bytes())?;
        // What an input layer makes stands there twice: before its factors, and behind them.
        let made = network.input_layer().map(|_| 2 * network.inputs());
        let widest = network.sizes()[1..].iter().copied().chain(made).max().unwrap_or(1);
        adapter.check_storage("a layer's outputs", 16 * (batch as u64).saturating_mul(blocks(widest) as u64))
    }

    /// An engine on this device, with these parameters.
    ///
    /// # Errors
    /// When the device cannot be opened or cannot hold the network.
    pub fn engine(
        &self,
        parameters: &Parameters,
        network: &Network,
        options: &EngineOptions,
    ) -> Result<Box<dyn Engine>> {
        Ok(match self {
            Device::Cpu => Box::new(CpuEngine::new(parameters, network, options)),
            Device::Gpu(adapter) => Box::new(GpuEngine::new(adapter, parameters, network, options)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            // Where the host has less memory than such a network takes, that comes first.
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

    #[test]
    fn what_is_not_there_is_one_line_and_exit_code_2() {
        for request in [DeviceRequest::Index(999), DeviceRequest::Name("no such card".to_owned())] {
            let error = find_device(&request).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(!error.to_string().contains('\n'), "{error}");
            assert!(!error.to_string().contains("--"), "the library knows no options: {error}");
        }
    }
}
