//! Configuration of the memory allocator.
#![expect(unsafe_code, reason = "the C library's setting has no safe wrapper")]

use std::thread::available_parallelism;

/// Limits the number of malloc arenas to one per processor. By default glibc creates up to eight per processor, and
/// each arena keeps its peak size: a server that handles many uploads on different threads would hold three times as
/// much memory. Must be called before any thread is started.
pub(crate) fn share_arenas() {
    let arenas = available_parallelism().ok().and_then(|n| i32::try_from(n.get()).ok()).unwrap_or(1);
    // SAFETY: mallopt sets a number that is read when a thread first allocates. If it fails, nothing changes.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, arenas) };
}
