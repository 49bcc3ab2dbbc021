//! Tests of properties of folders alone: files without copies, leftovers of a kill, disk usage.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use super::super::folder_files::write_atomically;
use super::super::{INCOMING, names};
use super::*;

fn job_folder(data: &Path, job: JobId) -> PathBuf {
    data.join(names::job_folder(job))
}

async fn usage(blobs: &Blobs) -> HashMap<JobId, u64> {
    blobs.usage().await.unwrap().unwrap()
}

#[tokio::test]
async fn usage_is_measured_on_the_disk() {
    let data = tempfile::tempdir().unwrap();
    let blobs = Blobs::folder(&data.path().join("blobs")).unwrap();
    let file = data.path().join("file");
    fs::write(&file, "evidence").unwrap();
    for (id, name) in [(1, "one"), (1, "two"), (2, "one")] {
        blobs.put(job(id), Sha256Digest::of(name), &file).await.unwrap();
    }
    assert_eq!(usage(&blobs).await, HashMap::from([(job(1), 16), (job(2), 8)]));
    blobs.erase(job(1)).await.unwrap();
    assert_eq!(usage(&blobs).await, HashMap::from([(job(2), 8)]));
    assert!(!job_folder(&data.path().join("blobs"), job(1)).exists(), "no empty folder is left");
}

#[tokio::test]
async fn compressible_artifacts_are_packed_on_the_disk() {
    let data = tempfile::tempdir().unwrap();
    let blobs = Blobs::folder(data.path()).unwrap();
    let incoming = blobs.incoming().unwrap();
    let file = incoming.path().join("plots.json");
    let json = format!("[{}]", "0.25, ".repeat(2000));
    fs::write(&file, &json).unwrap();
    let hash = Sha256Digest::of("a");
    blobs.put(job(1), hash, &file).await.unwrap();
    blobs.put(job(1), hash, &file).await.unwrap();
    blobs.settle(job(1)).await.unwrap();
    assert!(usage(&blobs).await[&job(1)] >= json.len() as u64, "it is not packed yet");
    blobs.pack(job(1), hash).await.unwrap();
    blobs.pack(job(1), hash).await.unwrap();
    blobs.put(job(1), hash, &file).await.unwrap();
    assert_eq!(blobs.size(job(1), hash).await.unwrap(), json.len() as u64);
    let usage = usage(&blobs).await[&job(1)];
    assert!(usage < 1000, "{usage}");
    assert_eq!(text(&blobs, job(1), hash, 0..json.len() as u64).await.unwrap(), json);
    assert_eq!(text(&blobs, job(1), hash, 7..19).await.unwrap(), json[7..19]);
    let copy = data.path().join("copy");
    blobs.copy_to(job(1), hash, &copy).await.unwrap();
    assert_eq!(fs::read_to_string(copy).unwrap(), json);

    let [plain, kept] = Blobs::relative_paths(job(1), hash).map(|place| data.path().join(place));
    assert!(!plain.exists() && Blobs::unpack_file(&kept).unwrap() == json.as_bytes());
    let good = fs::read(&kept).unwrap();
    fs::write(&kept, &good[..good.len() - 9]).unwrap();
    assert!(matches!(text(&blobs, job(1), hash, 0..4).await, Err(BlobError::Damaged(_))));
    fs::write(&kept, good).unwrap();
    blobs.retain(job(1), HashSet::from([hash])).await.unwrap();
    assert_eq!(blobs.size(job(1), hash).await.unwrap(), json.len() as u64, "it is kept under its original name");
    blobs.erase(job(1)).await.unwrap();
    assert!(matches!(blobs.size(job(1), hash).await, Err(BlobError::Missing)));
    assert!(matches!(text(&blobs, job(1), hash, 0..4).await, Err(BlobError::Missing)));
}

#[tokio::test]
async fn an_artifact_erased_while_it_is_packed_stays_erased() {
    let data = tempfile::tempdir().unwrap();
    let blobs = Blobs::folder(data.path()).unwrap();
    let incoming = blobs.incoming().unwrap();
    let file = incoming.path().join("plots.json");
    fs::write(&file, format!("[{}]", "0.25, ".repeat(20_000))).unwrap();
    let hash = Sha256Digest::of("a");
    for _ in 0..40 {
        blobs.put(job(1), hash, &file).await.unwrap();
        let (packing, erasing) = tokio::join!(blobs.pack(job(1), hash), blobs.erase(job(1)));
        packing.unwrap();
        erasing.unwrap();
        assert!(!job_folder(data.path(), job(1)).exists());
    }
    assert_eq!(fs::read_dir(data.path().join(INCOMING)).unwrap().count(), 1, "half a packed file was left");
}

#[tokio::test]
async fn incoming_files_are_stored_without_a_copy_and_others_with_one() {
    let data = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let blobs = Blobs::folder(data.path()).unwrap();
    let incoming = blobs.incoming().unwrap();
    let (near, far) = (Sha256Digest::of("near"), Sha256Digest::of("far"));
    let (from_near, from_far) = (incoming.path().join("file"), elsewhere.path().join("file"));
    fs::write(&from_near, "near").unwrap();
    fs::write(&from_far, "far").unwrap();
    blobs.put(job(1), near, &from_near).await.unwrap();
    blobs.put(job(1), far, &from_far).await.unwrap();
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    assert_eq!(inode(&from_near), inode(&data.path().join(format!("jobs/{}/{near}", job(1)))));
    assert_eq!(text(&blobs, job(1), far, 0..3).await.unwrap(), "far");
    let nothing = blobs.put(job(1), Sha256Digest::of("nothing"), &incoming.path().join("nothing")).await;
    assert!(matches!(nothing, Err(BlobError::Io(_))));

    // After a kill, incoming files are removed and stored ones are kept.
    let left = incoming.keep();
    let blobs = Blobs::folder(data.path()).unwrap();
    assert!(left.exists(), "another process may be storing them");
    blobs.remove_unfinished().unwrap();
    assert!(!left.exists());
    assert_eq!(text(&blobs, job(1), near, 0..4).await.unwrap(), "near");
}

