//! Finds the requested device.

use super::{Device, DeviceRequest};
use crate::error::{Error, Result};
#[cfg(feature = "gpu")]
use crate::gpu::{Adapter, Backend, DeviceKind, adapters, adapters_without_gl, is_forked, may_have_gpu};
#[cfg(feature = "gpu")]
use crate::kernels::MOST_BUFFERS;

/// Finds the requested device.
///
/// # Errors
/// [`Error::Device`], in one line, when it is not there.
#[cfg(not(feature = "gpu"))]
pub fn find_device(request: &DeviceRequest) -> Result<Device> {
    match request {
        DeviceRequest::Auto | DeviceRequest::Cpu => Ok(Device::Cpu),
        _ => {
            Err(Error::Device(format!("no device {request}: tinytrain was built without its feature `gpu`")))
        }
    }
}

/// Finds the requested device.
///
/// # Errors
/// [`Error::Device`], in one line, when it is not there, or this process was forked from one that has used a GPU.
#[cfg(feature = "gpu")]
pub fn find_device(request: &DeviceRequest) -> Result<Device> {
    let mut found = match request {
        DeviceRequest::Cpu => return Ok(Device::Cpu),
        DeviceRequest::Auto if !may_have_gpu() => return Ok(Device::Cpu),
        _ if is_forked() => {
            let error = "no GPU works in a process that was forked from one that has used a GPU (start processes by spawn or forkserver)";
            return Err(Error::Device(error.to_owned()));
        }
        DeviceRequest::Backend(backend) => adapters(Some(*backend)),
        DeviceRequest::Auto | DeviceRequest::Gpu => best_adapters(),
        DeviceRequest::Index(_) | DeviceRequest::Name(_) => adapters(None),
    };
    let position = match request {
        DeviceRequest::Auto | DeviceRequest::Cpu => {
            match found.iter().filter(|adapter| is_real(adapter)).min_by_key(|adapter| adapter.kind) {
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

/// A GPU that runs the kernels.
#[cfg(feature = "gpu")]
fn is_real(adapter: &Adapter) -> bool {
    adapter.kind != DeviceKind::Software && adapter.storage_buffers() >= MOST_BUFFERS
}

/// Adapters among which is the best: OpenGL's driver, which takes a while to load, is asked where there is no real GPU otherwise.
#[cfg(feature = "gpu")]
fn best_adapters() -> Vec<Adapter> {
    let mut found = adapters_without_gl();
    if !found.iter().any(is_real) {
        found.extend(adapters(Some(Backend::Gl)));
        (0..).zip(&mut found).for_each(|(index, adapter)| adapter.index = index);
    }
    found
}

#[cfg(feature = "gpu")]
fn named(found: &[Adapter], name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    let exact = found.iter().position(|adapter| adapter.name.to_lowercase() == name);
    exact.or_else(|| found.iter().position(|adapter| adapter.name.to_lowercase().contains(&name)))
}

#[cfg(feature = "gpu")]
fn missing(request: &DeviceRequest, found: &[Adapter]) -> Error {
    let asked = match request {
        DeviceRequest::Backend(backend) => format!("this machine has no {backend} adapter"),
        DeviceRequest::Index(index) => format!("no adapter has index {index}"),
        DeviceRequest::Name(name) => format!("no adapter has {name:?} in its name"),
        DeviceRequest::Auto | DeviceRequest::Cpu | DeviceRequest::Gpu => {
            "this machine has no adapter".to_owned()
        }
    };
    let names: Vec<String> = found
        .iter()
        .map(|adapter| format!("{} {} ({})", adapter.index, adapter.name, adapter.backend))
        .collect();
    let there = if names.is_empty() { String::new() } else { format!("; there are: {}", names.join(", ")) };
    Error::Device(format!("{asked}{there}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
