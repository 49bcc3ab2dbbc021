//! `assay verify`: one job from policy to verdict, without a server.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use assay_api::OsEntropy;
use assay_model::{
    Clock, Entropy, EpisodeResult, JobHeader, JobId, JobReport, JobStatus, Plan, PolicyIdentity, Record, SystemClock,
    conclude,
};
use assay_policy::{IntakeLimits, intake};
use assay_report::{html, json, terminal};
use assay_scenario::{LibraryError, Scenario};
use assay_worker::{Engine, Evaluation, Job, SessionError, evaluate};

use crate::cli::Verify;
use crate::exit::{Code, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::progress::Progress;

/// Columns of the report where there is no terminal to ask.
const DEFAULT_WIDTH: usize = 120;
/// Names of the files in the output folder.
const REPORT_JSON: &str = "report.json";
const REPORT_HTML: &str = "report.html";
const EPISODES: &str = "episodes";
const SCENARIO: &str = "scenario";

pub(crate) fn run(arguments: &Verify) -> Result<Code, Failure> {
    let cancel = cancel_on_signal().ours()?;
    let installation = super::installation()?;
    if let Some(out) = &arguments.out {
        clear_output(out).usage()?;
    }
    let engine = super::engine(&installation, arguments.lanes)?;
    let scenario = find(&engine, &arguments.scenario)?;
    let work = tempfile::Builder::new().prefix("assay-verify-").tempdir().ours()?;
    let unpacked = work.path().join("policy");
    let policy = intake(&arguments.policy, &unpacked, &IntakeLimits::default()).map_err(|error| {
        let ours = error.is_ours();
        let error = anyhow!(error).context(format!("the policy {}", arguments.policy.display()));
        if ours { Failure::Ours(error) } else { Failure::Usage(error) }
    })?;
    let header = header(arguments, &scenario, policy.sha256)?;
    let job = Job {
        scenario: Arc::new(scenario),
        policy: unpacked,
        seed: arguments.seed,
        record: if arguments.out.is_some() { arguments.record } else { Record::None },
        folder: arguments.out.clone().unwrap_or_else(|| work.path().to_owned()),
    };
    let evaluation = Evaluation { job, episodes: arguments.episodes, lanes: engine.lanes() };
    let progress = Progress::new(arguments.episodes, arguments.json);
    let started_at = SystemClock.now();
    let outcome = evaluate(&engine, &evaluation, &cancel, &progress);
    progress.clear();
    let episodes = outcome.map_err(|error| match error {
        SessionError::Cancelled => {
            arguments.out.as_ref().map(|out| clear_output(out));
            Failure::Interrupted
        }
        SessionError::Scenario(_) => Failure::Usage(error.into()),
        SessionError::Platform(_) | SessionError::Rejected(_) => Failure::Ours(error.into()),
    })?;
    let mut report = report(&header, arguments.out.is_some(), episodes)?;
    report.fingerprint = Some(engine.fingerprint().clone());
    (report.started_at, report.completed_at) = (Some(started_at), Some(SystemClock.now()));
    if let Some(out) = &arguments.out {
        write_output(out, &report, &evaluation.job.scenario).ours()?;
    }
    show(arguments, &report)?;
    report.verdict.map(Code::from).ok_or_else(|| Failure::Ours(anyhow!("no episode was run")))
}

fn find(engine: &Engine, name: &str) -> Result<Scenario, Failure> {
    engine.library().find(name).map_err(|error| match error {
        LibraryError::Unknown { .. } => {
            Failure::Usage(anyhow!(error).context("--scenario (an id, or the path of a scenario's folder)"))
        }
        _ => Failure::Usage(anyhow!(error).context(format!("the scenario {name}"))),
    })
}

fn header(arguments: &Verify, scenario: &Scenario, sha256: String) -> Result<JobHeader, Failure> {
    let mut random = [0; 10];
    OsEntropy.fill(&mut random);
    let created_at = SystemClock.now();
    let name = arguments.policy.file_stem().map_or_else(|| "policy".into(), |name| name.to_string_lossy());
    Ok(JobHeader {
        job_id: JobId::new(created_at, random),
        scenario: scenario.id.clone(),
        scenario_version: scenario.version.clone(),
        scenario_digest: scenario.digest.clone(),
        policy_name: assay_model::sanitise(&name, 100),
        policy_sha256: Some(sha256),
        policy_identity: PolicyIdentity::Measured,
        seed: arguments.seed,
        record: arguments.record,
        plan: Plan {
            episodes: arguments.episodes,
            target: arguments.max_violation_probability,
            confidence_level: arguments.confidence,
            max_violation_probability: scenario.arena.max_violation_probability,
        },
        created_at,
        warnings: Vec::new(),
    })
}

fn report(header: &JobHeader, kept: bool, mut episodes: Vec<EpisodeResult>) -> Result<JobReport, Failure> {
    if !kept {
        // The evidence goes with the temporary folder.
        episodes.iter_mut().for_each(|e| (e.log_url, e.video_url) = (None, None));
    }
    let conclusion = conclude(&header.plan, header.policy_identity, &episodes)
        .ok_or_else(|| Failure::Ours(anyhow!("no episode was run")))?;
    let mut report = JobReport::queued(header)
        .in_status(JobStatus::Completed, None)
        .with_episodes(&episodes)
        .with_conclusion(&conclusion);
    report.report_url = kept.then(|| REPORT_HTML.to_owned());
    Ok(report)
}

/// Makes room in the output folder: what an earlier run wrote is removed, anything else is not touched.
fn clear_output(out: &Path) -> anyhow::Result<()> {
    let known = [REPORT_JSON, REPORT_HTML, EPISODES, SCENARIO];
    if let Ok(entries) = fs::read_dir(out) {
        for entry in entries {
            let name = entry?.file_name();
            if !known.iter().any(|known| name == *known) {
                let what = PathBuf::from(&name);
                return Err(anyhow!("--out {} holds {}, which is not ours", out.display(), what.display())
                    .context("choose an empty folder, or one with an earlier report"));
            }
        }
    }
    for name in known {
        let path = out.join(name);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("--out: can't remove {}", path.display()));
            }
            _ => {}
        }
    }
    fs::create_dir_all(out).with_context(|| format!("--out: can't make the folder {}", out.display()))
}

