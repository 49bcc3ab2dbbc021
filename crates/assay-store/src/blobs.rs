//! Evidence, kept by the hash of its content: `jobs/JOB/SHA256`, or `jobs/JOB/SHA256.pack` where that is smaller (see
//! [`pack`]); readers see the same bytes either way. Each job has its own, so that erasing one needs no look at any other,
//! and nobody learns from an upload what others have.

mod files;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::future::ready;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use assay_model::JobId;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::pack::{self, PackError};
use files::{keep, shrink};

/// Folder of all jobs.
const JOBS: &str = "jobs";
/// Folder of files that are about to be kept.
const INCOMING: &str = "incoming";
/// Digits of a SHA-256.
const DIGITS: usize = 64;
/// What the name of a packed artifact ends with.
const PACKED: &str = ".pack";
/// Artifacts that are packed at a time: each takes a processor, and three times its size of memory.
const MAX_PACKING: usize = 1;

/// Where artifacts lie.
#[derive(Debug, Clone)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    /// The folder of the store.
    root: Arc<FilePath>,
    packing: Arc<Semaphore>,
}

/// Why an artifact can't be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// There is none with this hash, or not any more.
    #[error("there is no such artifact")]
    Missing,
    /// Not a SHA-256 in lower-case hexadecimal.
    #[error("not a SHA-256: {0:?}")]
    Name(String),
    /// A file can't be read or kept.
    #[error("the file to keep")]
    Io(#[from] std::io::Error),
    /// What is kept is not what was put there.
    #[error(transparent)]
    Damaged(#[from] PackError),
    /// The store said no.
    #[error("the store of artifacts")]
    Store(#[source] object_store::Error),
}

impl From<object_store::Error> for BlobError {
    fn from(error: object_store::Error) -> Self {
        match error {
            object_store::Error::NotFound { .. } => Self::Missing,
            other => Self::Store(other),
        }
    }
}

impl Blobs {
    /// Artifacts in a folder, which is made. Written files are on the disk when they are answered for. To be called by the
    /// only process that writes there: what another one left in [`Self::incoming`] is removed.
    ///
    /// # Errors
    /// [`BlobError`] when there can be no such folder.
    pub fn folder(path: &FilePath) -> Result<Self, BlobError> {
        fs::create_dir_all(path)?;
        match fs::remove_dir_all(path.join(INCOMING)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => fs::create_dir(path.join(INCOMING))?,
        }
        let store = LocalFileSystem::new_with_prefix(path)?.with_automatic_cleanup(true).with_fsync(true);
        Ok(Self { store: Arc::new(store), root: path.into(), packing: Arc::new(Semaphore::new(MAX_PACKING)) })
    }

    /// A new folder for files that are about to be kept: from there it takes no copy. Gone when dropped.
    ///
    /// # Errors
    /// It can't be made.
    pub fn incoming(&self) -> io::Result<TempDir> {
        tempfile::tempdir_in(self.root.join(INCOMING))
    }

    /// Keeps the file at `path`, whose SHA-256 is `sha256`; nobody else may be able to change it, now or later, since it is
    /// kept under a second name if that can be. Its content is on the disk then, its name after [`Self::settle`]. Keeping it
    /// again changes nothing. If the process is killed meanwhile, nothing or all of it is kept.
    ///
    /// # Errors
    /// [`BlobError`] when the file can't be read or kept.
    pub async fn put(&self, job: JobId, sha256: &str, path: &FilePath) -> Result<(), BlobError> {
        place(job, sha256)?;
        let (from, to, incoming) = (path.to_owned(), self.folder_of(job).join(sha256), self.root.join(INCOMING));
        apart(move || keep(&from, &to, &incoming)).await
    }

    /// Makes a kept artifact smaller, if packing does that; readers see the same bytes before, meanwhile and after. One that is
    /// removed meanwhile stays removed. Takes milliseconds of a processor for each megabyte, so it is for when nobody waits.
    ///
    /// # Errors
    /// [`BlobError`] when it can't be read or written; then it is as it was.
    pub async fn pack(&self, job: JobId, sha256: &str) -> Result<(), BlobError> {
        place(job, sha256)?;
        // It is never closed.
        let _permit = self.packing.acquire().await.map_err(io::Error::other)?;
        let (kept, incoming) = (self.folder_of(job).join(sha256), self.root.join(INCOMING));
        apart(move || shrink(&kept, &incoming)).await
    }

    /// Puts the names of all that was kept of a job on the disk, so that the records may speak of it.
    ///
    /// # Errors
    /// [`BlobError`] when nothing was kept, or the disk failed.
    pub async fn settle(&self, job: JobId) -> Result<(), BlobError> {
        let folder = self.folder_of(job);
        apart(move || folder.ancestors().take(2).try_for_each(|folder| File::open(folder)?.sync_all())).await
    }

    /// The job's folder on this machine.
    fn folder_of(&self, job: JobId) -> PathBuf {
        self.root.join(JOBS).join(job.to_string())
    }

    /// Where an artifact may lie, relative to the folder: as it is, or, later, packed.
    #[must_use]
    pub fn places(job: JobId, sha256: &str) -> [String; 2] {
        let plain = format!("{JOBS}/{job}/{sha256}");
        [plain.clone(), plain + PACKED]
    }

    /// The artifact in a packed file.
    ///
    /// # Errors
    /// [`BlobError`] when it can't be read, or is not what was packed.
    pub fn unpack_file(path: &FilePath) -> Result<Vec<u8>, BlobError> {
        Ok(pack::unpack(&fs::read(path)?)?)
    }

    /// Length in bytes.
    ///
    /// # Errors
    /// [`BlobError::Missing`], or the store failed.
    pub async fn size(&self, job: JobId, sha256: &str) -> Result<u64, BlobError> {
        match self.store.head(&place(job, sha256)?).await {
            Err(object_store::Error::NotFound { .. }) => {
                let head = self.store.get_range(&packed_place(job, sha256), 0..pack::HEAD_BYTES as u64).await?;
                Ok(pack::length(&head)?)
            }
            found => Ok(found?.size),
        }
    }

    /// The whole of a packed artifact, unpacked.
    async fn unpacked(&self, job: JobId, sha256: &str) -> Result<Bytes, BlobError> {
        let packed = self.store.get(&packed_place(job, sha256)).await?.bytes().await?;
        let file = spawn_blocking(move || pack::unpack(&packed)).await.map_err(io::Error::other)??;
        Ok(file.into())
    }

    /// The bytes of a range that lies within the artifact.
    ///
    /// # Errors
    /// [`BlobError::Missing`], or the store failed.
    pub async fn read(
        &self,
        job: JobId,
        sha256: &str,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
        match self.store.get_opts(&place(job, sha256)?, options).await {
            Err(object_store::Error::NotFound { .. }) => {
                let file = self.unpacked(job, sha256).await?;
                let within = |at: u64| usize::try_from(at).map_or(file.len(), |at| at.min(file.len()));
                let (start, end) = (within(range.start), within(range.end));
                Ok(stream::once(ready(Ok(file.slice(start.min(end)..end)))).boxed())
            }
            found => Ok(found?.into_stream().map_err(BlobError::from).boxed()),
        }
    }

    /// Writes the artifact to a new file at `path`.
    ///
    /// # Errors
    /// [`BlobError::Missing`], or the store or the file failed.
    pub async fn copy_to(&self, job: JobId, sha256: &str, path: &FilePath) -> Result<(), BlobError> {
        let size = self.size(job, sha256).await?;
        let mut pieces = self.read(job, sha256, 0..size).await?;
        let mut file = tokio::fs::File::create_new(path).await?;
        while let Some(piece) = pieces.try_next().await? {
            file.write_all(&piece).await?;
        }
        Ok(file.flush().await?)
    }

    /// Removes an artifact, if it is there.
    ///
    /// # Errors
    /// [`BlobError`] when the store failed.
    pub async fn remove(&self, job: JobId, sha256: &str) -> Result<(), BlobError> {
        for place in [place(job, sha256)?, packed_place(job, sha256)] {
            match self.store.delete(&place).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Removes all of a job's artifacts but those whose hashes are in `kept`.
    ///
    /// # Errors
    /// [`BlobError`] when the store failed; what was removed by then stays removed.
    pub async fn retain(&self, job: JobId, kept: &HashSet<&str>) -> Result<(), BlobError> {
        let mut found = self.store.list(Some(&folder(job)));
        while let Some(blob) = found.try_next().await? {
            let name = blob.location.filename().map(|name| name.strip_suffix(PACKED).unwrap_or(name));
            if !name.is_some_and(|name| kept.contains(name)) {
                match self.store.delete(&blob.location).await {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// What each job's artifacts take, in bytes.
    ///
    /// # Errors
    /// [`BlobError`] when the store can't be read.
    pub async fn usage(&self) -> Result<HashMap<JobId, u64>, BlobError> {
        let mut usage = HashMap::new();
        let mut found = self.store.list(Some(&Path::from(JOBS)));
        while let Some(blob) = found.try_next().await? {
            let job = blob.location.parts().nth(1).and_then(|part| part.as_ref().parse().ok());
            if let Some(job) = job {
                *usage.entry(job).or_default() += blob.size;
            }
        }
        Ok(usage)
    }

    /// Removes all of a job's artifacts, and what version 0.1.0 left of them where it was killed.
    ///
    /// # Errors
    /// As [`Self::retain`].
    pub async fn erase(&self, job: JobId) -> Result<(), BlobError> {
        self.retain(job, &HashSet::new()).await?;
        let folder = self.folder_of(job);
        apart(move || match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
        .await
    }
}

/// Waits for work that waits for the disk.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T, BlobError> {
    Ok(spawn_blocking(work).await.map_err(io::Error::other)??)
}

/// Where a packed artifact lies; its name has been checked by [`place`].
fn packed_place(job: JobId, sha256: &str) -> Path {
    folder(job).join(format!("{sha256}{PACKED}"))
}

fn folder(job: JobId) -> Path {
    Path::from_iter([JOBS, &job.to_string()])
}

fn place(job: JobId, sha256: &str) -> Result<Path, BlobError> {
    let plain = sha256.len() == DIGITS && sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if plain { Ok(folder(job).join(sha256)) } else { Err(BlobError::Name(sha256.to_owned())) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::io::Write;

    use super::files::place_whole;
    use super::*;

    fn job(last: u8) -> JobId {
        format!("01900000-0000-7000-8000-0000000000{last:02x}").parse().unwrap()
    }

    async fn text(blobs: &Blobs, job: JobId, sha256: &str, range: Range<u64>) -> Result<String, BlobError> {
        let pieces: Vec<Bytes> = blobs.read(job, sha256, range).await?.try_collect().await?;
        Ok(String::from_utf8(pieces.concat()).unwrap())
    }

    #[tokio::test]
    async fn artifacts_are_kept_by_job_and_hash() {
        let data = tempfile::tempdir().unwrap();
        let blobs = Blobs::folder(&data.path().join("blobs")).unwrap();
        let file = data.path().join("file");
        std::fs::write(&file, "evidence").unwrap();
        let (one, two) = ("a".repeat(64), "b".repeat(64));
        for (id, sha256) in [(1, &one), (1, &one), (1, &two), (2, &one)] {
            blobs.put(job(id), sha256, &file).await.unwrap();
            blobs.settle(job(id)).await.unwrap();
        }
        assert_eq!(blobs.size(job(1), &one).await.unwrap(), 8);
        assert_eq!(text(&blobs, job(1), &one, 0..8).await.unwrap(), "evidence");
        assert_eq!(text(&blobs, job(1), &one, 2..4).await.unwrap(), "id");
        let missing = text(&blobs, job(2), &two, 0..8).await;
        assert!(matches!(missing, Err(BlobError::Missing)), "each job has its own");
        for name in ["../../x", "", "A", &"g".repeat(64)] {
            assert!(matches!(blobs.size(job(1), name).await, Err(BlobError::Name(_))), "{name}");
        }

        let copy = data.path().join("copy");
        blobs.copy_to(job(1), &one, &copy).await.unwrap();
        assert_eq!(std::fs::read_to_string(copy).unwrap(), "evidence");
        let nowhere = blobs.copy_to(job(2), &two, &data.path().join("nothing")).await;
        assert!(matches!(nowhere, Err(BlobError::Missing)));

        assert_eq!(blobs.usage().await.unwrap(), HashMap::from([(job(1), 16), (job(2), 8)]));
        blobs.retain(job(1), &HashSet::from([two.as_str()])).await.unwrap();
        assert!(matches!(blobs.size(job(1), &one).await, Err(BlobError::Missing)));
        assert_eq!(blobs.size(job(1), &two).await.unwrap(), 8);
        blobs.erase(job(1)).await.unwrap();
        blobs.erase(job(1)).await.unwrap();
        assert!(matches!(blobs.size(job(1), &two).await, Err(BlobError::Missing)));
        assert_eq!(blobs.size(job(2), &one).await.unwrap(), 8, "another job's stay");
        assert!(!data.path().join(format!("blobs/jobs/{}", job(1))).exists(), "no empty folder is left");
    }

    #[tokio::test]
    async fn what_packs_well_is_kept_small_and_read_as_it_was() {
        let data = tempfile::tempdir().unwrap();
        let blobs = Blobs::folder(data.path()).unwrap();
        let incoming = blobs.incoming().unwrap();
        let file = incoming.path().join("plots.json");
        let json = format!("[{}]", "0.25, ".repeat(2000));
        std::fs::write(&file, &json).unwrap();
        let hash = "a".repeat(64);
        blobs.put(job(1), &hash, &file).await.unwrap();
        blobs.put(job(1), &hash, &file).await.unwrap();
        blobs.settle(job(1)).await.unwrap();
        assert!(blobs.usage().await.unwrap()[&job(1)] >= json.len() as u64, "nobody has packed it yet");
        blobs.pack(job(1), &hash).await.unwrap();
        blobs.pack(job(1), &hash).await.unwrap();
        blobs.put(job(1), &hash, &file).await.unwrap();
        assert_eq!(blobs.size(job(1), &hash).await.unwrap(), json.len() as u64);
        let usage = blobs.usage().await.unwrap()[&job(1)];
        assert!(usage < 1000, "{usage}");
        assert_eq!(text(&blobs, job(1), &hash, 0..json.len() as u64).await.unwrap(), json);
        assert_eq!(text(&blobs, job(1), &hash, 7..19).await.unwrap(), json[7..19]);
        let copy = data.path().join("copy");
        blobs.copy_to(job(1), &hash, &copy).await.unwrap();
        assert_eq!(std::fs::read_to_string(copy).unwrap(), json);

        let [plain, kept] = Blobs::places(job(1), &hash).map(|place| data.path().join(place));
        assert!(!plain.exists() && Blobs::unpack_file(&kept).unwrap() == json.as_bytes());
        let good = std::fs::read(&kept).unwrap();
        std::fs::write(&kept, &good[..good.len() - 9]).unwrap();
        assert!(matches!(text(&blobs, job(1), &hash, 0..4).await, Err(BlobError::Damaged(_))));
        std::fs::write(&kept, good).unwrap();
        blobs.retain(job(1), &HashSet::from([hash.as_str()])).await.unwrap();
        assert_eq!(
            blobs.size(job(1), &hash).await.unwrap(),
            json.len() as u64,
            "it is kept by the name it was put under"
        );
        blobs.erase(job(1)).await.unwrap();
        assert!(matches!(blobs.size(job(1), &hash).await, Err(BlobError::Missing)));
        assert!(matches!(text(&blobs, job(1), &hash, 0..4).await, Err(BlobError::Missing)));
    }

    #[tokio::test]
    async fn what_is_erased_while_it_is_packed_does_not_come_back() {
        let data = tempfile::tempdir().unwrap();
        let blobs = Blobs::folder(data.path()).unwrap();
        let incoming = blobs.incoming().unwrap();
        let file = incoming.path().join("plots.json");
        fs::write(&file, format!("[{}]", "0.25, ".repeat(20_000))).unwrap();
        let hash = "a".repeat(64);
        for _ in 0..40 {
            blobs.put(job(1), &hash, &file).await.unwrap();
            let (packing, erasing) = tokio::join!(blobs.pack(job(1), &hash), blobs.erase(job(1)));
            packing.unwrap();
            erasing.unwrap();
            assert!(!blobs.folder_of(job(1)).exists());
        }
        assert_eq!(fs::read_dir(data.path().join(INCOMING)).unwrap().count(), 1, "half a packed file was left");
    }

    #[tokio::test]
    async fn what_is_incoming_is_kept_without_a_copy_and_anything_else_with_one() {
        let data = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
        let blobs = Blobs::folder(data.path()).unwrap();
        let incoming = blobs.incoming().unwrap();
        let (near, far) = ("a".repeat(64), "b".repeat(64));
        let (from_near, from_far) = (incoming.path().join("file"), elsewhere.path().join("file"));
        fs::write(&from_near, "near").unwrap();
        fs::write(&from_far, "far").unwrap();
        blobs.put(job(1), &near, &from_near).await.unwrap();
        blobs.put(job(1), &far, &from_far).await.unwrap();
        let inode = |path: &FilePath| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
        assert_eq!(inode(&from_near), inode(&data.path().join(format!("jobs/{}/{near}", job(1)))));
        assert_eq!(text(&blobs, job(1), &far, 0..3).await.unwrap(), "far");
        let nothing = blobs.put(job(1), &"c".repeat(64), &incoming.path().join("nothing")).await;
        assert!(matches!(nothing, Err(BlobError::Io(_))));
        let odd = blobs.put(job(1), "../../x", &from_near).await;
        assert!(matches!(odd, Err(BlobError::Name(_))));

        // As after a kill: what was incoming goes, what was kept stays.
        let left = incoming.keep();
        let blobs = Blobs::folder(data.path()).unwrap();
        assert!(!left.exists());
        assert_eq!(text(&blobs, job(1), &near, 0..4).await.unwrap(), "near");
    }
    #[tokio::test]
    async fn what_is_written_lies_among_the_incoming_until_it_is_whole() {
        let data = tempfile::tempdir().unwrap();
        let blobs = Blobs::folder(data.path()).unwrap();
        let (incoming, to) = (data.path().join(INCOMING), blobs.folder_of(job(1)).join("a".repeat(64)));
        let count = |folder: &FilePath| fs::read_dir(folder).map_or(0, Iterator::count);
        let cut_off = place_whole(&to, &incoming, |file| {
            file.write_all(b"half")?;
            assert_eq!((count(&incoming), count(to.parent().unwrap())), (1, 0));
            Err(io::Error::other("killed"))
        });
        assert!(cut_off.is_err() && count(&incoming) == 0 && count(to.parent().unwrap()) == 0);
        place_whole(&to, &incoming, |file| file.write_all(b"whole")).unwrap();
        assert_eq!((fs::read_to_string(&to).unwrap(), count(&incoming)), ("whole".to_owned(), 0));

        // As version 0.1.0 left it.
        fs::write(to.with_extension("pack#1"), "half").unwrap();
        blobs.erase(job(1)).await.unwrap();
        assert!(!to.parent().unwrap().exists());
    }

    #[tokio::test]
    async fn one_artifact_is_removed_packed_or_not() {
        let data = tempfile::tempdir().unwrap();
        let blobs = Blobs::folder(data.path()).unwrap();
        let file = data.path().join("file");
        for (hash, content) in [("a".repeat(64), "plain".to_owned()), ("b".repeat(64), "[0.25]".repeat(2000))] {
            fs::write(&file, content).unwrap();
            blobs.put(job(1), &hash, &file).await.unwrap();
            assert_eq!(blobs.usage().await.unwrap().len(), 1);
            blobs.remove(job(1), &hash).await.unwrap();
            blobs.remove(job(1), &hash).await.unwrap();
            assert_eq!(blobs.usage().await.unwrap(), HashMap::new());
        }
    }
}
