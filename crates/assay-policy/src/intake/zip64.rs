//! The 64-bit fields of a zip archive. Writers that do not know a size in advance use them for small archives, too.

use std::fs::File;

use super::bytes::{not_zip, read_at, u16_at, u32_at};
use super::error::IntakeError;

/// Value of a 32-bit field that refers to a 64-bit one.
pub(super) const MOVED: u32 = u32::MAX;
const MOVED_COUNT: u16 = u16::MAX;
/// Id of the extra field.
const EXTRA: u16 = 1;
const LOCATOR_SIGNATURE: [u8; 4] = *b"PK\x06\x07";
const LOCATOR_BYTES: usize = 20;
const RECORD_SIGNATURE: [u8; 4] = *b"PK\x06\x06";
const RECORD_BYTES: usize = 56;
/// The record's own count of its bytes, which leaves out the signature and the count.
const RECORD_REST: u64 = 44;

/// The end of a directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) entries: u64,
    pub(super) directory_bytes: u64,
    pub(super) directory_start: u64,
}

/// Reads the record before the end at offset `end_at`, whose fields are `short`. Returns it with its own offset, at
/// which the directory must end; `None` if there is no record.
pub(super) fn record(file: &File, end_at: u64, short: (u16, u32, u32)) -> Result<Option<(End, u64)>, IntakeError> {
    let (entries, directory_bytes, directory_start) = short;
    let is_moved = entries == MOVED_COUNT || directory_bytes == MOVED || directory_start == MOVED;
    let missing = || not_zip("the record of its 64-bit sizes is missing or damaged");
    let mut locator = [0; LOCATOR_BYTES];
    let at = end_at.checked_sub(LOCATOR_BYTES as u64);
    if let Some(at) = at {
        read_at(file, &mut locator, at)?;
    }
    let Some(locator_at) = at.filter(|_| locator.starts_with(&LOCATOR_SIGNATURE)) else {
        return if is_moved { Err(missing()) } else { Ok(None) };
    };
    let record_at = locator_at.checked_sub(RECORD_BYTES as u64).ok_or_else(missing)?;
    let mut bytes = [0; RECORD_BYTES];
    read_at(file, &mut bytes, record_at)?;
    let is_whole = u32_at(&locator, 4) == 0
        && u64_at(&locator, 8) == record_at
        && u32_at(&locator, 16) <= 1
        && bytes.starts_with(&RECORD_SIGNATURE)
        && u64_at(&bytes, 4) == RECORD_REST
        && [u32_at(&bytes, 16), u32_at(&bytes, 20)] == [0; 2]
        && u64_at(&bytes, 24) == u64_at(&bytes, 32);
    let end =
        End { entries: u64_at(&bytes, 32), directory_bytes: u64_at(&bytes, 40), directory_start: u64_at(&bytes, 48) };
    // Programs that know only one of the two records must find the same.
    let agrees = |short: u32, long: u64| short == MOVED || u64::from(short) == long;
    let is_same = (entries == MOVED_COUNT || u64::from(entries) == end.entries)
        && agrees(directory_bytes, end.directory_bytes)
        && agrees(directory_start, end.directory_start);
    if is_whole && is_same { Ok(Some((end, record_at))) } else { Err(missing()) }
}

/// Returns 32-bit `fields` with those that moved taken from the extra fields `extra`, in order; `None` if one of them
/// is not there, or has more than 32 bits.
pub(super) fn fields<const N: usize>(fields: [u32; N], extra: &[u8]) -> Option<[u32; N]> {
    if !fields.contains(&MOVED) {
        return Some(fields);
    }
    let mut rest = moved(extra)?;
    let mut found = fields;
    for field in found.iter_mut().filter(|field| **field == MOVED) {
        let (value, after) = rest.split_first_chunk::<8>()?;
        *field = u32::try_from(u64::from_le_bytes(*value)).ok().filter(|value| *value != MOVED)?;
        rest = after;
    }
    Some(found)
}

/// Returns the content of the extra field with 64-bit values, if there is exactly one.
fn moved(mut extra: &[u8]) -> Option<&[u8]> {
    let mut found = None;
    while extra.len() >= 4 {
        let (id, length) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let content = extra.get(4..4 + length)?;
        if id == EXTRA && found.replace(content).is_some() {
            return None;
        }
        extra = &extra[4 + length..];
    }
    found
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
