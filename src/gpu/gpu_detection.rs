//! Detection of GPUs before drivers are loaded, since loading a software driver takes 50 MiB of memory and
//! 0.1 s.

use std::time::Duration;

use crate::error::{Error, Result};

/// Longest time for drivers to list their adapters. Drivers on slow machines take some seconds; a driver
/// whose GPU hangs never returns.
pub const LISTING_LIMIT: Duration = Duration::from_secs(60);

/// Returns whether there may be a GPU. On Linux: whether there is a device node of one, NVIDIA's kernel
/// module (which creates its nodes on first use), or a variable that names a driver. On other systems always
/// true.
pub fn may_have_gpu() -> bool {
    #[cfg(target_os = "linux")]
    return linux::has_node("/dev".as_ref())
        || std::path::Path::new("/proc/driver/nvidia").exists()
        || linux::VARIABLES.iter().any(|name| std::env::var_os(name).is_some());
    #[cfg(not(target_os = "linux"))]
    true
}

/// Returns the result of `list` on a separate thread, or [`Error::Device`] after `limit`. Without threads
/// there is no limit.
///
/// # Errors
/// [`Error::Device`] if `list` takes longer.
pub fn within<T: Send + 'static>(
    limit: Duration,
    list: impl Fn() -> T + Clone + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let listed = list.clone();
    let work = move || {
        // The receiver is gone after the limit.
        let _ = sender.send(listed());
    };
    if !crate::threads::EXIST || crate::threads::spawn("adapters", "lists the adapters", work).is_err() {
        return Ok(list());
    }
    receiver.recv_timeout(limit).map_err(|_| {
        let seconds = limit.as_secs();
        Error::Device(format!(
            "the graphics drivers did not list their adapters within {seconds} s; use the device cpu"
        ))
    })
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::Path;

    /// First letters of the names of device nodes: DRM (AMD, Intel, Nouveau, Panfrost, ...), NVIDIA, WSL, AMD's compute driver, Adreno,
    /// Mali, PowerVR.
    const NODES: [&str; 7] = ["dri", "nvidia", "dxg", "kfd", "kgsl", "mali", "pvr"];

    /// Variables that name Vulkan drivers, which may reach a GPU without a node.
    pub const VARIABLES: [&str; 3] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"];

    /// Returns whether a folder has a node of a GPU; also true if it cannot be read.
    pub fn has_node(folder: &Path) -> bool {
        let Ok(entries) = folder.read_dir() else { return true };
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            let is_node = |node: &&str| name.to_string_lossy().starts_with(*node);
            let is_empty = || entry.path().read_dir().is_ok_and(|mut inside| inside.next().is_none());
            NODES.iter().any(is_node) && !is_empty()
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn nodes_of_gpus_are_found() {
            let folder = tempfile::tempdir().unwrap();
            let place = folder.path();
            for name in ["null", "tty0", "kvm", "shm"] {
                std::fs::write(place.join(name), "").unwrap();
            }
            std::fs::create_dir(place.join("dri")).unwrap();
            assert!(!has_node(place), "an empty folder of DRM nodes");
            for name in ["dri/renderD128", "nvidiactl", "dxg"] {
                std::fs::write(place.join(name), "").unwrap();
                assert!(has_node(place), "{name}");
                std::fs::remove_file(place.join(name)).unwrap();
            }
            assert!(has_node(&place.join("none")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_hangs_is_an_error() {
        assert_eq!(within(LISTING_LIMIT, || 7).unwrap(), 7);
        let slow = || std::thread::sleep(Duration::from_secs(2));
        let error = within(Duration::from_millis(10), slow).unwrap_err();
        assert!(error.to_string().contains("did not list their adapters"), "{error}");
    }
}
