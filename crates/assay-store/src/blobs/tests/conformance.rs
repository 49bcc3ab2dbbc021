//! Conformance suite that every backend passes.

use std::collections::HashSet;
use std::fs;

use futures_util::future::join_all;

use super::*;
use crate::PackedFormError;

/// Variable with the endpoint of a server that runs already, which has a bucket and a key as those of [`S3Server`].
const SERVER: &str = "ASSAY_TEST_S3";

/// Runs a case on a folder and on a bucket.
macro_rules! on_every_backend {
    ($($case:ident),+ $(,)?) => {
        mod folder {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let data = tempfile::tempdir().unwrap();
                super::$case(&super::Blobs::folder(data.path()).unwrap()).await;
            })+
        }

        mod bucket {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let data = tempfile::tempdir().unwrap();
                if let Ok(endpoint) = std::env::var(super::SERVER) {
                    let storage = super::storage_at(endpoint.trim_start_matches("http://"), stringify!($case));
                    super::$case(&super::Blobs::bucket(data.path(), storage, true).unwrap()).await;
                    return;
                }
                let server = super::S3Server::start();
                super::$case(&super::bucket(data.path(), server.address())).await;
                let keys = server.keys();
                assert!(keys.iter().all(|key| key.starts_with("lab/jobs/")), "only below the prefix: {keys:?}");
            })+
        }
    };
}

on_every_backend!(
    artifacts_are_kept_by_job_and_hash,
    compressible_artifacts_are_packed_and_read_unchanged,
    large_artifacts_are_read_in_any_range,
    an_artifact_erased_while_it_is_stored_and_packed_is_whole_or_gone,
    an_artifact_is_removed_whether_packed_or_not,
    a_file_that_does_not_exist_is_not_stored,
    an_empty_artifact_is_kept,
    a_packed_form_is_stored_if_it_is_that_of_the_artifact,
);

async fn is_missing(blobs: &Blobs, job: JobId, sha256: Sha256Digest) -> bool {
    let size = matches!(blobs.size(job, sha256).await, Err(BlobError::Missing));
    let content = matches!(text(blobs, job, sha256, 0..1).await, Err(BlobError::Missing));
    assert_eq!(size, content);
    size
}

async fn artifacts_are_kept_by_job_and_hash(blobs: &Blobs) {
    let folder = blobs.incoming().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "evidence").unwrap();
    let (one, two) = (Sha256Digest::of("one"), Sha256Digest::of("two"));
    for (id, sha256) in [(1, one), (1, one), (1, two), (2, one)] {
        blobs.put(job(id), sha256, &file).await.unwrap();
        blobs.settle(job(id)).await.unwrap();
    }
    assert_eq!(blobs.size(job(1), one).await.unwrap(), 8);
    assert_eq!(text(blobs, job(1), one, 0..8).await.unwrap(), "evidence");
    assert_eq!(text(blobs, job(1), one, 2..4).await.unwrap(), "id");
    assert!(is_missing(blobs, job(2), two).await, "each job has its own artifacts");

    let copy = folder.path().join("copy");
    blobs.copy_to(job(1), one, &copy).await.unwrap();
    assert_eq!(fs::read_to_string(copy).unwrap(), "evidence");
    let nowhere = blobs.copy_to(job(2), two, &folder.path().join("nothing")).await;
    assert!(matches!(nowhere, Err(BlobError::Missing)));

    blobs.retain(job(1), HashSet::from([two])).await.unwrap();
    assert!(is_missing(blobs, job(1), one).await);
    assert_eq!(blobs.size(job(1), two).await.unwrap(), 8);
    blobs.erase(job(1)).await.unwrap();
    blobs.erase(job(1)).await.unwrap();
    assert!(is_missing(blobs, job(1), two).await);
    assert_eq!(blobs.size(job(2), one).await.unwrap(), 8, "the artifacts of another job are kept");
}

async fn compressible_artifacts_are_packed_and_read_unchanged(blobs: &Blobs) {
    let folder = blobs.incoming().unwrap();
    let file = folder.path().join("plots.json");
    let json = format!("[{}]", "0.25, ".repeat(2000));
    fs::write(&file, &json).unwrap();
    let hash = Sha256Digest::of("a");
    for _ in 0..2 {
        blobs.put(job(1), hash, &file).await.unwrap();
        blobs.settle(job(1)).await.unwrap();
        assert_eq!(text(blobs, job(1), hash, 0..json.len() as u64).await.unwrap(), json);
        blobs.pack(job(1), hash).await.unwrap();
    }
    assert_eq!(blobs.size(job(1), hash).await.unwrap(), json.len() as u64);
    assert_eq!(text(blobs, job(1), hash, 0..json.len() as u64).await.unwrap(), json);
    assert_eq!(text(blobs, job(1), hash, 7..19).await.unwrap(), json[7..19]);
    let copy = folder.path().join("copy");
    blobs.copy_to(job(1), hash, &copy).await.unwrap();
    assert_eq!(fs::read_to_string(copy).unwrap(), json);
    let address = blobs.download_address(job(1), hash, "plots.json", std::time::Duration::from_secs(60)).await;
    assert_eq!(address.unwrap(), None, "only this program can unpack");
    blobs.retain(job(1), HashSet::from([hash])).await.unwrap();
    assert_eq!(blobs.size(job(1), hash).await.unwrap(), json.len() as u64, "it is kept under its original name");
    blobs.erase(job(1)).await.unwrap();
    assert!(is_missing(blobs, job(1), hash).await);
}

