//! `assay fetch`: downloads everything about a job of a service into a results folder, file by file.

mod documents;
mod evidence;
mod failure;
mod place;

use std::path::PathBuf;

use assay_model::JobId;
use clap::Args;

use self::place::Fetched;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::options::ServiceArgs;

#[derive(Debug, Args)]
#[command(
    after_help = "Files that are there already are kept if they have the right SHA-256, so an interrupted download
continues when the command is repeated. The policy is included for its owner only.

Exit codes: 0 everything is there, 2 wrong usage or refused, 4 the service failed or sent something else, 130
interrupted.

Examples:
  ASSAY_KEY=... assay fetch 019aa6f0-3c5e-7b21-9d4f-2b8c6e1a7f30 --server https://assay.example.org --out run1
  assay replay run1"
)]
pub(crate) struct FetchArgs {
    /// The id of a verification, or of a submission whose season is closed
    #[arg(value_name = "JOB")]
    job: JobId,
    /// Folder for the results
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Of a submission: its rerun on fresh worlds at the end of the season
    #[arg(long)]
    closing: bool,
    #[command(flatten)]
    service: ServiceArgs,
}

pub(crate) fn run(arguments: &FetchArgs) -> Result<ExitStatus, Failure> {
    let cancel = cancel_on_signal().or_internal()?;
    let client = arguments.service.client()?;
    let (resource, documents) = documents::download(&client, arguments.job, arguments.closing)?;
    let fetched = Fetched::create(&arguments.out, documents)?;
    let count = evidence::download(&client, &resource, &fetched, &cancel)?;
    let Fetched { report, has_policy, .. } = &fetched;
    let out = arguments.out.display();
    let mut text = format!("{out} has the report and {} files of evidence, {} of them new", count.all, count.new);
    let policy = if *has_policy { "" } else { " --policy POLICY" };
    let secret = if report.is_arena() { " --season-secret HEX" } else { "" };
    text.push_str(&format!("\nnext: assay replay {out}{policy}{secret}"));
    super::stdout::print(&text);
    Ok(ExitStatus::Success)
}
