//! `assay render`: makes up logs and videos that were not drawn, in a folder of results or of a service's job.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_model::{JobId, JobMode, Record, SeedSource};
use assay_report::json;
use assay_store::{RenderRecords, RenderRequestOutcome};
use assay_worker::STATEMENT_FILE;
use clap::Args;

use super::draw::{Folder, RenderEnd};
use crate::exit::{Code, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::options::{EvidenceArgs, SigningArgs, lanes, open_records};
use crate::output::REPORT_JSON;

#[derive(Debug, Args)]
#[command(
    after_help = "What is drawn gets a signed statement of its own; report and verdict stay as they are. With --data \
the episodes are queued, and the service draws them when its lanes are idle.

Exit codes: 0 nothing is missing (or it is queued), 1 something could not be drawn, 2 wrong use or input, 4 internal \
error, 130 interrupted.

Examples:
  assay render out/run1
  assay render out/run1 --record all
  assay render 019aa6f0-3c5e-7b21-9d4f-2b8c6e1a7f30 --data ./data"
)]
pub(crate) struct RenderArgs {
    /// A folder of `assay verify --out`; with --data, the id of a job
    #[arg(value_name = "OUT|JOB")]
    what: String,
    /// The service's data folder
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Which episodes get a log and a video: all, violations (and the first)
    #[arg(long, default_value = "violations")]
    record: Record,
    /// Renderers that run at the same time [default: one per processor]
    #[arg(long, value_parser = lanes())]
    lanes: Option<u16>,
    #[command(flatten)]
    evidence: EvidenceArgs,
    #[command(flatten)]
    signing: SigningArgs,
}

pub(crate) fn run(arguments: &RenderArgs) -> Result<Code, Failure> {
    match (&arguments.data, arguments.what.parse::<JobId>()) {
        (Some(data), Ok(job)) => of_job(arguments, data, job),
        (Some(_), Err(_)) => Err(Failure::Usage(anyhow!("{:?} is no id of a job, which --data needs", arguments.what))),
        (None, _) => in_folder(arguments, Path::new(&arguments.what)),
    }
}

fn in_folder(arguments: &RenderArgs, out: &Path) -> Result<Code, Failure> {
    let cancel = cancel_on_signal().ours()?;
    let file = out.join(REPORT_JSON);
    let text = fs::read_to_string(&file)
        .with_context(|| format!("{} (a folder of assay verify --out, or --data DIR and a job's id)", file.display()))
        .usage()?;
    let report = json::parse(&text).with_context(|| file.display().to_string()).usage()?;
    if report.mode == JobMode::Arena {
        return Err(Failure::Usage(anyhow!("the worlds of a submission are its season's: its service draws them")));
    }
    if !out.join(STATEMENT_FILE).is_file() {
        let what = anyhow!("{} is missing: what is drawn is signed as belonging to it", STATEMENT_FILE);
        return Err(Failure::Usage(what));
    }
    let engine =
        super::machine::engine(&super::machine::installation()?, arguments.lanes, assay_model::Isolation::Namespaces)?;
    let scenario = super::replay::scenario(&engine, &report, out).usage()?;
    let keyring = arguments.signing.keyring()?;
    let folder = Folder {
        path: out,
        report: &report,
        scenario: &scenario,
        seeds: SeedSource::Job { seed: report.seed, policy_key: report.policy_key.clone() },
        record: arguments.record,
        max_job_bytes: arguments.evidence.max_job_bytes(),
    };
    let missing = folder.missing()?.len();
    let ended = folder.draw(&engine, &keyring, &cancel)?;
    folder.tell(ended);
    if ended == RenderEnd::Interrupted {
        return Ok(Code::Interrupted);
    }
    if missing == 0 {
        super::stdout::print("nothing is missing");
    }
    for (what, path) in folder.paths()? {
        super::stdout::print(&format!("{what:10} {path}"));
    }
    Ok(if ended == RenderEnd::All { Code::Success } else { Code::Unsafe })
}

/// Queues what is missing; the service draws it when its lanes have nothing else to do.
fn of_job(arguments: &RenderArgs, data: &Path, job: JobId) -> Result<Code, Failure> {
    let records = open_records(data, "assay render")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ours()?;
    let usage = |why: &str| Err(Failure::Usage(anyhow!("job {job} {why}")));
    match runtime.block_on(records.request_renders(job, arguments.record)).ours()? {
        RenderRequestOutcome::Queued(0) => super::stdout::print("nothing is missing, or it is queued already"),
        RenderRequestOutcome::Queued(count) => super::stdout::print(&format!(
            "{count} {} queued: the service on this folder draws them when its lanes are idle",
            if count == 1 { "episode is" } else { "episodes are" }
        )),
        RenderRequestOutcome::NotCompleted => return usage("is not COMPLETED: its videos follow its verdict"),
        RenderRequestOutcome::NoEvidence => return usage("has no recordings any more"),
        RenderRequestOutcome::NotFound => return usage("is not in this folder"),
    }
    Ok(Code::Success)
}
