//! `assay attest verify|keys|rotate`: verifies signed statements offline, and manages the signing keys.

mod evidence;
mod lines;
mod rendered_files;
mod renderings;
mod trusted_keys;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_api::OsEntropy;
use assay_jail::UntrustedFolder;
use assay_model::{Clock, Sha256Digest, SystemClock};
use assay_policy::{IntakeLimits, intake};
use assay_report::attest::{self, AttestError, KnownKey, VerifiedStatement};
use assay_worker::{STATEMENT_FILE, sha256_of};
use clap::{Args, Subcommand};
use jiff::Timestamp;

use self::evidence::{EvidenceCheck, evidence};
use self::lines::{line, refuse, signer};
use self::renderings::{RenderingsCheck, verify_rendering};
pub(super) use self::trusted_keys::TrustedKeys;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::kept_policy;
use crate::options::{SigningArgs, result_file};
use crate::output::REPORT_JSON;
use crate::results_folder::{self, MAX_STATEMENT_BYTES};
use crate::screen;

#[derive(Debug, Subcommand)]
pub(crate) enum AttestCommand {
    /// Verify a statement offline: its signature, the policy, and every file of evidence beside it
    #[command(
        after_help = "Exit codes: 0 verified, 1 refused: a check failed, 3 incomplete: signed files are missing, 2 \
wrong usage, 4 internal error.

Examples:
  assay attest verify out/run1/report.intoto.json --policy policy.zip
  assay attest verify report.intoto.json --policy policy.zip --keys assay-keys.json --keyid 3f0a..."
    )]
    Verify(AttestVerifyArgs),
    /// List the signing keys, newest first
    Keys {
        #[command(flatten)]
        signing: SigningArgs,
        /// Print JSON, in the format that a service publishes
        #[arg(long)]
        json: bool,
    },
    /// Sign with a new key from now on; old signatures stay valid
    Rotate {
        #[command(flatten)]
        signing: SigningArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AttestVerifyArgs {
    /// The statement: report.intoto.json, or the results folder that contains it
    #[arg(value_parser = result_file(STATEMENT_FILE))]
    file: PathBuf,
    /// The policy that the statement should be about: a zip archive, a folder, or a single .py file
    #[arg(long, value_name = "PATH")]
    policy: Option<PathBuf>,
    /// Keys to trust, as a service publishes them at /.well-known/assay-keys.json [default: your own]
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Trust only the key with this id
    #[arg(long, value_name = "ID")]
    keyid: Option<String>,
    /// Folder of the evidence [default: the folder of the statement]
    #[arg(long, value_name = "DIR")]
    evidence: Option<PathBuf>,
    /// Accept report.json alone: other signed files may be missing
    #[arg(long)]
    allow_missing: bool,
    #[command(flatten)]
    signing: SigningArgs,
}

pub(crate) fn run(command: &AttestCommand) -> Result<ExitStatus, Failure> {
    match command {
        AttestCommand::Verify(arguments) => verify(arguments),
        AttestCommand::Keys { signing, json } => keys(signing, *json),
        AttestCommand::Rotate { signing } => rotate(signing),
    }
}

fn keys(signing: &SigningArgs, as_json: bool) -> Result<ExitStatus, Failure> {
    let published = signing.keyring()?.published().or_internal()?;
    if as_json {
        super::stdout::print(&serde_json::to_string_pretty(&published).or_internal()?);
        return Ok(ExitStatus::Success);
    }
    let day = |at: Timestamp| at.strftime("%Y-%m-%d").to_string();
    let row = |key: &KnownKey| {
        let state = key.retired_at.map_or_else(|| "current".to_owned(), |at| format!("retired {}", day(at)));
        vec![key.keyid.clone(), day(key.created_at), state]
    };
    let rows: Vec<_> = published.keys.iter().map(row).collect();
    super::stdout::print(&screen::layout().table(&["key", "created", "state"], &rows, 0));
    Ok(ExitStatus::Success)
}

fn rotate(signing: &SigningArgs) -> Result<ExitStatus, Failure> {
    let keyring = signing.keyring()?;
    keyring.rotate(&OsEntropy, SystemClock.now()).or_internal()?;
    let published = keyring.published().or_internal()?;
    let current = published.current().map_or("-", |key| &key.keyid);
    super::stdout::print(&format!("the key is now {current}; {} retired", published.keys.len().saturating_sub(1)));
    Ok(ExitStatus::Success)
}

fn verify(arguments: &AttestVerifyArgs) -> Result<ExitStatus, Failure> {
    let (beside, name) = results_folder::beside(&arguments.file).or_usage()?;
    let file = beside.read(&name, MAX_STATEMENT_BYTES);
    let file = file.with_context(|| format!("can't read {}", arguments.file.display())).or_usage()?;
    let folder = match &arguments.evidence {
        Some(folder) => UntrustedFolder::open(folder)
            .with_context(|| format!("--evidence: can't read {}", folder.display()))
            .or_usage()?,
        None => beside,
    };
    let trusted = TrustedKeys::read(arguments.keys.as_deref(), &arguments.signing)?;
    let known = &trusted.keys;
    let checked = match attest::check(&file, known, arguments.keyid.as_deref()) {
        Ok(checked) => checked,
        Err(AttestError::Payload) => {
            ensure_a_rendering_is_meant(arguments)?;
            return verify_rendering(&folder, &file, (&trusted, arguments.keyid.as_deref()));
        }
        Err(error) => return trusted.refuse(&error),
    };
    let mut text = signer(&checked.key);
    match policy_line(arguments, &checked, &folder)? {
        Ok(found) => line(&mut text, "policy", &found),
        Err(error) => return refuse("policy", &error),
    }
    let mut found = match evidence(&checked.statement.predicate.evidence, &folder).or_usage()? {
        EvidenceCheck::Unchanged(found) => found,
        EvidenceCheck::Changed(changed) => {
            return refuse("evidence", &format!("{changed} is not the file that was signed"));
        }
    };
    line(&mut text, "evidence", &found.summary());
    let job = Sha256Digest::of(&file);
    let listed = &checked.statement.predicate.evidence;
    let rendered = match renderings::check_all(listed, (job, known, arguments.keyid.as_deref()), &folder).or_usage()? {
        RenderingsCheck::Valid(rendered) => rendered,
        RenderingsCheck::Invalid(why) => return refuse("rendering", &why),
    };
    line(&mut text, "rendered", &rendered.summary());
    if found.report {
        let report = results_folder::report(&folder.path().join(REPORT_JSON)).or_usage()?.report;
        match attest::recompute(&report) {
            Ok(()) => line(&mut text, "numbers", "verdict, scores and statistics follow from the report's episodes"),
            Err(error) => return refuse("numbers", &error),
        }
    }
    write_content(&mut text, &checked);
    found.absent.extend(rendered.absent.iter().cloned());
    let code = found.write_result(&mut text, &rendered, arguments.allow_missing);
    super::stdout::print(&text);
    Ok(code)
}

/// Refuses a statement about a rendering where a job's own statement is meant: it contains neither policy nor verdict.
fn ensure_a_rendering_is_meant(arguments: &AttestVerifyArgs) -> Result<(), Failure> {
    let is_report = arguments.file.file_name().is_some_and(|name| name == STATEMENT_FILE);
    if arguments.policy.is_none() && !is_report {
        return Ok(());
    }
    Err(Failure::Usage(anyhow!(
        "{} is not a statement about a report: it may be about an episode's log or video, which names no policy and has \
         no verdict",
        arguments.file.display()
    )))
}

/// Writes the verdict and the subject of a statement, and a note about what a signature proves.
fn write_content(text: &mut String, checked: &VerifiedStatement) {
    let predicate = &checked.statement.predicate;
    let verdict = predicate.verdict.map_or_else(|| "none".to_owned(), |verdict| verdict.to_string());
    let why = predicate.reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"));
    line(text, "verdict", &assay_model::sanitise(&format!("{verdict}{why}"), usize::MAX));
    let scenario = &predicate.scenario;
    line(
        text,
        "subject",
        &assay_model::sanitise(
            &format!(
                "{} on {} {}, seed {}, {} episodes",
                predicate.policy_name, scenario.id, scenario.version, predicate.seed, predicate.measured.episodes
            ),
            usize::MAX,
        ),
    );
    let note = "This proves who signed, and that nothing was changed since. Only running the episodes again proves that \
                the simulation gives these numbers: assay replay report.json";
    let _ = writeln!(text, "\n{}", screen::layout().paragraph(note, 0));
}

/// Compares the policy with the statement: the given one, or else the copy beside the report, which readers open.
fn policy_line(
    arguments: &AttestVerifyArgs,
    checked: &VerifiedStatement,
    folder: &UntrustedFolder,
) -> Result<Result<String, String>, Failure> {
    let (path, words) = match (&arguments.policy, kept_policy::find(folder)) {
        (Some(path), _) => (path.clone(), "the archive that was measured".to_owned()),
        (None, Some(copy)) => {
            let name = copy.file_name().unwrap_or_default().display().to_string();
            (copy, format!("{name} beside the statement is the one that was measured"))
        }
        (None, None) => return Ok(Ok("not checked: use --policy PATH".to_owned())),
    };
    let hash = match policy_hash(&path) {
        // The folder is a stranger's: a copy that can't be a policy is not the one that was measured.
        Err(Failure::Usage(error)) if arguments.policy.is_none() => return Ok(Err(format!("{error:#}"))),
        hash => hash?,
    };
    let compared = attest::check_policy(&checked.statement, hash);
    Ok(compared.map(|()| words).map_err(|error| match arguments.policy {
        Some(_) => error.to_string(),
        None => format!("the copy beside the statement, {}: {error}", path.display()),
    }))
}

/// Returns the digest of a policy: of an archive's bytes, or of the listing of a folder or file.
fn policy_hash(path: &Path) -> Result<Sha256Digest, Failure> {
    let script = path.extension().is_some_and(|extension| extension == "py");
    if path.is_file() && !script {
        return sha256_of(path).with_context(|| format!("can't read {}", path.display())).or_usage();
    }
    let work = tempfile::tempdir().or_internal()?;
    let taken = intake(path, &work.path().join("policy"), &IntakeLimits::accepted());
    taken.map(|policy| policy.sha256).with_context(|| format!("the policy {}", path.display())).or_usage()
}
