//! A zip archive's central directory, read with bounds before any library parses it: a crafted one makes a parser
//! spend seconds and hundreds of megabytes on entries that do not exist.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::error::IntakeError;
use super::limits::IntakeLimits;

const END_SIGNATURE: [u8; 4] = *b"PK\x05\x06";
const END_BYTES: usize = 22;
const MAX_COMMENT_BYTES: usize = 65535;
const ENTRY_SIGNATURE: [u8; 4] = *b"PK\x01\x02";
const ENTRY_BYTES: usize = 46;
/// Maximum size of the central directory, in bytes: 512 entries with long names and extra fields need less.
const MAX_DIRECTORY_BYTES: u32 = 2 * 1024 * 1024;
/// Value of a 32-bit field that refers to the zip64 record.
const ZIP64: u32 = u32::MAX;
/// Flags: encrypted, strongly encrypted, directory encrypted.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
const FILE_TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
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
    if usize::from(end.entries) > limits.entries {
        return Err(IntakeError::TooManyEntries {
            what: limits.content,
            found: end.entries.into(),
            limit: limits.entries,
        });
    }
    if end.directory_bytes > MAX_DIRECTORY_BYTES {
        return Err(not_zip("its directory is too long"));
    }
    let mut bytes = vec![0; usize::try_from(end.directory_bytes).unwrap_or(0)];
    read_at(file, &mut bytes, u64::from(end.directory_start))?;
    let (mut entries, mut rest) = (Vec::with_capacity(end.entries.into()), bytes.as_slice());
    for _ in 0..end.entries {
        let (entry, after) = parse_entry(rest)?;
        entries.push(entry);
        rest = after;
    }
    if !rest.is_empty() {
        return Err(not_zip("its directory has more entries than it declares"));
    }
    Ok((entries, end.directory_start.into()))
}

struct End {
    entries: u16,
    directory_bytes: u32,
    directory_start: u32,
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
    if found.next().is_some() || record.len() != END_BYTES + usize::from(u16_at(record, 20)) {
        return Err(not_zip("its end is ambiguous"));
    }
    let end =
        End { entries: u16_at(record, 10), directory_bytes: u32_at(record, 12), directory_start: u32_at(record, 16) };
    let is_split = u16_at(record, 4) != 0 || u16_at(record, 6) != 0 || u16_at(record, 8) != end.entries;
    let is_zip64 = end.entries == u16::MAX || end.directory_bytes == ZIP64 || end.directory_start == ZIP64;
    if is_split || is_zip64 {
        return Err(not_zip("it is split, or in the format for huge archives"));
    }
    let directory_end = u64::from(end.directory_start) + u64::from(end.directory_bytes);
    if directory_end != length - record.len() as u64 {
        return Err(not_zip("its directory is not at the declared offset"));
    }
    Ok(end)
}

fn parse_entry(bytes: &[u8]) -> Result<(DirectoryEntry, &[u8]), IntakeError> {
    if bytes.len() < ENTRY_BYTES || !bytes.starts_with(&ENTRY_SIGNATURE) {
        return Err(not_zip("its directory is damaged"));
    }
    let name_end = ENTRY_BYTES + usize::from(u16_at(bytes, 28));
    let end = name_end + usize::from(u16_at(bytes, 30)) + usize::from(u16_at(bytes, 32));
    if end > bytes.len() {
        return Err(not_zip("its directory is damaged"));
    }
    let name = bytes[ENTRY_BYTES..name_end].to_vec();
    let (packed, unpacked, start) = (u32_at(bytes, 20), u32_at(bytes, 24), u32_at(bytes, 42));
    if [packed, unpacked, start].contains(&ZIP64) {
        return Err(not_zip("it is in the format for huge archives"));
    }
    let entry = DirectoryEntry {
        kind: kind(&name, u32_at(bytes, 38)),
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

/// Returns the kind of an entry. The upper half of the attributes is a Unix mode, or zero if there is none.
fn kind(name: &[u8], attributes: u32) -> EntryKind {
    match (attributes >> 16) & FILE_TYPE {
        LINK => EntryKind::Symlink,
        FOLDER => EntryKind::Folder,
        0 | REGULAR if name.ends_with(b"/") => EntryKind::Folder,
        0 | REGULAR => EntryKind::File,
        _ => EntryKind::Special,
    }
}

fn read_at(file: &File, bytes: &mut [u8], at: u64) -> Result<(), IntakeError> {
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
