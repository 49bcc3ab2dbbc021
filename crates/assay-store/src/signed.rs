//! Where the signed report of a job lies. Each claim of a conclusion has a folder of its own: a worker that lost its
//! lease and does not know it yet can't touch what another one signed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use assay_model::JobId;

use crate::ConclusionFence;

/// Folder of the jobs' reports in the data folder.
const JOBS: &str = "jobs";
/// The report as it was signed.
pub const SIGNED_REPORT: &str = "report.json";
/// The signed statement.
pub const SIGNED_STATEMENT: &str = "report.intoto.json";

/// The folder of all that was signed for `job`.
#[must_use]
pub fn signed_folders(data: &Path, job: JobId) -> PathBuf {
    data.join(JOBS).join(job.to_string())
}

/// The folder of what was signed under `fence`.
#[must_use]
pub fn signed_folder(data: &Path, fence: ConclusionFence) -> PathBuf {
    signed_folders(data, fence.job_id).join(fence.attempt.to_string())
}

/// Puts what was signed under `fence` on the disk, names and all, so that the records may speak of it.
///
/// # Errors
/// Something is not there, or the disk failed.
pub fn sync_signed(data: &Path, fence: ConclusionFence) -> io::Result<()> {
    let (folder, folders) = (signed_folder(data, fence), signed_folders(data, fence.job_id));
    sync_all(&[folder.join(SIGNED_REPORT), folder.join(SIGNED_STATEMENT)])?;
    sync_all(&[folder, folders, data.join(JOBS)])
}

/// All at once: each waits for the disk, which writes them together.
fn sync_all(paths: &[PathBuf]) -> io::Result<()> {
    thread::scope(|scope| {
        let syncing: Vec<_> = paths.iter().map(|path| scope.spawn(move || File::open(path)?.sync_all())).collect();
        let panicked = |_| Err(io::Error::other("syncing panicked"));
        syncing.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(panicked))
    })
}
