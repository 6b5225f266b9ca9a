//! Search for the requested device.

use std::time::Duration;

use super::{Device, DeviceRequest};
use crate::error::{Error, Result};
#[cfg(feature = "gpu")]
use crate::gpu::{
    Adapter, Backend, DeviceKind, LISTING_LIMIT, adapters, adapters_without_gl, is_forked, may_have_gpu,
    within,
};
#[cfg(feature = "gpu")]
use crate::kernels::MOST_BUFFERS;
use crate::model::Network;
use crate::threads::available;

/// Least time until a GPU has trained a batch: its driver, the device, its kernels. An H100 takes 0.17 to 0.4
/// s.
pub(crate) const GPU_START: Duration = Duration::from_millis(250);

/// Least time of a GPU for a step, or another call.
const GPU_CALL: Duration = Duration::from_micros(20);

/// Work on one device: multiply-adds, and the number of steps or other calls that compute them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub multiply_adds: f64,
    pub calls: f64,
}

impl Load {
    /// Estimates the time of the CPU engine on `threads` threads; small networks can use four of them.
    pub fn cpu_time(self, threads: usize) -> Duration {
        const MULTIPLY_ADDS_A_SECOND: f64 = 2e10;
        const SECONDS_A_CALL: f64 = 1e-5;
        let rate = MULTIPLY_ADDS_A_SECOND * threads.clamp(1, 4) as f64;
        seconds(self.multiply_adds / rate + self.calls * SECONDS_A_CALL)
    }

    /// Returns whether the CPU engine, on `threads` threads or one per core, is faster than a GPU.
    pub fn is_short(self, threads: Option<usize>) -> bool {
        let gpu = GPU_START + seconds(GPU_CALL.as_secs_f64() * self.calls);
        self.cpu_time(threads.unwrap_or_else(available)) < gpu
    }
}

/// Limits a time to about a year, since longer times need not be distinguished.
fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, 3e7))
}

/// Returns whether the CPU engine computes the outputs of `rows` rows faster than a GPU.
pub fn predicts_soon(network: &Network, rows: usize) -> bool {
    Load { multiply_adds: network.parameter_count() as f64 * rows as f64, calls: 1.0 }.is_short(None)
}

/// Returns whether `auto` does not search for a GPU although one may exist, because the work `is_short`:
/// faster on the CPU engine.
#[cfg_attr(not(feature = "gpu"), expect(unused_variables, reason = "there is no GPU to look for"))]
pub fn leaves_gpu(request: &DeviceRequest, is_short: bool) -> bool {
    #[cfg(feature = "gpu")]
    return is_short && *request == DeviceRequest::Auto && may_have_gpu();
    #[cfg(not(feature = "gpu"))]
    false
}

/// Finds a device as [`find_device`] does; if the work `is_short`, faster on the CPU engine than on a GPU,
/// `auto` is that engine.
///
/// # Errors
/// See [`find_device`].
pub fn find_device_for(request: &DeviceRequest, is_short: bool) -> Result<Device> {
    // Detecting a GPU would take longer than a step of a small fit.
    find_device(if is_short && *request == DeviceRequest::Auto { &DeviceRequest::Cpu } else { request })
}

/// Finds the requested device.
///
/// # Errors
/// [`Error::Device`], in one line, when it does not exist.
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
/// [`Error::Device`], in one line, when it does not exist, or this process was forked from one that has used
/// a GPU.
#[cfg(feature = "gpu")]
pub fn find_device(request: &DeviceRequest) -> Result<Device> {
    let mut found = match request {
        DeviceRequest::Cpu => return Ok(Device::Cpu),
        DeviceRequest::Auto if !may_have_gpu() => return Ok(Device::Cpu),
        _ if is_forked() => {
            let error = "no GPU works in a process that was forked from one that has used a GPU (start processes by spawn or forkserver)";
            return Err(Error::Device(error.to_owned()));
        }
        DeviceRequest::Backend(backend) => {
            let backend = *backend;
            within(LISTING_LIMIT, move || adapters(Some(backend)))?
        }
        DeviceRequest::Auto | DeviceRequest::Gpu => within(LISTING_LIMIT, best_adapters)?,
        DeviceRequest::Index(_) | DeviceRequest::Name(_) => within(LISTING_LIMIT, || adapters(None))?,
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

/// Returns whether an adapter is a GPU that can run the kernels.
#[cfg(feature = "gpu")]
fn is_real(adapter: &Adapter) -> bool {
    adapter.kind != DeviceKind::Software && adapter.storage_buffers() >= MOST_BUFFERS
}

/// Returns adapters that include the best one: OpenGL's driver, which loads slowly, is queried only if there
/// is no other real GPU.
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
    fn auto_leaves_a_gpu_for_work_that_is_short() {
        let of = |text: &str| text.parse().unwrap();
        let short = |parameters: f64, rows: f64, epochs: f64, batch: f64, threads| {
            let multiply_adds = 3.0 * parameters * rows * epochs;
            Load { multiply_adds, calls: (rows / batch).ceil() * epochs }.is_short(Some(threads))
        };
        // 200 epochs of Iris, three epochs of MNIST in small batches, one epoch through 300 and 100 units.
        assert!(short(803.0, 150.0, 200.0, 150.0, 1));
        assert!(short(25_450.0, 60_000.0, 3.0, 16.0, 4) && !short(25_450.0, 60_000.0, 3.0, 16.0, 1));
        assert!(!short(266_610.0, 60_000.0, 1.0, 64.0, 16) && !short(f64::INFINITY, 1.0, 1.0, 1.0, 4));
        let network = Network::classifier(&[784, 300, 100, 10]).unwrap();
        assert!(predicts_soon(&network, 10_000) && !predicts_soon(&network, 1_000_000));
        assert!(["cpu", "gpu", "vulkan", "0", "a name"].iter().all(|device| !leaves_gpu(&of(device), true)));
        assert!(!leaves_gpu(&of("auto"), false));
        #[cfg(feature = "gpu")]
        assert_eq!(leaves_gpu(&of("auto"), true), may_have_gpu());
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
