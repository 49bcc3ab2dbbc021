//! The file format of an offline run: the log of LevelDB with a header of its own (`wandb/sdk/internal/datastore.py`).
//!
//! After the header, the file consists of blocks of 32 KiB. A record that does not fit into the rest of its block is
//! divided into chunks, each with the CRC-32 (that of zlib) of its kind and bytes, its length and its kind. Less than a
//! chunk's header at the end of a block is filled with zeros.

use crc32fast::Hasher;

const BLOCK_BYTES: usize = 32 * 1024;
/// Length of a chunk's header, and of the file's.
const HEADER_BYTES: usize = 7;
/// The identifier, the magic number 0xBEE1 (little-endian), and the version 0.
const FILE_HEADER: [u8; HEADER_BYTES] = *b":W&B\xe1\xbe\x00";

/// Position of a chunk in its record.
#[derive(Debug, Clone, Copy)]
enum ChunkKind {
    Full = 1,
    First = 2,
    Middle = 3,
    Last = 4,
}

/// A log in memory.
#[derive(Debug)]
pub(super) struct RecordLog {
    bytes: Vec<u8>,
}

impl RecordLog {
    pub(super) fn new() -> Self {
        Self { bytes: FILE_HEADER.to_vec() }
    }

    pub(super) fn append(&mut self, record: &[u8]) {
        let mut rest = record;
        let mut is_first = true;
        loop {
            let mut space = BLOCK_BYTES - self.bytes.len() % BLOCK_BYTES;
            if space < HEADER_BYTES {
                self.bytes.resize(self.bytes.len() + space, 0);
                space = BLOCK_BYTES;
            }
            let (chunk, after) = rest.split_at(rest.len().min(space - HEADER_BYTES));
            self.append_chunk(
                chunk,
                match (is_first, after.is_empty()) {
                    (true, true) => ChunkKind::Full,
                    (true, false) => ChunkKind::First,
                    (false, false) => ChunkKind::Middle,
                    (false, true) => ChunkKind::Last,
                },
            );
            if after.is_empty() {
                return;
            }
            (rest, is_first) = (after, false);
        }
    }

    fn append_chunk(&mut self, chunk: &[u8], kind: ChunkKind) {
        let mut sum = Hasher::new();
        sum.update(&[kind as u8]);
        sum.update(chunk);
        self.bytes.extend(sum.finalize().to_le_bytes());
        let length = u16::try_from(chunk.len()).expect("a chunk is shorter than a block");
        self.bytes.extend(length.to_le_bytes());
        self.bytes.push(kind as u8);
        self.bytes.extend(chunk);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a log as `DataStore.scan_data` of wandb does.
    fn read(mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let whole = bytes.len();
        assert_eq!(bytes[..HEADER_BYTES], FILE_HEADER);
        bytes = &bytes[HEADER_BYTES..];
        let (mut records, mut record, mut is_open) = (Vec::new(), Vec::new(), false);
        while !bytes.is_empty() {
            let space = BLOCK_BYTES - (whole - bytes.len()) % BLOCK_BYTES;
            if space < HEADER_BYTES {
                let (padding, after) = bytes.split_at(space);
                assert!(padding.iter().all(|byte| *byte == 0), "{padding:?}");
                bytes = after;
            }
            let (header, after) = bytes.split_at(HEADER_BYTES);
            let length = usize::from(u16::from_le_bytes([header[4], header[5]]));
            let (chunk, after) = after.split_at(length);
            let mut summed = vec![header[6]];
            summed.extend(chunk);
            assert_eq!(header[..4], crc32fast::hash(&summed).to_le_bytes());
            assert_eq!(matches!(header[6], 3 | 4), is_open, "a chunk out of order");
            is_open = matches!(header[6], 2 | 3);
            record.extend(chunk);
            if matches!(header[6], 1 | 4) {
                records.push(std::mem::take(&mut record));
            }
            bytes = after;
        }
        assert!(!is_open, "a record without an end");
        records
    }

    #[test]
    fn records_of_every_length_are_read_back() {
        // The first record leaves 0 to 16 bytes of its block, which a header of 7 bytes does or does not fit into.
        for left in 0..=16 {
            let first = BLOCK_BYTES - 2 * HEADER_BYTES - left;
            for second in [1, 9, BLOCK_BYTES, 3 * BLOCK_BYTES] {
                let records = [vec![1; first], vec![2; second], vec![3; 5]];
                let mut log = RecordLog::new();
                for record in &records {
                    log.append(record);
                }
                assert_eq!(read(&log.into_bytes()), records, "{left} bytes left, then {second}");
            }
        }
    }
}
