//! The environment: what drivers see of it, where the user's caches are, and how long vectors may be.

use std::env;
use std::path::{Path, PathBuf};

use tinytrain::{Error, vectors};

/// Keeps Mesa's Vulkan layer that chooses among GPUs from asking Wayland, which complains on standard error where
/// there is no session. Call it before any thread starts.
pub fn quieten_drivers() {
    let has_session = env::var_os("XDG_RUNTIME_DIR").is_some_and(|folder| Path::new(&folder).is_absolute());
    if !has_session {
        #[expect(unsafe_code, reason = "the layer listens to nothing but its environment variable")]
        // SAFETY: called first of all in `main`: no other thread is there to read the environment.
        unsafe {
            env::set_var("NODEVICE_SELECT", "1");
        }
    }
}

/// Where compiled kernels and measured tile shapes are kept: the folder that TINYTRAIN_CACHE names, none if that is empty, by default one in the
/// user's folder of caches, if there is one.
pub fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from);
    if let Some(own) = folder("TINYTRAIN_CACHE") {
        return Some(own).filter(|own| !own.as_os_str().is_empty());
    }
    let home = |below: &str| folder("HOME").map(|home| home.join(below));
    let caches = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        home("Library/Caches")
    } else {
        folder("XDG_CACHE_HOME").filter(|caches| caches.is_absolute()).or_else(|| home(".cache"))
    };
    caches.filter(|caches| caches.is_absolute()).map(|caches| caches.join("tinytrain"))
}

/// The file of measured tile shapes, if there is a folder of caches.
pub fn tuning_file() -> Option<PathBuf> {
    cache_folder().map(|folder| folder.join("tuning.json"))
}

/// Takes no vectors that are longer than TINYTRAIN_VECTORS says, in bits.
///
/// # Errors
/// [`Error::Config`] for a length that vectors do not have.
pub fn limit_vectors() -> tinytrain::Result<()> {
    const NAME: &str = "TINYTRAIN_VECTORS";
    let Some(value) = env::var_os(NAME) else { return Ok(()) };
    let bits = value.to_str().and_then(|value| value.parse().ok()).unwrap_or(0);
    vectors::limit(bits).map_err(|_| {
        let value = value.to_string_lossy().escape_debug().to_string();
        Error::Config(format!("{NAME} is `{value}`, not 128, 256 or 512: the most bits of a vector"))
    })
}
