//! Compiled kernels are cached for the next run, if the driver exposes them.

use std::path::PathBuf;

use crate::program::Workplace;

/// Returns the contents of a cache file with these data: a name, the data's checksum (FNV-1a), the data.
fn packed(data: &[u8]) -> Vec<u8> {
    let sum = data.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    [b"tinytrn1", &sum.to_le_bytes()[..], data].concat()
}

/// Returns the files in the cache folder after a run, which must succeed whatever the folder contained.
fn trained(place: &Workplace, device: &str) -> Vec<PathBuf> {
    let arguments =
        ["train", "--data", "data", "--epochs", "1", "--out", "m.safetensors", "--device", device];
    let output = place.command(&arguments).env("TINYTRAIN_CACHE", "new/cache").output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap().matches("error").count(), 0);
    assert!(output.status.success());
    let cache = place.path("new/cache");
    place.entries().into_iter().filter(|path| path.parent() == Some(cache.as_path())).collect()
}

#[test]
fn a_broken_or_foreign_cache_is_replaced_without_error() {
    let place = Workplace::with_data();
    let Some(adapter) = place.adapters("vulkan").into_iter().next() else { return };
    let index = adapter["index"].to_string();
    let keeps = adapter["features"].as_array().unwrap().iter().any(|feature| feature == "pipeline-cache");
    let files = trained(&place, &index);
    assert_eq!(files.len(), usize::from(keeps));
    for file in &files {
        let whole = std::fs::read(file).unwrap();
        let half = &whole[..whole.len() / 2];
        for broken in [&b""[..], b"something else", half, &[half, half].concat()] {
            std::fs::write(file, broken).unwrap();
            assert_eq!(trained(&place, &index), files);
            assert_ne!(std::fs::read(file).unwrap(), broken);
        }
    }
    // Complete files of another adapter, back end or version: each field of wgpu's header in turn.
    for file in &files {
        let whole = std::fs::read(file).unwrap();
        let data = &whole[16..];
        assert_eq!(packed(data), whole);
        for byte in [0, 8, 12, 16, 17, 31, 32, 47, 48, 56] {
            let mut foreign = data.to_vec();
            foreign[byte] ^= 1;
            std::fs::write(file, packed(&foreign)).unwrap();
            assert_eq!(trained(&place, &index), files);
        }
        std::fs::write(file, packed(b"something else")).unwrap();
        assert_eq!(trained(&place, &index), files);
    }
    // If the folder cannot be created, nothing is cached.
    std::fs::remove_dir_all(place.path("new")).unwrap();
    place.write("new", "a file");
    assert!(trained(&place, &index).is_empty());
}
