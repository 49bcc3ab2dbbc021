//! The local headers, which repeat the central directory. Programs that read an archive from its beginning use these,
//! so an archive whose two parts differ is two archives: one that is checked, one that another program unpacks. This
//! module checks that both agree, and that nothing lies between the entries.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::directory::{DirectoryEntry, not_zip, u16_at, u32_at};
use super::error::{EntryProblem, IntakeError};

const SIGNATURE: [u8; 4] = *b"PK\x03\x04";
const HEADER_BYTES: usize = 30;
const DESCRIPTOR_SIGNATURE: [u8; 4] = *b"PK\x07\x08";
/// Length of a data descriptor (checksum and both sizes) without its signature, which is optional.
const DESCRIPTOR_BYTES: usize = 12;
/// Flag: checksum and sizes follow the data.
const DESCRIBED_LATER: u16 = 1 << 3;
/// Flags that change how an entry is read: encrypted, described later, strongly encrypted, name in UTF-8, directory
/// encrypted.
const MEANINGFUL: u16 = 1 | DESCRIBED_LATER | 1 << 6 | 1 << 11 | 1 << 13;

/// Checks that the entries follow each other without gaps from the first byte of the archive to its central directory,
/// each with a header that agrees with the directory.
pub(super) fn check(file: &File, entries: &[DirectoryEntry], directory_start: u64) -> Result<(), IntakeError> {
    let mut in_place: Vec<&DirectoryEntry> = entries.iter().collect();
    in_place.sort_by_key(|entry| entry.start);
    let mut at = 0;
    for entry in in_place {
        if entry.start != at {
            return Err(not_zip("its entries overlap, or there are bytes between them"));
        }
        at = end_of(file, entry, directory_start)?;
    }
    if at != directory_start {
        return Err(not_zip("there are bytes between its last entry and its directory"));
    }
    Ok(())
}

/// Returns the offset of the entry's end, its data descriptor included.
fn end_of(file: &File, entry: &DirectoryEntry, directory_start: u64) -> Result<u64, IntakeError> {
    let differs = |what: &str| {
        let name = String::from_utf8_lossy(&entry.name);
        let why = format!("its header and the archive's directory disagree on {what}");
        IntakeError::entry(&name, EntryProblem::Damaged(why))
    };
    let mut header = [0; HEADER_BYTES];
    read(file, &mut header, entry.start)?;
    if !header.starts_with(&SIGNATURE) {
        return Err(differs("its offset"));
    }
    let later = entry.flags & DESCRIBED_LATER != 0;
    // If they follow the data, the header has zeros or the same values.
    let agrees = |found: u32, expected: u32| found == expected || later && found == 0;
    for (what, same) in [
        ("its flags", (u16_at(&header, 6) ^ entry.flags) & MEANINGFUL == 0),
        ("its compression method", u16_at(&header, 8) == entry.method),
        ("its checksum", agrees(u32_at(&header, 14), entry.crc)),
        ("its packed size", agrees(u32_at(&header, 18), entry.packed)),
        ("its size", agrees(u32_at(&header, 22), entry.unpacked)),
        ("the length of its name", usize::from(u16_at(&header, 26)) == entry.name.len()),
    ] {
        if !same {
            return Err(differs(what));
        }
    }
    let mut name = vec![0; entry.name.len()];
    read(file, &mut name, entry.start + HEADER_BYTES as u64)?;
    if name != entry.name {
        return Err(differs("its name"));
    }
    let extra = u64::from(u16_at(&header, 28));
    let end = entry.start + HEADER_BYTES as u64 + name.len() as u64 + extra + u64::from(entry.packed);
    if !later {
        return Ok(end);
    }
    let mut descriptor = [0; DESCRIPTOR_BYTES + 4];
    let length = usize::try_from(directory_start.saturating_sub(end)).unwrap_or(usize::MAX).min(descriptor.len());
    read(file, &mut descriptor[..length], end)?;
    let signed = descriptor.starts_with(&DESCRIPTOR_SIGNATURE);
    let values = &descriptor[if signed { 4 } else { 0 }..];
    let expected = [entry.crc, entry.packed, entry.unpacked];
    if expected.iter().zip([0, 4, 8]).any(|(expected, at)| u32_at(values, at) != *expected) {
        return Err(differs("its data descriptor"));
    }
    Ok(end + (DESCRIPTOR_BYTES + if signed { 4 } else { 0 }) as u64)
}

fn read(file: &File, bytes: &mut [u8], at: u64) -> Result<(), IntakeError> {
    file.read_exact_at(bytes, at).map_err(|_| not_zip("it is truncated"))
}
