//! The entries of a job's archive.

use std::path::PathBuf;

use assay_model::{Artifact, EpisodeResult, JobId, Sha256Digest};
use assay_store::{ArchiveFile, ArchiveFileError, JobRecord, SignedDocument};
use bytes::Bytes;

use crate::blob_error::archive_error;
use crate::disk::disk_error;
use crate::http::{ApiError, Caller};
use crate::remembered_scenarios::LocatedFile;
use crate::report_assets::{MAX_EPISODES, report_page};
use crate::state::App;
use crate::views::add_renderings;
use crate::worker_protocol::version_files;

/// Names of files in a results folder.
const REPORT: &str = "report.json";
const STATEMENT: &str = "report.intoto.json";
const PAGE: &str = "report.html";
const POLICY: &str = "policy.zip";

/// The parts of a job that an archive has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArchiveParts {
    /// True for the files of the episodes.
    pub(crate) evidence: bool,
    /// True for the policy.
    pub(crate) policy: bool,
}

/// A file in an archive.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) source: Source,
}

/// The place of a file's content.
#[derive(Debug)]
pub(super) enum Source {
    /// In memory.
    Bytes(Bytes),
    /// A file of the server.
    File(PathBuf),
    /// The archive of the policy.
    Policy(ArchiveFile),
    /// Evidence of the job.
    Evidence(JobId, Sha256Digest),
}

impl ArchiveParts {
    /// Returns the parts that the caller may have: only the owner and administrators get the policy.
    pub(crate) fn of(caller: &Caller, record: &JobRecord, evidence: bool) -> Self {
        let policy = caller.write_scope().is_none_or(|account| *account == record.account);
        Self { evidence, policy }
    }
}

/// Returns the entries of a completed job's archive.
///
/// # Errors
/// A document, the scenario or the policy cannot be read.
pub(super) async fn entries(app: &App, record: &JobRecord, parts: ArchiveParts) -> Result<Vec<Entry>, ApiError> {
    let mut episodes = app.records.episodes(record.header.job_id, 0, MAX_EPISODES).await?;
    add_renderings(app, record, &mut episodes).await?;
    let mut entries = documents(app, record, &episodes).await?;
    entries.extend(scenario(app, record.header.scenario_digest).await?);
    if parts.policy {
        entries.extend(policy(app, record).await?);
    }
    if parts.evidence {
        let job = record.header.job_id;
        entries.extend(episodes.into_iter().flat_map(|episode| episode.evidence).map(|file| evidence(job, file)));
    }
    Ok(entries)
}

/// Returns the report, its statement and its page.
async fn documents(app: &App, record: &JobRecord, episodes: &[EpisodeResult]) -> Result<Vec<Entry>, ApiError> {
    let mut entries = Vec::new();
    for (name, document) in [(REPORT, SignedDocument::Report), (STATEMENT, SignedDocument::Statement)] {
        let text = app.records.signed_document(record.header.job_id, document).await?;
        // Missing only if the job was erased a moment ago.
        entries.push(in_memory(name, text.ok_or_else(|| ApiError::not_found("job"))?));
    }
    let report = record.report(episodes);
    entries.push(in_memory(PAGE, report_page(app, report, None).await?.into_bytes()));
    Ok(entries)
}

/// Returns the files of the scenario's version and of its robots, if this server has them.
async fn scenario(app: &App, version: Sha256Digest) -> Result<Vec<Entry>, ApiError> {
    if app.scenario_files.scenario(version).zip(app.scenario_files.robots(version)).is_none() {
        return Ok(Vec::new());
    }
    let files = version_files(app, version).await?;
    let entry = |file: &LocatedFile| Entry {
        name: file.file.path.clone(),
        size: file.file.size_bytes,
        source: Source::File(file.path.clone()),
    };
    Ok(files.iter().map(entry).collect())
}

/// Returns the policy's archive, unless the policy is a server or its archive was removed.
async fn policy(app: &App, record: &JobRecord) -> Result<Option<Entry>, ApiError> {
    let Some(path) = record.policy_path.as_deref().filter(|_| record.removed.policy_at.is_none()) else {
        return Ok(None);
    };
    let file = match app.archives.open(path).await {
        Ok(file) => file,
        Err(ArchiveFileError::Missing) => return Ok(None),
        Err(error) => return Err(archive_error(app, error)),
    };
    let about = tokio::fs::metadata(file.path()).await.map_err(|error| disk_error(app, &error))?;
    Ok(Some(Entry { name: POLICY.to_owned(), size: about.len(), source: Source::Policy(file) }))
}

fn evidence(job: JobId, file: Artifact) -> Entry {
    Entry { name: file.name, size: file.size_bytes, source: Source::Evidence(job, file.sha256) }
}

fn in_memory(name: &str, content: Vec<u8>) -> Entry {
    Entry { name: name.to_owned(), size: content.len() as u64, source: Source::Bytes(content.into()) }
}
