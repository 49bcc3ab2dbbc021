//! `assay render`: renders the missing logs and videos of a results folder or of a service's job.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_jail::UntrustedFolder;
use assay_model::{JobId, JobMode, Record, SeedSource, Sha256Digest};
use assay_report::attest;
use assay_store::RenderRequestOutcome;
use assay_worker::STATEMENT_FILE;
use clap::Args;

use super::attest::TrustedKeys;
use super::draw::{RenderEnd, ResultsFolder};
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::options::{EvidenceArgs, SigningArgs, StoreArgs, VideoArgs, lanes};
use crate::output::REPORT_JSON;
use crate::results_folder::{self, MAX_STATEMENT_BYTES, StoredReport};

#[derive(Debug, Args)]
#[command(
    after_help = "Logs and videos get a signed statement of their own; report and verdict do not change. With --data \
or --store the episodes are queued, and the service renders them when its lanes are idle.

Exit codes: 0 rendered (or queued), 1 a log or video could not be rendered, 2 wrong usage or input, 4 internal error, \
130 interrupted.

Examples:
  assay render out/run1
  assay render out/run1 --record all
  assay render 019aa6f0-3c5e-7b21-9d4f-2b8c6e1a7f30 --data ./data"
)]
pub(crate) struct RenderArgs {
    /// The folder of `assay verify --out`; with --data or --store, the id of a job
    #[arg(value_name = "OUT|JOB")]
    what: String,
    /// The service's data folder
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    /// Episodes that get a log and a video: all, violations (and the first)
    #[arg(long, default_value = "violations")]
    record: Record,
    /// Renderers that run at the same time [default: one per processor]
    #[arg(long, value_parser = lanes())]
    lanes: Option<u16>,
    /// Keys to trust for the report's statement, as a service publishes them at /.well-known/assay-keys.json [default:
    /// your own]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "store"])]
    keys: Option<PathBuf>,
    #[command(flatten)]
    evidence: EvidenceArgs,
    #[command(flatten)]
    video: VideoArgs,
    #[command(flatten)]
    signing: SigningArgs,
}

pub(crate) fn run(arguments: &RenderArgs) -> Result<ExitStatus, Failure> {
    match (&arguments.data, arguments.what.parse::<JobId>()) {
        (_, Ok(job)) if arguments.data.is_some() || arguments.store.store.is_some() => render_job(arguments, job),
        (Some(_), Err(_)) => {
            Err(Failure::Usage(anyhow!("{:?} is not the id of a job, which --data requires", arguments.what)))
        }
        _ => render_folder(arguments, Path::new(&arguments.what)),
    }
}

fn render_folder(arguments: &RenderArgs, out: &Path) -> Result<ExitStatus, Failure> {
    let cancel = cancel_on_signal().or_internal()?;
    let read = results_folder::report(&out.join(REPORT_JSON));
    let what = "give the folder of assay verify --out, or --data DIR and a job's id";
    let StoredReport { folder: opened, text, report } = read.context(what).or_usage()?;
    if report.mode == JobMode::Arena {
        return Err(Failure::Usage(anyhow!("this is a submission to the arena: only its service can render it")));
    }
    check_statement(arguments, &opened, &text)?;
    let engine =
        super::machine::engine(&super::machine::installation()?, arguments.lanes, assay_model::Isolation::Namespaces)?
            .with_video_format(arguments.video.video);
    let scenario = super::replay::scenario(&engine, &report, &opened).or_usage()?;
    let keyring = arguments.signing.keyring()?;
    let folder = ResultsFolder {
        path: out,
        report: &report,
        scenario: &scenario,
        seeds: SeedSource::Job { seed: report.seed, policy_key: report.policy_key.clone() },
        record: arguments.record,
        max_evidence_bytes: arguments.evidence.max_evidence_bytes(),
    };
    let missing = folder.missing()?.len();
    let ended = folder.render(&engine, &keyring, &cancel)?;
    folder.print_unrendered(ended);
    if ended == RenderEnd::Interrupted {
        return Ok(ExitStatus::Interrupted);
    }
    if missing == 0 {
        super::stdout::print("nothing is missing");
    }
    for (what, path) in folder.paths()? {
        super::stdout::print(&format!("{what:10} {path}"));
    }
    Ok(if ended == RenderEnd::All { ExitStatus::Success } else { ExitStatus::Unsafe })
}

/// Checks that a trusted key signed this report: the statements about logs and videos refer to its statement.
fn check_statement(arguments: &RenderArgs, folder: &UntrustedFolder, report: &str) -> Result<(), Failure> {
    let usage = |what: String| Err(Failure::Usage(anyhow!(what)));
    if folder.kind(STATEMENT_FILE).is_none() {
        return usage(format!("{STATEMENT_FILE} is missing: the statements about logs and videos refer to it"));
    }
    let file = folder.read(STATEMENT_FILE, MAX_STATEMENT_BYTES).or_usage()?;
    let trusted = TrustedKeys::read(arguments.keys.as_deref(), &arguments.signing)?;
    let checked = match attest::check(&file, &trusted.keys, None) {
        Ok(checked) => checked,
        Err(error) => {
            let why = trusted.explain(&error);
            return usage(format!(
                "{STATEMENT_FILE} can't be relied on, so nothing is signed that refers to it: {why}"
            ));
        }
    };
    let evidence = &checked.statement.predicate.evidence;
    let signed = evidence.iter().find(|file| file.name == REPORT_JSON).and_then(|file| file.sha256);
    if signed != Some(Sha256Digest::of(report.as_bytes())) {
        return usage(format!("{REPORT_JSON} is not the report that {STATEMENT_FILE} is about: it was changed"));
    }
    Ok(())
}

/// Queues the missing logs and videos; the service renders them when its lanes are idle.
fn render_job(arguments: &RenderArgs, job: JobId) -> Result<ExitStatus, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().or_internal()?;
    let usage = |why: &str| Err(Failure::Usage(anyhow!("job {job} {why}")));
    let outcome = runtime.block_on(async {
        let records = arguments.store.records(arguments.data.as_deref(), "assay render").await?;
        let records = records.ok_or_else(|| Failure::Usage(anyhow!("give --data or --store")))?;
        records.request_renders(job, arguments.record).await.or_internal()
    });
    match outcome? {
        RenderRequestOutcome::Queued(0) => super::stdout::print("nothing is missing, or it is already queued"),
        RenderRequestOutcome::Queued(count) => super::stdout::print(&format!(
            "{count} {} queued: the service renders them when its lanes are idle",
            if count == 1 { "episode is" } else { "episodes are" }
        )),
        RenderRequestOutcome::NotCompleted => return usage("is not COMPLETED: videos are rendered after the verdict"),
        RenderRequestOutcome::NoEvidence => return usage("no longer has recordings"),
        RenderRequestOutcome::NotFound => return usage("is not a job of this service"),
    }
    Ok(ExitStatus::Success)
}