fn write_output(out: &Path, report: &JobReport, scenario: &Scenario) -> anyhow::Result<()> {
    fs::write(out.join(REPORT_JSON), json::render(report)?)?;
    let card = scenario.card();
    let assets = html::Assets { scenario: Some(&card), generator: concat!("assay ", env!("CARGO_PKG_VERSION")) };
    fs::write(out.join(REPORT_HTML), html::render(report, assets)?)?;
    let folder = out.join(SCENARIO);
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(&scenario.folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn show(arguments: &Verify, report: &JobReport) -> Result<(), Failure> {
    if arguments.json {
        super::print(&json::render(report).ours()?);
        return Ok(());
    }
    let terminal = std::io::stdout().is_terminal();
    let width = if terminal { usize::from(console::Term::stdout().size().1) } else { DEFAULT_WIDTH };
    let options = terminal::TerminalOptions {
        width,
        colour: terminal && std::env::var_os("NO_COLOR").is_none(),
        paths: paths(arguments.out.as_deref(), report),
    };
    super::print(&terminal::render(report, &options));
    Ok(())
}

/// What was written where.
fn paths(out: Option<&Path>, report: &JobReport) -> Vec<(String, String)> {
    let Some(out) = out else {
        return vec![("evidence".to_owned(), "not kept; give --out DIR for report, videos and traces".to_owned())];
    };
    let path = |name: &str| out.join(name).display().to_string();
    let mut paths = vec![("report".to_owned(), path(REPORT_HTML)), ("json".to_owned(), path(REPORT_JSON))];
    for episode in &report.episode_details {
        let of = |what: &str| format!("{what} {}", episode.episode);
        paths.extend(episode.video_url.as_ref().map(|url| (of("video"), path(url))));
        paths.extend(episode.log_url.as_ref().map(|url| (of("trace"), path(url))));
    }
    paths
}
