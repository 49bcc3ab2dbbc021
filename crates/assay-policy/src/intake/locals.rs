//! The local headers, which repeat the central directory. Programs that read an archive from its beginning use these,
//! so an archive whose two parts differ is two archives: one that is checked, one that another program unpacks. This
//! module checks that both agree, and that nothing lies between the entries.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::bytes::{not_zip, u16_at, u32_at};
use super::directory::DirectoryEntry;
use super::error::{EntryProblem, IntakeError};
use super::zip64;

const SIGNATURE: [u8; 4] = *b"PK\x03\x04";
const HEADER_BYTES: usize = 30;
const DESCRIPTOR_SIGNATURE: [u8; 4] = *b"PK\x07\x08";
/// Length of a data descriptor (checksum and both sizes) without its signature, which is optional; and of one whose
/// sizes have 64 bits.
const DESCRIPTOR_BYTES: u64 = 12;
const LONG_DESCRIPTOR_BYTES: u64 = 20;
const DESCRIPTOR_SIGNATURE_BYTES: u64 = 4;
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
    for (index, entry) in in_place.iter().enumerate() {
        if entry.start != at {
            return Err(not_zip("its entries overlap, or there are bytes between them"));
        }
        let next = in_place.get(index + 1).map_or(directory_start, |next| next.start);
        at = end_of(file, entry, next)?;
    }
    if at != directory_start {
        return Err(not_zip("there are bytes between its last entry and its directory"));
    }
    Ok(())
}

/// Returns the offset of the entry's end, its data descriptor included. What follows it begins at `next`.
fn end_of(file: &File, entry: &DirectoryEntry, next: u64) -> Result<u64, IntakeError> {
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
    let extra_at = entry.start + HEADER_BYTES as u64 + name.len() as u64;
    let mut extra = vec![0; usize::from(u16_at(&header, 28))];
    read(file, &mut extra, extra_at)?;
    let [unpacked, packed] =
        zip64::fields([u32_at(&header, 22), u32_at(&header, 18)], &extra).ok_or_else(|| differs("its sizes"))?;
    for (what, found, expected) in [("its packed size", packed, entry.packed), ("its size", unpacked, entry.unpacked)] {
        if !agrees(found, expected) {
            return Err(differs(what));
        }
    }
    let end = extra_at + extra.len() as u64 + u64::from(entry.packed);
    if !later {
        return Ok(end);
    }
    check_descriptor(file, entry, (end, next))?.ok_or_else(|| differs("its data descriptor"))
}

/// Returns the end of the data descriptor between an entry's data and what follows; `None` if it does not agree with
/// the entry. Its length is the only sign of whether its sizes have 64 bits.
fn check_descriptor(file: &File, entry: &DirectoryEntry, (at, next): (u64, u64)) -> Result<Option<u64>, IntakeError> {
    let length = next.saturating_sub(at);
    let is_signed = [DESCRIPTOR_BYTES, LONG_DESCRIPTOR_BYTES].map(|bytes| bytes + DESCRIPTOR_SIGNATURE_BYTES);
    let signature = if is_signed.contains(&length) { DESCRIPTOR_SIGNATURE_BYTES } else { 0 };
    let sizes: Vec<u64> = [entry.packed, entry.unpacked].map(u64::from).into();
    let sizes: Vec<u8> = match length - signature {
        DESCRIPTOR_BYTES => sizes.iter().flat_map(|size| size.to_le_bytes()[..4].to_vec()).collect(),
        LONG_DESCRIPTOR_BYTES => sizes.iter().flat_map(|size| size.to_le_bytes()).collect(),
        _ => return Ok(None),
    };
    let mark = if signature == 0 { &[][..] } else { &DESCRIPTOR_SIGNATURE };
    let expected = [mark, &entry.crc.to_le_bytes(), &sizes].concat();
    let mut found = vec![0; expected.len()];
    read(file, &mut found, at)?;
    Ok((found == expected).then_some(next))
}

fn read(file: &File, bytes: &mut [u8], at: u64) -> Result<(), IntakeError> {
    file.read_exact_at(bytes, at).map_err(|_| not_zip("it is truncated"))
}
