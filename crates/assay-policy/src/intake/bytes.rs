//! Reading the parts of a zip archive.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::error::IntakeError;

pub(super) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> Result<(), IntakeError> {
    file.read_exact_at(bytes, at).map_err(|_| not_zip("it is truncated"))
}

pub(super) fn not_zip(why: &str) -> IntakeError {
    IntakeError::NotZip { why: why.to_owned() }
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
