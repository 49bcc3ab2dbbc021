//! Unpacked copies of packed artifacts, shared by all that read them at the same time.
//!
//! Anyone with a signed URL can request any number of small ranges, and each needs the whole artifact unpacked: up to
//! 64 MiB. So at most [`MAX_UNPACKING`] are unpacked at a time, readers of the same artifact share one copy, the last
//! few copies are kept for the next range, and a copy is an unnamed file rather than memory.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::{OnceCell, Semaphore};

use super::error::{BlobError, run_blocking};
use crate::pack;

/// Maximum number of artifacts unpacked at the same time: each takes a processor, and its size in memory.
const MAX_UNPACKING: usize = 2;
/// Number of copies kept after their last reader, for the next range.
const MAX_KEPT: usize = 4;
/// Number of bytes read from a copy at once.
const CHUNK_BYTES: u64 = 256 << 10;

/// An artifact's content in a file without a name.
#[derive(Debug)]
pub(super) struct UnpackedCopy {
    file: Arc<File>,
    /// Lets others find the copy as long as it is being read.
    _shared: Arc<SharedCopy>,
}

/// A packed artifact as it is now: one that was removed has no copy, and one that was replaced has another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PackedVersion {
    /// Its path or key.
    pub(super) place: String,
    /// A text that differs between artifacts stored there at different times.
    pub(super) version: String,
}

/// A copy, or the place of one that is being written: the first reader writes it, and the others wait.
type SharedCopy = OnceCell<Arc<File>>;

/// The copies that are in use.
#[derive(Debug)]
pub(super) struct UnpackedFiles {
    permits: Semaphore,
    copies: Mutex<Copies>,
}

#[derive(Debug, Default)]
struct Copies {
    in_use: HashMap<PackedVersion, Weak<SharedCopy>>,
    kept: VecDeque<Arc<SharedCopy>>,
}

impl UnpackedFiles {
    pub(super) fn new() -> Self {
        Self { permits: Semaphore::new(MAX_UNPACKING), copies: Mutex::default() }
    }

    /// Returns the content of a packed artifact. Unless there is a copy, the packed bytes are read by `load`, and one
    /// is written to the file system of `folder`.
    pub(super) async fn open(
        &self,
        version: PackedVersion,
        load: impl Future<Output = Result<Vec<u8>, BlobError>>,
        folder: &Path,
    ) -> Result<UnpackedCopy, BlobError> {
        let copy = self.copy_of(version);
        let file = Arc::clone(copy.get_or_try_init(|| self.unpack(load, folder)).await?);
        Ok(UnpackedCopy { file, _shared: copy })
    }

    /// Returns the place of a version's copy.
    fn copy_of(&self, version: PackedVersion) -> Arc<SharedCopy> {
        let mut copies = self.lock();
        if let Some(copy) = copies.in_use.get(&version).and_then(Weak::upgrade) {
            return copy;
        }
        copies.in_use.retain(|_, copy| copy.strong_count() > 0);
        let copy = Arc::new(SharedCopy::new());
        copies.in_use.insert(version, Arc::downgrade(&copy));
        copies.kept.push_back(Arc::clone(&copy));
        if copies.kept.len() > MAX_KEPT {
            copies.kept.pop_front();
        }
        copy
    }

    async fn unpack(
        &self,
        load: impl Future<Output = Result<Vec<u8>, BlobError>>,
        folder: &Path,
    ) -> Result<Arc<File>, BlobError> {
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await.map_err(io::Error::other)?;
        let (packed, folder) = (load.await?, folder.to_owned());
        let unpack = move || -> Result<Arc<File>, BlobError> {
            let content = pack::unpack(&packed)?;
            let mut file = tempfile::tempfile_in(folder)?;
            file.write_all(&content)?;
            Ok(Arc::new(file))
        };
        tokio::task::spawn_blocking(unpack).await.map_err(io::Error::other)?
    }

    fn lock(&self) -> MutexGuard<'_, Copies> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnpackedCopy {
    /// Streams the bytes from `start` to `end`, or to the end of the file.
    pub(super) fn stream(self, start: u64, end: u64) -> BoxStream<'static, Result<Bytes, BlobError>> {
        let next = move |(copy, at): (Self, u64)| async move {
            let length = usize::try_from(CHUNK_BYTES.min(end.saturating_sub(at))).unwrap_or_default();
            if length == 0 {
                return Ok(None);
            }
            let file = Arc::clone(&copy.file);
            let chunk = run_blocking(move || {
                let mut chunk = BytesMut::zeroed(length);
                let read = file.read_at(&mut chunk, at)?;
                chunk.truncate(read);
                Ok(chunk.freeze())
            })
            .await?;
            let after = at + chunk.len() as u64;
            Ok((!chunk.is_empty()).then_some((chunk, (copy, after))))
        };
        stream::try_unfold((self, start), next).boxed()
    }
}
