//! Statements about what was drawn of an episode, apart and beside the job's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};
use assay_model::Sha256Digest;
use assay_model::lane::files;
use assay_report::attest::{self, Evidence, PublishedKeys, RenderingStatement, sha256_in};
use assay_worker::STATEMENT_FILE;

use super::beside::Beside;
use super::evidence::{EvidenceCheck, PresentEvidence, evidence};
use super::lines::{line, refuse, signer};
use super::signed_file::read;
use crate::exit::{Code, Failure, OrFail};

/// The folder of the episodes' folders.
const EPISODES: &str = "episodes";
/// Suffix of statements.
const STATEMENT_END: &str = ".intoto.json";
/// Files below a folder of evidence that are looked at: 10,000 episodes have fewer.
const MAX_FILES: usize = 200_000;

/// A statement about what was drawn of an episode: `episodes/NNN/video.intoto.json`. It says nothing of numbers; the
/// job's own statement does, which it names.
pub(super) fn rendering(
    folder: &Path,
    file: &[u8],
    (known, keyid): (&PublishedKeys, Option<&str>),
) -> Result<Code, Failure> {
    let (statement, key) = match attest::check_rendering(file, known, keyid) {
        Ok(checked) => checked,
        Err(error) => return refuse("signature", &error),
    };
    let mut text = signer(&key);
    let drawn: Vec<_> = statement.subject.iter().map(Evidence::of).collect();
    let found = match evidence(&drawn, folder).usage()? {
        EvidenceCheck::Unchanged(found) => found,
        EvidenceCheck::Changed(changed) => {
            return refuse("evidence", &format!("{changed} is not the file that was signed"));
        }
    };
    line(&mut text, "evidence", &found.words());
    let (about, job) = (&statement.predicate, folder.join("../.."));
    let from = [Evidence { name: files::TRACE.to_owned(), sha256: sha256_in(&about.recording) }];
    match (
        evidence(&from, folder).usage()?,
        evidence(&[Evidence { name: STATEMENT_FILE.to_owned(), sha256: sha256_in(&about.statement.digest) }], &job)
            .usage()?,
    ) {
        (EvidenceCheck::Changed(changed), _) => {
            return refuse("recording", &format!("{changed} is not the one that it was drawn from"));
        }
        (_, EvidenceCheck::Changed(changed)) => {
            return refuse("job", &format!("{changed} is not the statement that it belongs to"));
        }
        (EvidenceCheck::Unchanged(recording), EvidenceCheck::Unchanged(job)) => {
            let of = |found: &PresentEvidence, there: &str| {
                if found.here > 0 { there.to_owned() } else { "not here".to_owned() }
            };
            line(&mut text, "recording", &of(&recording, "the one that it was drawn from"));
            line(&mut text, "job", &of(&job, "the statement beside the report is the one that it belongs to"));
        }
    }
    let subject = format!("episode {} of job {}", about.episode, about.job_id);
    line(&mut text, "subject", &assay_model::sanitise(&subject, usize::MAX));
    let complete = found.absent.is_empty();
    let missing = format!("INCOMPLETE, not here: {}", found.absent.join(", "));
    line(
        &mut text,
        "result",
        &if complete { "VERIFIED".to_owned() } else { assay_model::sanitise(&missing, usize::MAX) },
    );
    crate::commands::stdout::print(&text);
    Ok(if complete { Code::Success } else { Code::Inconclusive })
}

/// The result of checking the files besides those of the job's statement.
pub(super) enum BesideCheck {
    /// Every statement of a drawing holds.
    Valid(Beside),
    /// A statement does not hold, for this reason.
    Invalid(String),
}

/// Looks at all files below `folder/episodes` that are not in `listed`: a statement of a drawing must be by a key that
/// is trusted and about this job (the hash of whose statement is `job`) and episode, its files the ones that were
/// signed.
pub(super) fn beside(
    listed: &[Evidence],
    (job, known, keyid): (Sha256Digest, &PublishedKeys, Option<&str>),
    folder: &Path,
) -> anyhow::Result<BesideCheck> {
    let by_name: BTreeMap<&str, &Evidence> = listed.iter().map(|file| (file.name.as_str(), file)).collect();
    let mut others = names_below(folder)?;
    others.retain(|name| !by_name.contains_key(name.as_str()));
    let mut beside = Beside::default();
    let statements: Vec<_> = others.iter().filter(|name| name.ends_with(STATEMENT_END)).cloned().collect();
    for name in statements {
        let place = name.rsplit_once('/').map_or("", |(place, _)| place);
        let statement = match attest::check_rendering(&read(&folder.join(&name))?, known, keyid) {
            Ok((statement, _)) => statement,
            Err(error) => return Ok(BesideCheck::Invalid(format!("{name}: {error}"))),
        };
        let recording = by_name.get(format!("{place}/{}", files::TRACE).as_str()).copied();
        if !is_about(&statement, job, recording) {
            return Ok(BesideCheck::Invalid(format!("{name} is about another job or episode")));
        }
        let drawn: Vec<_> = statement.subject.iter().map(Evidence::of).collect();
        match evidence(&drawn, &folder.join(place))? {
            EvidenceCheck::Unchanged(found) => {
                beside.signed += found.here;
                beside.absent.extend(found.absent.iter().map(|name| format!("{place}/{name}")));
            }
            EvidenceCheck::Changed(changed) => {
                return Ok(BesideCheck::Invalid(format!("{place}/{changed} is not the file that was signed")));
            }
        }
        others.remove(&name);
        for file in &drawn {
            others.remove(&format!("{place}/{}", file.name));
        }
    }
    beside.unsigned = others.into_iter().collect();
    Ok(BesideCheck::Valid(beside))
}

/// Whether a drawing's statement names this job's statement and this recording.
fn is_about(statement: &RenderingStatement, job: Sha256Digest, recording: Option<&Evidence>) -> bool {
    let about = &statement.predicate;
    let drawn_from = sha256_in(&about.recording);
    let is_recording = match recording {
        Some(file) => drawn_from.is_some() && drawn_from == file.sha256,
        None => !about.recording.contains_key("sha256"),
    };
    sha256_in(&about.statement.digest) == Some(job) && is_recording
}

/// Names of all that lies below `folder/episodes` and is no folder, relative to `folder`.
fn names_below(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let (mut names, mut open) = (BTreeSet::new(), vec![EPISODES.to_owned()]);
    while let Some(place) = open.pop() {
        let path = folder.join(&place);
        let entries = match fs::read_dir(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && place == EPISODES => return Ok(names),
            entries => entries.with_context(|| format!("can't read {}", path.display()))?,
        };
        for entry in entries {
            let entry = entry?;
            let name = format!("{place}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                open.push(name);
            } else {
                names.insert(name);
            }
            if names.len() + open.len() > MAX_FILES {
                return Err(anyhow!("{} has more than {MAX_FILES} files", folder.join(EPISODES).display()));
            }
        }
    }
    Ok(names)
}
