//! Settings of the allocator.
#![expect(unsafe_code, reason = "the C library's setting has no safe wrapper")]

use std::thread::available_parallelism;

/// Lets threads share their heaps. The C library gives up to eight per processor a heap of their own, each of which
/// keeps what its threads once needed: a server that takes many uploads, each on another thread, would hold three times
/// as much. To be called before there are threads.
pub(crate) fn share_arenas() {
    let arenas = available_parallelism().ok().and_then(|n| i32::try_from(n.get()).ok()).unwrap_or(1);
    // SAFETY: it changes a number that is read when a thread first allocates. It can only fail by leaving all as it is.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, arenas) };
}
