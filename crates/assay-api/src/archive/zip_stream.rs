//! A zip archive as a sequence of bytes that is never longer in memory than one piece: all entries are stored without
//! compression, since evidence is compressed already, and have their checksum behind their content (APPNOTE 6.3.10,
//! 4.3.9). Archives, entries and numbers of entries beyond the limits of the original format use ZIP64.

use bytes::{BufMut, Bytes, BytesMut};
use flate2::Crc;

/// Flags of every entry: a data descriptor follows the content, and the name is UTF-8.
const FLAGS: u16 = 1 << 3 | 1 << 11;
/// First of January 1980, the earliest date, so that equal contents give equal archives.
const DATE: u16 = 0x21;
/// Host system Unix, version 4.5 of the format.
const MADE_BY: u16 = 3 << 8 | 45;
/// Type and mode of a file: regular, readable by all, writable by its owner.
const ATTRIBUTES: u32 = 0o100_644 << 16;
/// Value of a field whose number is in a ZIP64 field.
const IN_ZIP64: u32 = u32::MAX;
/// Header id of a ZIP64 field.
const ZIP64: u16 = 1;

/// Writes an archive.
#[derive(Debug, Default)]
pub(super) struct ZipStream {
    offset: u64,
    count: u64,
    directory: BytesMut,
    entry: Option<OpenEntry>,
}

/// The entry that is being written.
#[derive(Debug)]
struct OpenEntry {
    name: String,
    size: u64,
    offset: u64,
    crc: Crc,
}

impl ZipStream {
    /// Returns the length of an archive of entries with these names and sizes.
    pub(super) fn length<'a>(entries: impl Iterator<Item = (&'a str, u64)>) -> u64 {
        let mut zip = Self::default();
        for (name, size) in entries {
            zip.begin(name, size);
            zip.offset += size;
            zip.end();
        }
        let before = zip.offset;
        before + zip.finish().len() as u64
    }

    /// Begins an entry, whose content has `size` bytes. Returns its header.
    pub(super) fn begin(&mut self, name: &str, size: u64) -> Bytes {
        let name = name.get(..usize::from(u16::MAX)).unwrap_or(name);
        let is_large = is_large(size);
        let mut header = BytesMut::new();
        header.put_u32_le(0x0403_4b50);
        put_common(&mut header, is_large);
        // Checksum and sizes follow the content.
        header.put_u32_le(0);
        header.put_u32_le(if is_large { IN_ZIP64 } else { 0 });
        header.put_u32_le(if is_large { IN_ZIP64 } else { 0 });
        put_length(&mut header, name.len());
        put_length(&mut header, if is_large { 20 } else { 0 });
        header.put_slice(name.as_bytes());
        if is_large {
            header.put_u16_le(ZIP64);
            header.put_u16_le(16);
            header.put_bytes(0, 16);
        }
        self.entry = Some(OpenEntry { name: name.to_owned(), size, offset: self.offset, crc: Crc::new() });
        self.sent(header)
    }

    /// Adds a piece of the entry's content, which is to be sent as it is.
    pub(super) fn content(&mut self, piece: &[u8]) {
        if let Some(entry) = &mut self.entry {
            entry.crc.update(piece);
        }
        self.offset += piece.len() as u64;
    }

    /// Ends the entry. Returns its descriptor.
    pub(super) fn end(&mut self) -> Bytes {
        let mut descriptor = BytesMut::new();
        let Some(entry) = self.entry.take() else { return descriptor.freeze() };
        descriptor.put_u32_le(0x0807_4b50);
        descriptor.put_u32_le(entry.crc.sum());
        for _ in 0..2 {
            match u32::try_from(entry.size) {
                Ok(size) if !is_large(entry.size) => descriptor.put_u32_le(size),
                _ => descriptor.put_u64_le(entry.size),
            }
        }
        self.list(&entry);
        self.sent(descriptor)
    }

    /// Returns the directory and the end of the archive.
    pub(super) fn finish(mut self) -> Bytes {
        let (start, size) = (self.offset, self.directory.len() as u64);
        let end = start + size;
        if self.count >= u64::from(u16::MAX) || is_large(start) || is_large(size) {
            self.directory.put_u32_le(0x0606_4b50);
            self.directory.put_u64_le(44);
            self.directory.put_u16_le(MADE_BY);
            self.directory.put_u16_le(45);
            self.directory.put_u64_le(0);
            for number in [self.count, self.count, size, start] {
                self.directory.put_u64_le(number);
            }
            self.directory.put_u32_le(0x0706_4b50);
            self.directory.put_u32_le(0);
            self.directory.put_u64_le(end);
            self.directory.put_u32_le(1);
        }
        self.directory.put_u32_le(0x0605_4b50);
        self.directory.put_u32_le(0);
        let count = u16::try_from(self.count).unwrap_or(u16::MAX);
        self.directory.put_u16_le(count);
        self.directory.put_u16_le(count);
        self.directory.put_u32_le(u32::try_from(size).unwrap_or(IN_ZIP64));
        self.directory.put_u32_le(u32::try_from(start).unwrap_or(IN_ZIP64));
        self.directory.put_u16_le(0);
        self.directory.freeze()
    }

    /// Adds the entry to the directory.
    fn list(&mut self, entry: &OpenEntry) {
        let (is_large, is_far) = (is_large(entry.size), is_large(entry.offset));
        let mut extra = BytesMut::new();
        if is_large {
            extra.put_u64_le(entry.size);
            extra.put_u64_le(entry.size);
        }
        if is_far {
            extra.put_u64_le(entry.offset);
        }
        let size = u32::try_from(entry.size).ok().filter(|_| !is_large).unwrap_or(IN_ZIP64);
        let directory = &mut self.directory;
        directory.put_u32_le(0x0201_4b50);
        directory.put_u16_le(MADE_BY);
        put_common(directory, is_large || is_far);
        directory.put_u32_le(entry.crc.sum());
        directory.put_u32_le(size);
        directory.put_u32_le(size);
        put_length(directory, entry.name.len());
        put_length(directory, if extra.is_empty() { 0 } else { 4 + extra.len() });
        // No comment, the first disk, no internal attributes.
        directory.put_bytes(0, 6);
        directory.put_u32_le(ATTRIBUTES);
        directory.put_u32_le(u32::try_from(entry.offset).ok().filter(|_| !is_far).unwrap_or(IN_ZIP64));
        directory.put_slice(entry.name.as_bytes());
        if !extra.is_empty() {
            directory.put_u16_le(ZIP64);
            put_length(directory, extra.len());
            directory.put_slice(&extra);
        }
        self.count += 1;
    }

    fn sent(&mut self, bytes: BytesMut) -> Bytes {
        self.offset += bytes.len() as u64;
        bytes.freeze()
    }
}

