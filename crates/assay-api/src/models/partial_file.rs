//! The file of an unfinished upload, open for writing, with the hash of its content.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};

use assay_model::{ModelUploadId, Sha256Digest, Sha256Writer};
use assay_store::{ModelFiles, ModelRecord};

use super::transfers::HashedPrefix;

/// Number of bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 20;

/// A file whose first `prefix.bytes` bytes have the hash `prefix.hash`.
#[derive(Debug)]
pub(super) struct PartialFile {
    file: File,
    prefix: HashedPrefix,
}

impl PartialFile {
    /// Opens the file of an upload at its durable offset. `prefix` is the hash of an earlier request, if it is known;
    /// otherwise the file is read. Returns `None` if the file lacks bytes that were recorded, for example because the
    /// data folder was restored from a backup.
    pub(super) fn open(
        files: &ModelFiles,
        record: &ModelRecord,
        prefix: Option<HashedPrefix>,
    ) -> io::Result<Option<Self>> {
        let offset = record.received_bytes;
        let upload: ModelUploadId = record.upload;
        let Some(mut file) = files.open_partial(&record.account, upload, offset)? else { return Ok(None) };
        let prefix = match prefix.filter(|prefix| prefix.bytes == offset) {
            Some(prefix) => prefix,
            None => HashedPrefix { hash: hash_of(&mut file, offset)?, bytes: offset },
        };
        file.seek(SeekFrom::Start(offset))?;
        Ok(Some(Self { file, prefix }))
    }

    /// Appends a piece.
    pub(super) fn write(mut self, piece: &[u8]) -> io::Result<Self> {
        self.file.write_all(piece)?;
        self.prefix.hash.update(piece);
        self.prefix.bytes += piece.len() as u64;
        Ok(self)
    }

    /// Makes the content durable.
    pub(super) fn sync(self) -> io::Result<Self> {
        self.file.sync_data()?;
        Ok(self)
    }

    /// Returns the size of the content in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.prefix.bytes
    }

    /// Returns the digest of the content.
    pub(super) fn sha256(&self) -> Sha256Digest {
        self.prefix.hash.clone().finish()
    }

    /// Returns the hash, for the next request.
    pub(super) fn into_prefix(self) -> HashedPrefix {
        self.prefix
    }
}

fn hash_of(file: &mut File, bytes: u64) -> io::Result<Sha256Writer> {
    let (mut hash, mut left, mut buffer) = (Sha256Writer::default(), bytes, vec![0; BUFFER_BYTES]);
    file.rewind()?;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(BUFFER_BYTES);
        match file.read(&mut buffer[..wanted]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                hash.update(&buffer[..read]);
                left -= read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hash)
}
