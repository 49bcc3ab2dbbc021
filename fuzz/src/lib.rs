//! What the fuzz targets share: an allocator with a limit, so that an input that makes a parser allocate more than any
//! input may is a finding even where the memory is never touched.

use std::alloc::System;

use cap::Cap;

/// Most memory that a target may hold at a time, in bytes. The corpus and libFuzzer's own tables are in it.
const MAX_HELD_BYTES: usize = 1 << 30;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MAX_HELD_BYTES);

/// Runs `target` of [`assay_fuzz`] on an input.
pub fn run(target: &str, data: &[u8]) {
    assay_fuzz::run(target, data);
}
