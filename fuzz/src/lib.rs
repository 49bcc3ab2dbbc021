//! Shared code of the fuzz targets: an allocator with a limit, so that an input that makes a parser allocate too much
//! is a finding even if the memory is never touched.

use std::alloc::System;

use cap::Cap;

/// Maximum memory that a target may hold at a time, in bytes, including the corpus and libFuzzer's own tables.
const MAX_HELD_BYTES: usize = 1 << 30;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MAX_HELD_BYTES);

/// Runs the target of that name in [`assay_fuzz`] on an input.
pub fn run(target: &str, data: &[u8]) {
    assay_fuzz::run(target, data);
}
