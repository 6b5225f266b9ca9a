//! Compiled pipelines in a file, for drivers that let wgpu store them (Vulkan).

use std::path::Path;

use super::unchecked_shaders;
use crate::input;
use crate::output::Destination;
use crate::threads::block;

/// Start of a file: its type and version.
const MAGIC: &[u8; 8] = b"tinytrn1";

/// Compiled pipelines of a device, and the file that they are read from and written to.
pub(super) struct Cache {
    pub handle: wgpu::PipelineCache,
    file: Destination,
    /// Checksum of the file's contents when read.
    known: Option<u64>,
}

impl Cache {
    /// Opens the cache of this adapter in `folder`, with existing contents. Returns `None` if the driver does
    /// not store pipelines or the folder is not writable: a cache is optional.
    pub fn open(device: &wgpu::Device, info: &wgpu::AdapterInfo, folder: &Path) -> Option<Self> {
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let name = wgpu::util::pipeline_cache_key(info)?;
        let file = Destination::check(&folder.join(name)).ok()?;
        let contents = input::read(file.path(), u64::MAX).unwrap_or_default();
        let kept = unpack(&contents).and_then(|data| Some((begin(device, Some(data))?, Some(sum(data)))));
        let (handle, known) = kept.or_else(|| Some((begin(device, None)?, None)))?;
        Some(Self { handle, file, known })
    }

    /// Writes the file, if there is new data.
    pub fn save(&self) {
        let Some(data) = self.handle.get_data() else { return };
        if self.known != Some(sum(&data)) {
            // Errors are ignored, since the driver just compiles again next time.
            let _ = self.file.write(&pack(&data));
        }
    }
}

/// Creates a cache with initial `data`; returns `None` if wgpu rejects them, for example data of another
/// adapter.
fn begin(device: &wgpu::Device, data: Option<&[u8]>) -> Option<wgpu::PipelineCache> {
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let handle = unchecked_shaders::pipeline_cache(device, data);
    block(scope.pop()).is_none().then_some(handle)
}

/// FNV-1a, 64 bits: detects corruption by a disk or a crash, not forgery.
fn sum(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn pack(data: &[u8]) -> Vec<u8> {
    [MAGIC, &sum(data).to_le_bytes()[..], data].concat()
}

/// Returns the data given to [`pack`], if they are complete.
fn unpack(contents: &[u8]) -> Option<&[u8]> {
    let (head, data) = contents.strip_prefix(MAGIC)?.split_first_chunk()?;
    (u64::from_le_bytes(*head) == sum(data)).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_files_are_read() {
        let packed = pack(b"pipelines");
        assert_eq!(unpack(&packed), Some(&b"pipelines"[..]));
        assert_eq!(unpack(&pack(b"")), Some(&b""[..]));
        for length in 0..packed.len() {
            assert_eq!(unpack(&packed[..length]), None);
            let mut broken = packed.clone();
            broken[length] ^= 4;
            assert_eq!(unpack(&broken), None);
        }
    }
}
