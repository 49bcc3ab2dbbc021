//! Statements about an episode's rendered log or video, which are signed apart from the job's statement.

use std::collections::{BTreeMap, BTreeSet};

use assay_jail::UntrustedFolder;
use assay_model::Sha256Digest;
use assay_model::lane::files;
use assay_report::attest::{self, Evidence, PublishedKeys, RenderingStatement, sha256_in};
use assay_worker::STATEMENT_FILE;

use super::evidence::{EvidenceCheck, PresentEvidence, evidence};
use super::lines::{line, refuse, signer};
use super::rendered_files::RenderedFiles;
use super::trusted_keys::TrustedKeys;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::results_folder::MAX_STATEMENT_BYTES;

/// Folder that contains the episodes' folders.
const EPISODES: &str = "episodes";
/// Suffix of the names of statements.
const STATEMENT_SUFFIX: &str = ".intoto.json";
/// Maximum number of files below a folder of evidence: 10,000 episodes have fewer.
const MAX_FILES: usize = 200_000;

/// Verifies a statement about an episode's rendered log or video, such as `episodes/NNN/video.intoto.json`. It contains
/// no numbers; those are in the job's own statement, which it names.
pub(super) fn verify_rendering(
    folder: &UntrustedFolder,
    file: &[u8],
    (trusted, keyid): (&TrustedKeys, Option<&str>),
) -> Result<ExitStatus, Failure> {
    let (statement, key) = match attest::check_rendering(file, &trusted.keys, keyid) {
        Ok(checked) => checked,
        Err(error) => return trusted.refuse(&error),
    };
    let mut text = signer(&key);
    let rendered: Vec<_> = statement.subject.iter().map(Evidence::of).collect();
    let found = match evidence(&rendered, folder).or_usage()? {
        EvidenceCheck::Unchanged(found) => found,
        EvidenceCheck::Changed(changed) => {
            return refuse("evidence", &format!("{changed} is not the file that was signed"));
        }
    };
    line(&mut text, "evidence", &found.summary());
    let (about, job) = (&statement.predicate, UntrustedFolder::open(&folder.path().join("../..")).or_usage()?);
    let from = [Evidence { name: files::TRACE.to_owned(), sha256: sha256_in(&about.recording) }];
    let mut absent = found.absent.clone();
    match (
        evidence(&from, folder).or_usage()?,
        evidence(&[Evidence { name: STATEMENT_FILE.to_owned(), sha256: sha256_in(&about.statement.digest) }], &job)
            .or_usage()?,
    ) {
        (EvidenceCheck::Changed(changed), _) => {
            return refuse("recording", &format!("{changed} is not the recording that it was rendered from"));
        }
        (_, EvidenceCheck::Changed(changed)) => {
            return refuse("job", &format!("{changed} is not the statement that it belongs to"));
        }
        (EvidenceCheck::Unchanged(recording), EvidenceCheck::Unchanged(job)) => {
            absent.extend(recording.absent.iter().cloned());
            absent.extend(job.absent.iter().map(|name| format!("{name} of the job")));
            let describe = |found: &PresentEvidence, present: &str| {
                if found.here > 0 { present.to_owned() } else { "missing".to_owned() }
            };
            line(&mut text, "recording", &describe(&recording, "the one that it was rendered from"));
            line(&mut text, "job", &describe(&job, "the statement beside the report is the one that it belongs to"));
        }
    }
    if let Some(worker) = &about.worker {
        let by = format!("worker {worker}, which the service did not check");
        line(&mut text, "rendered by", &assay_model::sanitise(&by, usize::MAX));
    }
    let subject = format!("episode {} of job {}", about.episode, about.job_id);
    line(&mut text, "subject", &assay_model::sanitise(&subject, usize::MAX));
    let complete = absent.is_empty();
    let missing = format!("INCOMPLETE, missing: {}", absent.join(", "));
    line(
        &mut text,
        "result",
        &if complete { "VERIFIED".to_owned() } else { assay_model::sanitise(&missing, usize::MAX) },
    );
    crate::commands::stdout::print(&text);
    Ok(if complete { ExitStatus::Success } else { ExitStatus::Inconclusive })
}

/// The result of checking the files that the job's statement does not list.
pub(super) enum RenderingsCheck {
    /// Every statement about a rendering is valid.
    Valid(RenderedFiles),
    /// A statement is invalid, for this reason.
    Invalid(String),
}

/// Checks all files below `folder/episodes` that are not in `listed`. A statement about a rendering must be signed by a
/// trusted key and name this job (by the digest `job` of its statement) and episode, and its files must match.
pub(super) fn check_all(
    listed: &[Evidence],
    (job, known, keyid): (Sha256Digest, &PublishedKeys, Option<&str>),
    folder: &UntrustedFolder,
) -> anyhow::Result<RenderingsCheck> {
    let by_name: BTreeMap<&str, &Evidence> = listed.iter().map(|file| (file.name.as_str(), file)).collect();
    let mut others: BTreeSet<String> = match folder.kind(EPISODES) {
        None => BTreeSet::new(),
        Some(_) => folder.list(EPISODES, MAX_FILES)?.into_iter().collect(),
    };
    others.retain(|name| !by_name.contains_key(name.as_str()));
    let mut found = RenderedFiles::default();
    let statements: Vec<_> = others.iter().filter(|name| name.ends_with(STATEMENT_SUFFIX)).cloned().collect();
    for name in statements {
        let place = name.rsplit_once('/').map_or("", |(place, _)| place);
        let statement = match attest::check_rendering(&folder.read(&name, MAX_STATEMENT_BYTES)?, known, keyid) {
            Ok((statement, _)) => statement,
            Err(error) => return Ok(RenderingsCheck::Invalid(format!("{name}: {error}"))),
        };
        let recording = by_name.get(format!("{place}/{}", files::TRACE).as_str()).copied();
        if !is_about(&statement, job, recording) {
            return Ok(RenderingsCheck::Invalid(format!("{name} is about another job or episode")));
        }
        let rendered: Vec<_> = statement.subject.iter().map(Evidence::of).collect();
        match evidence(&rendered, &folder.folder(place)?)? {
            EvidenceCheck::Unchanged(present) => {
                found.signed += present.here;
                found.absent.extend(present.absent.iter().map(|name| format!("{place}/{name}")));
            }
            EvidenceCheck::Changed(changed) => {
                return Ok(RenderingsCheck::Invalid(format!("{place}/{changed} is not the file that was signed")));
            }
        }
        others.remove(&name);
        for file in &rendered {
            others.remove(&format!("{place}/{}", file.name));
        }
    }
    found.unsigned = others.into_iter().collect();
    Ok(RenderingsCheck::Valid(found))
}

/// Returns true if the statement about a rendering names this job's statement and this recording.
fn is_about(statement: &RenderingStatement, job: Sha256Digest, recording: Option<&Evidence>) -> bool {
    let about = &statement.predicate;
    let rendered_from = sha256_in(&about.recording);
    let is_recording = match recording {
        Some(file) => rendered_from.is_some() && rendered_from == file.sha256,
        None => !about.recording.contains_key("sha256"),
    };
    sha256_in(&about.statement.digest) == Some(job) && is_recording
}