#[tokio::test]
async fn files_stay_in_the_incoming_folder_until_they_are_complete() {
    let data = tempfile::tempdir().unwrap();
    let blobs = Blobs::folder(data.path()).unwrap();
    let (incoming, to) =
        (data.path().join(INCOMING), job_folder(data.path(), job(1)).join(Sha256Digest::of("a").to_string()));
    let count = |folder: &Path| fs::read_dir(folder).map_or(0, Iterator::count);
    let cut_off = write_atomically(&to, &incoming, |file| {
        file.write_all(b"half")?;
        assert_eq!((count(&incoming), count(to.parent().unwrap())), (1, 0));
        Err(io::Error::other("killed"))
    });
    assert!(cut_off.is_err() && count(&incoming) == 0 && count(to.parent().unwrap()) == 0);
    write_atomically(&to, &incoming, |file| file.write_all(b"whole")).unwrap();
    assert_eq!((fs::read_to_string(&to).unwrap(), count(&incoming)), ("whole".to_owned(), 0));

    // As left by version 0.1.0.
    fs::write(to.with_extension("pack#1"), "half").unwrap();
    blobs.erase(job(1)).await.unwrap();
    assert!(!to.parent().unwrap().exists());
}

#[tokio::test]
async fn an_artifact_is_removed_whether_packed_or_not() {
    let data = tempfile::tempdir().unwrap();
    let blobs = Blobs::folder(data.path()).unwrap();
    let file = data.path().join("file");
    for (hash, content) in [(Sha256Digest::of("a"), "plain".to_owned()), (Sha256Digest::of("b"), "[0.25]".repeat(2000))]
    {
        fs::write(&file, content).unwrap();
        blobs.put(job(1), hash, &file).await.unwrap();
        assert_eq!(usage(&blobs).await.len(), 1);
        blobs.remove(job(1), hash).await.unwrap();
        blobs.remove(job(1), hash).await.unwrap();
        assert_eq!(usage(&blobs).await, HashMap::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_ranges_of_a_packed_artifact_share_one_copy() {
    let data = tempfile::tempdir().unwrap();
    let blobs = Blobs::folder(data.path()).unwrap();
    let file = data.path().join("plots.json");
    fs::write(&file, format!("[{}]", "0.25, ".repeat(20_000))).unwrap();
    let hash = Sha256Digest::of("x");
    blobs.put(job(1), hash, &file).await.unwrap();
    blobs.pack(job(1), hash).await.unwrap();
    let readers: Vec<_> = (0..64)
        .map(|at| {
            let blobs = blobs.clone();
            tokio::spawn(async move { blobs.read(job(1), hash, at..at + 1).await.unwrap() })
        })
        .collect();
    let mut streams = Vec::new();
    for reader in readers {
        streams.push(reader.await.unwrap());
    }
    // All readers are open: their copies would be open files.
    let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let copies =
        open.filter(|target| target.starts_with(data.path()) && target.to_string_lossy().contains("(deleted)"));
    assert_eq!(copies.count(), 1);
    for stream in streams {
        let pieces: Vec<Bytes> = stream.try_collect().await.unwrap();
        assert_eq!(pieces.concat().len(), 1);
    }
    blobs.erase(job(1)).await.unwrap();
    assert!(matches!(blobs.read(job(1), hash, 0..1).await, Err(BlobError::Missing)), "no copy outlives the artifact");
}

#[tokio::test]
async fn a_trace_is_unpacked_once_for_its_check_and_its_audit() {
    let data = tempfile::tempdir().unwrap();
    let blobs = Blobs::folder(data.path()).unwrap();
    let folder = blobs.incoming().unwrap();
    let place = |name: &str| folder.path().join(name);
    let stored = async |content: &str| {
        let sha256 = Sha256Digest::of(content);
        fs::write(place("plain"), content).unwrap();
        let form = Blobs::packed_form(&place("plain")).unwrap().unwrap();
        fs::write(place(&sha256.to_string()), form).unwrap();
        blobs.put_packed(job(1), sha256, &place(&sha256.to_string()), 1 << 20).await.unwrap();
        sha256
    };
    let copied = async |sha256, name: &str| {
        let copied = blobs.copy_trace_to(job(1), sha256, &place(name)).await;
        copied.map(|()| fs::read_to_string(place(name)).unwrap())
    };
    let trace = format!("PAR1{}", "0.5, ".repeat(9_000));
    let sha256 = stored(&trace).await;
    // What is stored can't be unpacked any more, so what is read was unpacked before.
    let [_, packed] = Blobs::relative_paths(job(1), sha256);
    let mut damaged = fs::read(data.path().join(&packed)).unwrap();
    damaged[crate::pack::HEAD_BYTES..].fill(0);
    fs::write(data.path().join(&packed), damaged).unwrap();
    assert_eq!(copied(sha256, "first").await.unwrap(), trace);
    assert!(matches!(copied(sha256, "second").await, Err(BlobError::Damaged(_))), "it is kept no longer");

    let other = stored(&format!("[{}]", "0.5, ".repeat(9_000))).await;
    assert!(copied(other, "other").await.unwrap().starts_with('['), "other files are read as they are stored");
    let removed = stored(&format!("PAR1{}", "0.6, ".repeat(9_000))).await;
    blobs.remove(job(1), removed).await.unwrap();
    assert!(matches!(copied(removed, "removed").await, Err(BlobError::Missing)));
}