/// Writes the fields that an entry's header and its line in the directory share: version, flags, method and time.
fn put_common(to: &mut BytesMut, is_zip64: bool) {
    to.put_u16_le(if is_zip64 { 45 } else { 20 });
    to.put_u16_le(FLAGS);
    // Stored, at midnight.
    to.put_u32_le(0);
    to.put_u16_le(DATE);
}

fn put_length(to: &mut BytesMut, length: usize) {
    to.put_u16_le(u16::try_from(length).unwrap_or(u16::MAX));
}

fn is_large(number: u64) -> bool {
    number >= u64::from(IN_ZIP64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes an archive whose entries consist of a number of zeros, of which only the headers are kept.
    fn written(entries: &[(&str, u64)]) -> (Vec<u8>, u64) {
        let (mut zip, mut bytes, mut left_out) = (ZipStream::default(), Vec::new(), 0);
        for (name, size) in entries {
            bytes.extend(zip.begin(name, *size));
            zip.offset += size;
            left_out += size;
            bytes.extend(zip.end());
        }
        bytes.extend(zip.finish());
        (bytes, left_out)
    }

    #[test]
    fn the_length_is_known_in_advance() {
        let many: Vec<(String, u64)> = (0..70_000).map(|n| (format!("episodes/{n}/trace.parquet"), n)).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|(name, size)| (name.as_str(), *size)).collect();
        for entries in [
            &[][..],
            &[("a", 0)],
            &[("a", 3), ("b/c", 70_000)],
            &[("large", u64::from(u32::MAX)), ("far", 1)],
            &[("nearly", u64::from(u32::MAX) - 1), ("far", u64::from(u32::MAX) + 1)],
            &many,
        ] {
            let (bytes, left_out) = written(entries);
            assert_eq!(ZipStream::length(entries.iter().copied()), bytes.len() as u64 + left_out, "{}", entries.len());
        }
    }
}
