//! `assay attest verify|keys|rotate`: signed statements, offline.

mod beside;
mod drawn;
mod evidence;
mod lines;
mod signed_file;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use assay_api::OsEntropy;
use assay_model::{Clock, Sha256Digest, SystemClock};
use assay_policy::{IntakeLimits, intake};
use assay_report::attest::{self, AttestError, KnownKey, PublishedKeys, VerifiedStatement};
use assay_report::json;
use assay_worker::sha256_of;
use clap::{Args, Subcommand};
use jiff::Timestamp;

use self::drawn::{BesideCheck, rendering};
use self::evidence::{EvidenceCheck, evidence};
use self::lines::{line, refuse, signer};
use self::signed_file::read;
use crate::exit::{Code, Failure, OrFail};
use crate::options::SigningArgs;
use crate::output::REPORT_JSON;
use crate::screen;

#[derive(Debug, Subcommand)]
pub(crate) enum AttestCommand {
    /// Check a statement offline: signature, policy, and every file of evidence beside it
    #[command(
        after_help = "Exit codes: 0 verified, 1 refused: something does not hold, 3 incomplete: signed files are missing, 2 wrong \
use, 4 internal error.

Examples:
  assay attest verify out/run1/report.intoto.json --policy policy.zip
  assay attest verify report.intoto.json --policy policy.zip --keys assay-keys.json --keyid 3f0a..."
    )]
    Verify(AttestVerifyArgs),
    /// List the signing keys, newest first
    Keys {
        #[command(flatten)]
        signing: SigningArgs,
        /// Print JSON, as a service publishes it
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
    /// The statement: report.intoto.json
    file: PathBuf,
    /// The policy that it should be about: a zip archive, a folder, or a single .py file
    #[arg(long, value_name = "PATH")]
    policy: Option<PathBuf>,
    /// Keys to trust, as a service publishes them at /.well-known/assay-keys.json [default: your own]
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Trust only the key with this id
    #[arg(long, value_name = "ID")]
    keyid: Option<String>,
    /// Folder of the evidence [default: that of the statement]
    #[arg(long, value_name = "DIR")]
    evidence: Option<PathBuf>,
    /// Accept report.json alone: other signed files may be missing
    #[arg(long)]
    allow_missing: bool,
    #[command(flatten)]
    signing: SigningArgs,
}

pub(crate) fn run(command: &AttestCommand) -> Result<Code, Failure> {
    match command {
        AttestCommand::Verify(arguments) => verify(arguments),
        AttestCommand::Keys { signing, json } => keys(signing, *json),
        AttestCommand::Rotate { signing } => rotate(signing),
    }
}

fn keys(signing: &SigningArgs, as_json: bool) -> Result<Code, Failure> {
    let published = signing.keyring()?.published().ours()?;
    if as_json {
        super::stdout::print(&serde_json::to_string_pretty(&published).ours()?);
        return Ok(Code::Success);
    }
    let day = |at: Timestamp| at.strftime("%Y-%m-%d").to_string();
    let row = |key: &KnownKey| {
        let state = key.retired_at.map_or_else(|| "signs".to_owned(), |at| format!("retired {}", day(at)));
        vec![key.keyid.clone(), day(key.created_at), state]
    };
    let rows: Vec<_> = published.keys.iter().map(row).collect();
    super::stdout::print(&screen::layout().table(&["key", "made", "state"], &rows, 0));
    Ok(Code::Success)
}

fn rotate(signing: &SigningArgs) -> Result<Code, Failure> {
    let keyring = signing.keyring()?;
    keyring.rotate(&OsEntropy, SystemClock.now()).ours()?;
    let published = keyring.published().ours()?;
    let current = published.current().map_or("-", |key| &key.keyid);
    super::stdout::print(&format!("{current} signs from now on; {} retired", published.keys.len().saturating_sub(1)));
    Ok(Code::Success)
}

fn verify(arguments: &AttestVerifyArgs) -> Result<Code, Failure> {
    let file = read(&arguments.file).usage()?;
    let here = arguments.file.parent().unwrap_or(Path::new("")).to_owned();
    let folder = arguments.evidence.clone().unwrap_or(here);
    let known = known_keys(arguments)?;
    let checked = match attest::check(&file, &known, arguments.keyid.as_deref()) {
        Ok(checked) => checked,
        Err(AttestError::Payload) => return rendering(&folder, &file, (&known, arguments.keyid.as_deref())),
        Err(error) => return refuse("signature", &error),
    };
    let mut text = signer(&checked.key);
    match &arguments.policy {
        Some(path) => match attest::check_policy(&checked.statement, policy_hash(path)?) {
            Ok(()) => line(&mut text, "policy", "the archive that was measured"),
            Err(error) => return refuse("policy", &error),
        },
        None => line(&mut text, "policy", "not checked: name it with --policy"),
    }
    let mut found = match evidence(&checked.statement.predicate.evidence, &folder).usage()? {
        EvidenceCheck::Unchanged(found) => found,
        EvidenceCheck::Changed(changed) => {
            return refuse("evidence", &format!("{changed} is not the file that was signed"));
        }
    };
    line(&mut text, "evidence", &found.words());
    let job = sha256_of(&arguments.file).usage()?;
    let listed = &checked.statement.predicate.evidence;
    let beside = match drawn::beside(listed, (job, &known, arguments.keyid.as_deref()), &folder).usage()? {
        BesideCheck::Valid(beside) => beside,
        BesideCheck::Invalid(why) => return refuse("drawing", &why),
    };
    line(&mut text, "drawings", &beside.words());
    if found.report {
        let report = fs::read_to_string(folder.join(REPORT_JSON)).usage()?;
        match attest::recompute(&json::parse(&report).usage()?) {
            Ok(()) => line(&mut text, "numbers", "verdict, scores and statistics follow from the report's episodes"),
            Err(error) => return refuse("numbers", &error),
        }
    }
    says(&mut text, &checked);
    found.absent.extend(beside.absent.iter().cloned());
    let code = found.result(&mut text, &beside, arguments.allow_missing);
    super::stdout::print(&text);
    Ok(code)
}

fn says(text: &mut String, checked: &VerifiedStatement) {
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
    let note = "This says who signed, and that nothing was changed since. Whether the physics gave these numbers, only \
                recomputing says: assay replay report.json";
    let _ = writeln!(text, "\n{}", screen::layout().paragraph(note, 0));
}

/// The keys to trust: a file of them, or one's own.
fn known_keys(arguments: &AttestVerifyArgs) -> Result<PublishedKeys, Failure> {
    let Some(path) = &arguments.keys else { return arguments.signing.keyring()?.published().ours() };
    let bytes = read(path).usage()?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is no list of keys", path.display())).usage()
}

/// Returns the identity of a policy: the hash of an archive's bytes, or of the listing of a folder or file.
fn policy_hash(path: &Path) -> Result<Sha256Digest, Failure> {
    let script = path.extension().is_some_and(|extension| extension == "py");
    if path.is_file() && !script {
        return sha256_of(path).with_context(|| format!("can't read {}", path.display())).usage();
    }
    let work = tempfile::tempdir().ours()?;
    let taken = intake(path, &work.path().join("policy"), &IntakeLimits::accepted());
    taken.map(|policy| policy.sha256).with_context(|| format!("the policy {}", path.display())).usage()
}
