//! The report of a job at a service, fetched and shown.

use std::fs;

use anyhow::{Context, anyhow};
use assay_model::JobReport;
use assay_report::json;
use assay_worker::STATEMENT_FILE;

use super::arguments::ConnectArgs;
use super::job::ConnectedJob;
use crate::commands;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::output::{REPORT_HTML, REPORT_JSON};

/// Fetches the report, and writes it to the folder of `--out`.
pub(super) fn report(job: &ConnectedJob<'_>, arguments: &ConnectArgs) -> Result<JobReport, Failure> {
    let document = |name: &str| job.client.document(&format!("/verify/{}/{name}", job.id));
    let text = document("report.json")?;
    let report = json::parse(&text).context("the service's report").or_internal()?;
    if let Some(out) = &arguments.out {
        let files =
            [(REPORT_JSON, text), (REPORT_HTML, document("report")?), (STATEMENT_FILE, document("attestation")?)];
        for (name, content) in files {
            let path = out.join(name);
            fs::write(&path, content).with_context(|| path.display().to_string()).or_usage()?;
        }
    }
    Ok(report)
}

/// Prints the report as JSON or as text. Returns the exit status for its verdict.
pub(super) fn show(job: &ConnectedJob<'_>, arguments: &ConnectArgs, report: &JobReport) -> Result<ExitStatus, Failure> {
    let text = if arguments.json {
        json::render(report).or_internal()?
    } else {
        let place = match &arguments.out {
            Some(out) => out.join(REPORT_HTML).display().to_string(),
            None => job.client.address(&format!("/verify/{}/report", job.id)),
        };
        commands::report::for_terminal(report, vec![("report".to_owned(), place)], None)
    };
    commands::stdout::print(&text);
    let status = report.verdict.map(|verdict| arguments.fail_on.status(verdict));
    status.ok_or_else(|| Failure::Internal(anyhow!("the report has no verdict")))
}
