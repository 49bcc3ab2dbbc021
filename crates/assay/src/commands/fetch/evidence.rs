//! Downloads the files of evidence. Their addresses are valid for a limited time, so they are asked for page by page,
//! and again when they have expired.

use assay_model::Sha256Digest;
use assay_worker::Cancel;
use indicatif::ProgressBar;
use serde::Deserialize;

use super::failure::wrong;
use super::place::{Fetched, JobResource};
use crate::commands::model::bar;
use crate::exit::{Failure, OrFail};
use crate::service_client::{Download, ServiceClient, ServiceResponse};

/// Episodes on a page.
const PAGE: usize = 50;
/// Maximum number of attempts at a request that the service asks to repeat.
const ATTEMPTS: u32 = 10;
/// Maximum pause between them, in seconds.
const MAX_PAUSE_S: u64 = 60;
/// Status of an address that has expired.
const EXPIRED: u16 = 403;

/// Numbers of files of evidence.
#[derive(Debug, Default)]
pub(super) struct FetchedFiles {
    pub(super) all: usize,
    pub(super) new: usize,
}

/// A page of episodes, as far as it is needed.
#[derive(Debug, Deserialize)]
struct Page {
    episodes: Vec<ListedEpisode>,
    total: usize,
}

#[derive(Debug, Deserialize)]
struct ListedEpisode {
    evidence: Vec<EvidenceFile>,
}

#[derive(Debug, Deserialize)]
struct EvidenceFile {
    name: String,
    sha256: Sha256Digest,
    size_bytes: u64,
    url: Option<String>,
}

/// Downloads the evidence that the folder does not have yet.
pub(super) fn download(
    client: &ServiceClient,
    resource: &JobResource,
    to: &Fetched,
    cancel: &Cancel,
) -> Result<FetchedFiles, Failure> {
    let (mut count, mut offset, mut new_before) = (FetchedFiles::default(), 0, None);
    loop {
        let page = page(client, resource, offset)?;
        let files = || page.episodes.iter().flat_map(|episode| &episode.evidence);
        let bar = bar("downloading", files().map(|file| file.size_bytes).sum());
        let mut has_expired = false;
        for file in files() {
            if cancel.is_cancelled() {
                return Err(Failure::Interrupted);
            }
            count.new += match fetch(client, file, to, &bar)? {
                Outcome::Kept => 0,
                Outcome::New => 1,
                Outcome::Expired => {
                    has_expired = true;
                    break;
                }
            };
        }
        bar.finish_and_clear();
        // What was downloaded is kept: the next round of the same page gets further.
        if has_expired {
            if new_before == Some(count.new) {
                return Err(wrong("an address of a file", "is not accepted by it"));
            }
            new_before = Some(count.new);
            continue;
        }
        new_before = None;
        count.all += files().count();
        offset += page.episodes.len();
        if page.episodes.is_empty() || offset >= page.total {
            return Ok(count);
        }
    }
}

fn page(client: &ServiceClient, resource: &JobResource, offset: usize) -> Result<Page, Failure> {
    let path = format!("{}/episodes{}", resource.path, resource.query(&format!("limit={PAGE}&offset={offset}")));
    let response = patiently(|| client.get(&path).or_internal())?;
    serde_json::from_value(response.success()?).map_err(|error| wrong("a list of episodes", &error.to_string()))
}

/// Repeats a request as long as the service asks for that.
fn patiently(request: impl Fn() -> Result<ServiceResponse, Failure>) -> Result<ServiceResponse, Failure> {
    let mut attempt = 1;
    loop {
        let response = request()?;
        match response.retry_after {
            Some(pause) if matches!(response.status, 429 | 503) && attempt < ATTEMPTS => {
                std::thread::sleep(pause.min(std::time::Duration::from_secs(MAX_PAUSE_S)));
                attempt += 1;
            }
            _ => return Ok(response),
        }
    }
}

/// The outcome for one file.
enum Outcome {
    /// It was there.
    Kept,
    /// It was downloaded.
    New,
    /// Its address is no longer valid.
    Expired,
}

fn fetch(client: &ServiceClient, file: &EvidenceFile, to: &Fetched, bar: &ProgressBar) -> Result<Outcome, Failure> {
    let EvidenceFile { name, sha256, size_bytes, url } = file;
    if !name.starts_with("episodes/") {
        return Err(wrong(&format!("a file {name:?}"), "is not evidence of an episode"));
    }
    if to.report.sha256_of(name).is_some_and(|expected| expected != *sha256) {
        return Err(wrong(name, "is not the file that the report lists"));
    }
    bar.inc(*size_bytes);
    if to.folder.sha256(name).is_ok_and(|found| found == *sha256) {
        return Ok(Outcome::Kept);
    }
    let url = url.as_deref().ok_or_else(|| wrong(name, "is no longer there: the evidence was removed"))?;
    let mut refused = None;
    let written = to.write(name, |target| {
        let mut hashed = assay_model::Sha256Writer::default();
        let mut both = Tee { target, hash: &mut hashed };
        match client.download_signed(url, *size_bytes, &mut both)? {
            Download::Complete if hashed.finish() == *sha256 => Ok(()),
            Download::Complete => Err(wrong(name, "does not have its SHA-256")),
            Download::Refused(response) => {
                let failure = response.failure();
                refused = Some(response.status);
                Err(failure)
            }
        }
    });
    match (written, refused) {
        (Ok(()), _) => Ok(Outcome::New),
        (Err(_), Some(EXPIRED)) => Ok(Outcome::Expired),
        (Err(failure), _) => Err(failure),
    }
}

/// Writes to a file and to a hash.
struct Tee<'a> {
    target: &'a mut dyn std::io::Write,
    hash: &'a mut assay_model::Sha256Writer,
}

impl std::io::Write for Tee<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.target.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.target.flush()
    }
}
