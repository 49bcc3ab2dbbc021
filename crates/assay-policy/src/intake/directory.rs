//! A zip archive's central directory, read with bounds before any library parses it: a crafted one makes a parser
//! spend seconds and hundreds of megabytes on entries that do not exist.

use std::fs::File;

use super::bytes::{not_zip, read_at, u16_at, u32_at};
use super::error::IntakeError;
use super::fullest::CountedFolders;
use super::limits::IntakeLimits;
use super::zip64::{self, End};

const END_SIGNATURE: [u8; 4] = *b"PK\x05\x06";
const END_BYTES: usize = 22;
const MAX_COMMENT_BYTES: usize = 65535;
/// Some programs fill up what they write to a pipe with zeros, in blocks of tar.
const MAX_PADDING_BYTES: usize = 10_240;
const ENTRY_SIGNATURE: [u8; 4] = *b"PK\x01\x02";
const ENTRY_BYTES: usize = 46;
/// Maximum size of the central directory, in bytes: 512 entries with long names and extra fields need less.
const MAX_DIRECTORY_BYTES: u64 = 2 * 1024 * 1024;
/// Flags: encrypted, strongly encrypted, directory encrypted.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
const FILE_TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const PIPE: u32 = 0o010_000;
const FOLDER: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// The declared kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    Symlink,
    Special,
}

/// One entry of the central directory.
#[derive(Debug, Clone)]
pub(super) struct DirectoryEntry {
    pub(super) name: Vec<u8>,
    pub(super) kind: EntryKind,
    pub(super) is_encrypted: bool,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) packed: u32,
    pub(super) unpacked: u32,
    /// Offset of its local header.
    pub(super) start: u64,
}

/// Reads all entries of an archive of `length` bytes. Returns them and the offset of the directory.
pub(super) fn read(file: &File, length: u64, limits: &IntakeLimits) -> Result<(Vec<DirectoryEntry>, u64), IntakeError> {
    let end = find_end(file, length)?;
    let count = usize::try_from(end.entries).unwrap_or(usize::MAX);
    let too_many = |folders: &CountedFolders| IntakeError::TooManyEntries {
        what: limits.content,
        found: count,
        limit: limits.entries,
        fullest: folders.fullest(),
    };
    if end.directory_bytes > MAX_DIRECTORY_BYTES {
        let is_too_many = count > limits.entries;
        return Err(if is_too_many {
            too_many(&CountedFolders::default())
        } else {
            not_zip("its directory is too long")
        });
    }
    let mut bytes = vec![0; usize::try_from(end.directory_bytes).unwrap_or(0)];
    read_at(file, &mut bytes, end.directory_start)?;
    let (mut entries, mut rest, mut folders) = (Vec::new(), bytes.as_slice(), CountedFolders::default());
    for _ in 0..end.entries {
        let (entry, after) = parse_entry(rest)?;
        rest = after;
        if count > limits.entries {
            folders.add(&String::from_utf8_lossy(&entry.name));
        } else {
            entries.push(entry);
        }
    }
    if count > limits.entries {
        return Err(too_many(&folders));
    }
    if !rest.is_empty() {
        return Err(not_zip("its directory has more entries than it declares"));
    }
    Ok((entries, end.directory_start))
}

fn find_end(file: &File, length: u64) -> Result<End, IntakeError> {
    let window = usize::try_from(length).unwrap_or(usize::MAX).min(END_BYTES + MAX_COMMENT_BYTES);
    let mut bytes = vec![0; window];
    read_at(file, &mut bytes, length - window as u64)?;
    let is_end = |at: &usize| bytes[*at..].starts_with(&END_SIGNATURE);
    let mut found = (0..(window + 1).saturating_sub(END_BYTES)).filter(is_end);
    let at = found.next().ok_or_else(|| not_zip("it has no directory; it may be incomplete or not a zip archive"))?;
    let record = &bytes[at..];
    // Programs disagree on archives with more than one candidate, or with bytes after the end.
    let rest = record.get(END_BYTES + usize::from(u16_at(record, 20))..);
    let is_padded = |rest: &[u8]| rest.len() < MAX_PADDING_BYTES && rest.iter().all(|byte| *byte == 0);
    if found.next().is_some() || !rest.is_some_and(is_padded) {
        return Err(not_zip("its end is ambiguous"));
    }
    let short = (u16_at(record, 10), u32_at(record, 12), u32_at(record, 16));
    if u16_at(record, 4) != 0 || u16_at(record, 6) != 0 || u16_at(record, 8) != short.0 {
        return Err(not_zip("it is split into several files"));
    }
    let end_at = length - record.len() as u64;
    let short_end = End { entries: short.0.into(), directory_bytes: short.1.into(), directory_start: short.2.into() };
    let (end, directory_end) = zip64::record(file, end_at, short)?.unwrap_or((short_end, end_at));
    if end.directory_start.checked_add(end.directory_bytes) != Some(directory_end) {
        return Err(not_zip("its directory is not at the declared offset"));
    }
    Ok(end)
}

fn parse_entry(bytes: &[u8]) -> Result<(DirectoryEntry, &[u8]), IntakeError> {
    if bytes.len() < ENTRY_BYTES || !bytes.starts_with(&ENTRY_SIGNATURE) {
        return Err(not_zip("its directory is damaged"));
    }
    let name_end = ENTRY_BYTES + usize::from(u16_at(bytes, 28));
    let extra_end = name_end + usize::from(u16_at(bytes, 30));
    let end = extra_end + usize::from(u16_at(bytes, 32));
    if end > bytes.len() {
        return Err(not_zip("its directory is damaged"));
    }
    let name = bytes[ENTRY_BYTES..name_end].to_vec();
    // In the order in which they have 64 bits.
    let short = [u32_at(bytes, 24), u32_at(bytes, 20), u32_at(bytes, 42)];
    let [unpacked, packed, start] = zip64::fields(short, &bytes[name_end..extra_end])
        .ok_or_else(|| not_zip("an entry is larger than 4 GiB, or its 64-bit sizes are damaged"))?;
    let entry = DirectoryEntry {
        kind: kind(&name, u32_at(bytes, 38), unpacked),
        name,
        is_encrypted: u16_at(bytes, 8) & ENCRYPTED != 0,
        flags: u16_at(bytes, 8),
        method: u16_at(bytes, 10),
        crc: u32_at(bytes, 16),
        packed,
        unpacked,
        start: start.into(),
    };
    Ok((entry, &bytes[end..]))
}

/// Returns the kind of an entry. The upper half of the attributes is a Unix mode, or zero if there is none. What was
/// packed from a pipe has the mode of that pipe, and content.
fn kind(name: &[u8], attributes: u32, unpacked: u32) -> EntryKind {
    match (attributes >> 16) & FILE_TYPE {
        LINK => EntryKind::Symlink,
        FOLDER => EntryKind::Folder,
        0 | REGULAR if name.ends_with(b"/") => EntryKind::Folder,
        0 | REGULAR => EntryKind::File,
        PIPE if unpacked > 0 => EntryKind::File,
        _ => EntryKind::Special,
    }
}
