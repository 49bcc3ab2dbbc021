//! The results of a verification: the report, the files in the folder of `--out`, and the output on the terminal.

use std::fs;
use std::path::Path;

use anyhow::anyhow;
use assay_model::lane::files;
use assay_model::{EpisodeResult, JobHeader, JobReport, JobStatus, LogType, Record, conclude};
use assay_report::RunAgain;
use assay_report::json;
use assay_scenario::{Scenario, files as scenario_files};
use assay_worker::PolicySource;

use super::arguments::VerifyArgs;
use crate::commands;
use crate::exit::{Failure, OrFail};
use crate::kept_policy;
use crate::output::{EPISODES, REPORT_HTML, REPORT_JSON, ROBOTS, SCENARIO};
use crate::printing::complain;

/// Returns the report of a completed job; `kept` is true if a results folder is written.
pub(super) fn report(header: &JobHeader, kept: bool, episodes: &[EpisodeResult]) -> Result<JobReport, Failure> {
    let conclusion = conclude(&header.plan, header.policy_identity, episodes)
        .ok_or_else(|| Failure::Internal(anyhow!("no episode was run")))?;
    let mut report = JobReport::queued(header)
        .in_status(JobStatus::Completed, None)
        .with_episodes(episodes)
        .with_conclusion(&conclusion);
    report.report_path = kept.then(|| REPORT_HTML.to_owned());
    Ok(report)
}

/// Writes the report, and copies of the scenario and its robots, to `out`.
pub(super) fn write(out: &Path, report: &JobReport, scenario: &Scenario, record: Record) -> anyhow::Result<()> {
    fs::write(out.join(REPORT_JSON), json::render(report)?)?;
    let card = scenario.card();
    let page = commands::report::page(&with_future_renderings(report, record), Some(&card), out)?;
    fs::write(out.join(REPORT_HTML), page)?;
    copy_files(&scenario.folder, &out.join(SCENARIO))?;
    for (id, folder) in scenario.robot_folders() {
        copy_files(folder, &out.join(ROBOTS).join(id))?;
    }
    Ok(())
}

/// Copies exactly the files that a scenario's digest covers, with their folders.
fn copy_files(from: &Path, to: &Path) -> anyhow::Result<()> {
    for file in scenario_files(from)? {
        let copy = to.join(&file);
        copy.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::copy(from.join(&file), copy)?;
    }
    Ok(())
}

/// Returns the report with the paths that logs and videos will have. The page is signed with the verdict, so it can't
/// be changed once they exist.
fn with_future_renderings(report: &JobReport, record: Record) -> JobReport {
    let mut report = report.clone();
    let mut any = false;
    for result in report.episode_details.iter_mut().filter(|result| record.wants(result)) {
        let inside = format!("{EPISODES}/{:03}", result.episode);
        result.video_path = Some(format!("{inside}/{}", files::VIDEO));
        result.set_log(Some(format!("{inside}/{}", files::LOG)));
        any = true;
    }
    if any {
        let note = "Logs and videos are rendered after the verdict and signed separately; if one is missing, run \
                    `assay render`.";
        report.warnings.push(note.to_owned());
    }
    report
}

/// Keeps a copy of the policy for `assay replay`. The copy is not evidence, since the statement names the policy's
/// digest, so a failure to write it is only a warning.
pub(super) fn keep_policy(arguments: &VerifyArgs, policy: &PolicySource, report: &JobReport, out: &Path) {
    let (PolicySource::Folder(unpacked), Some(sha256), false) =
        (policy, report.policy_sha256, arguments.no_keep_policy)
    else {
        return;
    };
    if let Err(error) = kept_policy::keep(&arguments.policy, &unpacked.path, sha256, out) {
        complain!("assay: warning: the policy could not be copied: {error:#}");
    }
}

/// Prints the report as JSON or as text.
pub(super) fn show(arguments: &VerifyArgs, report: &JobReport, again: RunAgain) -> Result<(), Failure> {
    if arguments.json {
        commands::stdout::print(&json::render(report).or_internal()?);
        return Ok(());
    }
    commands::stdout::print(&commands::report::for_terminal(
        report,
        paths(arguments.out.as_deref(), report),
        Some(again),
    ));
    Ok(())
}

/// Returns the written files and their paths.
fn paths(out: Option<&Path>, report: &JobReport) -> Vec<(String, String)> {
    let Some(out) = out else {
        return vec![("evidence".to_owned(), "not kept; use --out DIR to keep report, videos and traces".to_owned())];
    };
    let path = |name: &str| out.join(name).display().to_string();
    let mut paths = vec![("report".to_owned(), path(REPORT_HTML)), ("json".to_owned(), path(REPORT_JSON))];
    paths.extend(report.attestation_path.as_ref().map(|inside| ("signed".to_owned(), path(inside))));
    for episode in &report.episode_details {
        let of = |what: &str| format!("{what} {}", episode.episode);
        paths.extend(episode.video_path.as_ref().map(|inside| (of("video"), path(inside))));
        let what = if episode.log_type == Some(LogType::Mcap) { "log" } else { "trace" };
        paths.extend(episode.log_path.as_ref().map(|inside| (of(what), path(inside))));
    }
    paths
}
