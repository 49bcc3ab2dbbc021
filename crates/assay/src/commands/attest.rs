//! `assay attest verify|keys|rotate`: verifies signed statements offline, and manages the signing keys.

mod evidence;
mod lines;
mod rendered_files;
mod renderings;
mod signed_file;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_api::OsEntropy;
use assay_model::{Clock, Sha256Digest, SystemClock};
use assay_policy::{IntakeLimits, intake};
use assay_report::attest::{self, AttestError, KnownKey, PublishedKeys, VerifiedStatement};
use assay_report::json;
use assay_worker::{STATEMENT_FILE, sha256_of};
use clap::{Args, Subcommand};
use jiff::Timestamp;

use self::evidence::{EvidenceCheck, evidence};
use self::lines::{line, refuse, signer};
use self::renderings::{RenderingsCheck, verify_rendering};
use self::signed_file::read;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::{SigningArgs, result_file};
use crate::output::REPORT_JSON;
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
    let file = read(&arguments.file).or_usage()?;
    let beside_statement = arguments.file.parent().unwrap_or(Path::new("")).to_owned();
    let folder = arguments.evidence.clone().unwrap_or(beside_statement);
    let known = known_keys(arguments)?;
    let checked = match attest::check(&file, &known, arguments.keyid.as_deref()) {
        Ok(checked) => checked,
        Err(AttestError::Payload) => {
            ensure_a_rendering_is_meant(arguments)?;
            return verify_rendering(&folder, &file, (&known, arguments.keyid.as_deref()));
        }
        Err(error) => return refuse("signature", &error),
    };
    let mut text = signer(&checked.key);
    match &arguments.policy {
        Some(path) => match attest::check_policy(&checked.statement, policy_hash(path)?) {
            Ok(()) => line(&mut text, "policy", "the archive that was measured"),
            Err(error) => return refuse("policy", &error),
        },
        None => line(&mut text, "policy", "not checked: use --policy PATH"),
    }
    let mut found = match evidence(&checked.statement.predicate.evidence, &folder).or_usage()? {
        EvidenceCheck::Unchanged(found) => found,
        EvidenceCheck::Changed(changed) => {
            return refuse("evidence", &format!("{changed} is not the file that was signed"));
        }
    };
    line(&mut text, "evidence", &found.summary());
    let job = sha256_of(&arguments.file).or_usage()?;
    let listed = &checked.statement.predicate.evidence;
    let rendered = match renderings::check_all(listed, (job, &known, arguments.keyid.as_deref()), &folder).or_usage()? {
        RenderingsCheck::Valid(rendered) => rendered,
        RenderingsCheck::Invalid(why) => return refuse("rendering", &why),
    };
    line(&mut text, "rendered", &rendered.summary());
    if found.report {
        let report = fs::read_to_string(folder.join(REPORT_JSON)).or_usage()?;
        match attest::recompute(&json::parse(&report).or_usage()?) {
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

/// Returns the keys to trust: those in the given file, or this user's own.
fn known_keys(arguments: &AttestVerifyArgs) -> Result<PublishedKeys, Failure> {
    let Some(path) = &arguments.keys else { return arguments.signing.keyring()?.published().or_internal() };
    let bytes = read(path).or_usage()?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is not a list of keys", path.display())).or_usage()
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
