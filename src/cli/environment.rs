//! The environment that drivers see.

use std::env;
use std::path::Path;

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
