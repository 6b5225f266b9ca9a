//! Checks of available memory before large allocations.

use crate::{Error, Result};

/// Largest size for which available memory is not queried: the query takes longer than filling it.
const SMALL_BYTES: u128 = 16 << 20;

/// Returns an error if fewer than `bytes` bytes of memory for `what` are left by the machine, the container
/// or the limits of the process. Small sizes are compared only with the limits of the process.
pub fn check_memory(bytes: u128, what: &str) -> Result<()> {
    let machine = if bytes > SMALL_BYTES { available() } else { None };
    // No allocation can exceed `isize::MAX`.
    let available = machine.unwrap_or(u64::MAX).min(left_by_limits()).min(isize::MAX as u64);
    if bytes <= u128::from(available) {
        return Ok(());
    }
    Err(Error::Config(format!(
        "{what} needs {} of memory, but only {} are available",
        readable(bytes),
        readable(available.into())
    )))
}

/// Bytes of a thread: its stack (2 MiB by default), and other mappings.
const THREAD_BYTES: u64 = 4 << 20;

/// Returns whether the limits of the process leave room for a thread. A thread with room only for its stack
/// would abort the process.
pub fn has_room_for_thread() -> bool {
    left_by_limits() >= THREAD_BYTES
}

/// Returns the bytes that can still be allocated; `None` if the system does not report them.
#[cfg(not(target_arch = "wasm32"))]
fn available() -> Option<u64> {
    use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};
    let mut system = System::new().ok()?;
    system.refresh_memory();
    let machine = system.available_memory();
    let limit = sysinfo::get_current_pid().ok().and_then(|pid| {
        let kind = ProcessRefreshKind::nothing();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, kind);
        system.process(pid)?.cgroup_limits()
    });
    // Not `free_memory`: cached files count as used in a container, although they are freed on demand.
    let container = limit.map_or(u64::MAX, |limit| limit.total_memory.saturating_sub(limit.rss));
    let available = machine.min(container);
    (available > 0).then_some(available)
}

/// A browser does not report the machine's memory.
#[cfg(target_arch = "wasm32")]
fn available() -> Option<u64> {
    None
}

/// Returns the bytes of address space left by the limits of the process, `ulimit -v` and `ulimit -d`.
#[cfg(target_os = "linux")]
fn left_by_limits() -> u64 {
    use rustix::process::{Resource, getrlimit};
    let [space, data] = [Resource::As, Resource::Data].map(|resource| getrlimit(resource).current);
    // Most processes have no such limit, so their usage is not queried.
    if space.or(data).is_none() {
        return u64::MAX;
    }
    // Seven columns of page counts: the first is the total, the sixth data and stack.
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let used = |column| {
        let pages = pages.split_whitespace().nth(column).and_then(|pages| pages.parse::<u64>().ok());
        pages.unwrap_or(0).saturating_mul(rustix::param::page_size() as u64)
    };
    let left =
        |limit: Option<u64>, column| limit.map_or(u64::MAX, |limit| limit.saturating_sub(used(column)));
    left(space, 0).min(left(data, 5))
}

/// Returns the bytes that can still be added to memory, which has 32-bit addresses. It never shrinks; free
/// memory within it is not included.
#[cfg(target_arch = "wasm32")]
fn left_by_limits() -> u64 {
    const PAGE_BYTES: u64 = 1 << 16;
    (1 << 32) - PAGE_BYTES * core::arch::wasm32::memory_size(0) as u64
}

#[cfg(not(any(target_os = "linux", target_arch = "wasm32")))]
fn left_by_limits() -> u64 {
    u64::MAX
}

/// Least bytes for which large pages are requested.
#[cfg(target_os = "linux")]
const LARGE_BYTES: usize = 2 << 20;

/// Requests large pages for a large vector before it is filled, since page faults of 4 KiB take longer than
/// filling. Has no effect if the system has none.
#[cfg(target_os = "linux")]
pub fn prefer_large_pages<T>(values: &mut Vec<T>) {
    let bytes = values.capacity() * size_of::<T>();
    if bytes < LARGE_BYTES {
        return;
    }
    // Includes the page that begins before the vector: a mapping with different kinds of pages could not grow
    // in place.
    let start = values.as_mut_ptr().cast::<u8>();
    let skipped = start.addr() % rustix::param::page_size();
    let (start, bytes) = (start.wrapping_sub(skipped), bytes + skipped);
    #[expect(unsafe_code, reason = "advice on memory, of which it changes nothing")]
    // SAFETY: the pages are mapped, since each contains a part of the vector; the advice does not change
    // their contents, including data of other owners.
    let _ = unsafe { rustix::mm::madvise(start.cast(), bytes, rustix::mm::Advice::LinuxHugepage) };
}

/// Has no effect: other systems choose their pages themselves.
#[cfg(not(target_os = "linux"))]
pub fn prefer_large_pages<T>(_: &mut Vec<T>) {}

/// Allocates room for `count` values of this name, on large pages if the system has them.
///
/// # Errors
/// [`Error::Config`] if the machine has no room.
pub fn room<T>(count: usize, name: &str) -> Result<Vec<T>> {
    let bytes = count as u128 * size_of::<T>() as u128;
    if bytes > SMALL_BYTES {
        check_memory(bytes, name)?;
    }
    let mut values = Vec::new();
    let reserved = values.try_reserve_exact(count);
    reserved.map_err(|error| Error::Config(format!("no memory for {name}: {error}")))?;
    prefer_large_pages(&mut values);
    Ok(values)
}

/// Formats a size with three digits and a unit.
fn readable(bytes: u128) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = if unit == 0 || value >= 99.95 { 0 } else { 1 };
    format!("{value:.decimals$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_no_machine_holds() {
        let message = check_memory(1 << 62, "the table").unwrap_err().to_string();
        assert!(message.starts_with("the table needs 4.6 EB of memory, but only "), "{message}");
    }

    #[test]
    fn allows_a_page() {
        check_memory(4096, "a page").unwrap();
    }

    #[test]
    fn sizes_are_readable() {
        let texts = [0, 999, 1000, 1_500_000, 999_960_000, u128::MAX].map(readable);
        assert_eq!(texts[..5], ["0 B", "999 B", "1.0 kB", "1.5 MB", "1.0 GB"]);
        assert!(texts[5].ends_with(" EB"));
    }
}