/// A file that is uploaded in several parts.
async fn large_artifacts_are_read_in_any_range(blobs: &Blobs) {
    let folder = blobs.incoming().unwrap();
    let file = folder.path().join("video.mp4");
    let line = |number: usize| format!("line {number:10}\n");
    let content: String = (0..1_200_000).map(line).collect();
    assert!(content.len() > 17 << 20);
    fs::write(&file, &content).unwrap();
    let hash = Sha256Digest::of("video");
    blobs.put(job(1), hash, &file).await.unwrap();
    blobs.settle(job(1)).await.unwrap();
    assert_eq!(blobs.size(job(1), hash).await.unwrap(), content.len() as u64);
    assert_eq!(text(blobs, job(1), hash, 0..content.len() as u64).await.unwrap(), content);
    for start in [0, 1, (8 << 20) - 3, content.len() - 9] {
        let end = (start + 70_000).min(content.len());
        assert_eq!(text(blobs, job(1), hash, start as u64..end as u64).await.unwrap(), content[start..end]);
    }
}

async fn an_artifact_erased_while_it_is_stored_and_packed_is_whole_or_gone(blobs: &Blobs) {
    let folder = blobs.incoming().unwrap();
    let file = folder.path().join("plots.json");
    let json = format!("[{}]", "0.25, ".repeat(20_000));
    fs::write(&file, &json).unwrap();
    let hash = Sha256Digest::of("a");
    for _ in 0..8 {
        let (stored, packed, erased) =
            tokio::join!(blobs.put(job(1), hash, &file), blobs.pack(job(1), hash), blobs.erase(job(1)));
        stored.unwrap();
        packed.unwrap();
        erased.unwrap();
        match text(blobs, job(1), hash, 0..json.len() as u64).await {
            Ok(found) => assert_eq!(found, json),
            Err(error) => assert!(matches!(error, BlobError::Missing), "{error}"),
        }
        blobs.erase(job(1)).await.unwrap();
        assert!(is_missing(blobs, job(1), hash).await);
    }
}

async fn an_artifact_is_removed_whether_packed_or_not(blobs: &Blobs) {
    let folder = blobs.incoming().unwrap();
    let file = folder.path().join("file");
    for (hash, content) in [(Sha256Digest::of("a"), "plain".to_owned()), (Sha256Digest::of("b"), "[0.25]".repeat(2000))]
    {
        fs::write(&file, content).unwrap();
        blobs.put(job(1), hash, &file).await.unwrap();
        assert!(!is_missing(blobs, job(1), hash).await);
        blobs.remove(job(1), hash).await.unwrap();
        blobs.remove(job(1), hash).await.unwrap();
        assert!(is_missing(blobs, job(1), hash).await);
    }
}

async fn a_file_that_does_not_exist_is_not_stored(blobs: &Blobs) {
    let nothing = blobs.put(job(1), Sha256Digest::of("nothing"), &blobs.root().join("nothing")).await;
    assert!(matches!(nothing, Err(BlobError::Io(_))));
    assert!(is_missing(blobs, job(1), Sha256Digest::of("nothing")).await);
}

async fn an_empty_artifact_is_kept(blobs: &Blobs) {
    let folder = blobs.incoming().unwrap();
    let (file, hash) = (folder.path().join("empty"), Sha256Digest::of(""));
    fs::write(&file, "").unwrap();
    blobs.put(job(1), hash, &file).await.unwrap();
    blobs.settle(job(1)).await.unwrap();
    assert_eq!(blobs.size(job(1), hash).await.unwrap(), 0);
    let copies = (0..4).map(async |number: u32| {
        let copy = folder.path().join(number.to_string());
        blobs.copy_to(job(1), hash, &copy).await.unwrap();
        assert_eq!(fs::read(copy).unwrap(), b"");
    });
    join_all(copies).await;
}

async fn a_packed_form_is_stored_if_it_is_that_of_the_artifact(blobs: &Blobs) {
    let folder = blobs.incoming().unwrap();
    let content = format!("[{}]", "0.5, ".repeat(9_000));
    let (sha256, length) = (Sha256Digest::of(&content), content.len() as u64);
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let form = Blobs::packed_form(&file("plain", content.as_bytes())).unwrap().unwrap();
    assert!(form.len() < content.len() / 10);
    assert_eq!(Blobs::packed_form(&file("small", b"[0]")).unwrap(), None, "it would not be smaller");
    let put = async |form: &[u8], sha256, limit| {
        let path = file(&format!("form {}", form.len()), form);
        blobs.put_packed(job(1), sha256, &path, limit).await
    };

    let refused = put(&form, sha256, length - 1).await;
    assert!(matches!(refused, Err(PackedFormError::TooLong { .. })), "{refused:?}");
    let refused = put(&form, Sha256Digest::of("other"), length).await;
    assert!(matches!(refused, Err(PackedFormError::OtherContent { found, .. }) if found == sha256), "{refused:?}");
    let (mut claims_more, mut claims_less) = (form.clone(), form.clone());
    claims_more[8..16].copy_from_slice(&(length + 1).to_le_bytes());
    claims_less[8..16].copy_from_slice(&(length - 1).to_le_bytes());
    for damaged in [&form[..0], &form[..form.len() - 1], content.as_bytes(), &claims_more, &claims_less] {
        let refused = put(damaged, sha256, 2 * length).await;
        assert!(matches!(refused, Err(PackedFormError::Damaged(_))), "{refused:?}");
    }
    assert!(is_missing(blobs, job(1), sha256).await);

    for _ in 0..2 {
        put(&form, sha256, length).await.unwrap();
        blobs.settle(job(1)).await.unwrap();
        assert_eq!(blobs.size(job(1), sha256).await.unwrap(), length);
        assert_eq!(text(blobs, job(1), sha256, 0..length).await.unwrap(), content);
    }
}
