//! The traces of packed uploads, which were unpacked to check them: the audit that follows soon reads them again.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_model::{JobId, Sha256Digest};

/// Number of traces kept, each of up to 64 MiB on the disk.
const MAX_KEPT: usize = 8;
/// First bytes of a trace.
const PARQUET: &[u8] = b"PAR1";

/// The last traces, in files without names. Each is read once.
#[derive(Debug, Default)]
pub(super) struct CheckedTraces(Mutex<VecDeque<(JobId, Sha256Digest, File)>>);

impl CheckedTraces {
    /// Keeps `content` on the file system of `folder`, if it is a trace.
    pub(super) fn keep(&self, job: JobId, sha256: Sha256Digest, content: &[u8], folder: &Path) -> io::Result<()> {
        if !content.starts_with(PARQUET) {
            return Ok(());
        }
        let mut file = tempfile::tempfile_in(folder)?;
        file.write_all(content)?;
        let mut kept = self.lock();
        kept.retain(|(of, digest, _)| (*of, *digest) != (job, sha256));
        kept.push_back((job, sha256, file));
        if kept.len() > MAX_KEPT {
            kept.pop_front();
        }
        Ok(())
    }

    /// Returns a trace that is still kept, from its first byte. It is kept no longer.
    pub(super) fn take(&self, job: JobId, sha256: Sha256Digest) -> io::Result<Option<File>> {
        let mut kept = self.lock();
        let place = kept.iter().position(|(of, digest, _)| (*of, *digest) == (job, sha256));
        let Some((_, _, mut file)) = place.and_then(|place| kept.remove(place)) else { return Ok(None) };
        file.rewind()?;
        Ok(Some(file))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(JobId, Sha256Digest, File)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
