//! `assay replay`: runs an episode of a report again, and compares it with its recording bit for bit.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use assay_jail::UntrustedFolder;
use assay_model::lane::files;
use assay_model::{EpisodeResult, JobMode, JobReport, Record, RuntimeVersion, SeasonSecret, SeedSource, Sha256Digest};
use assay_policy::{IntakeLimits, intake};
use assay_report::ReplayReport;
use assay_scenario::Scenario;
use assay_worker::{Engine, Job, PolicyFolder, PolicySource, ReplayOptions, replay};
use clap::Args;

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::kept_policy;
use crate::options::{IsolationArgs, ModelArgs, result_file};
use crate::output::{EPISODES, POLICIES, REPORT_JSON, ROBOTS, SCENARIO};
use crate::progress::Progress;
use crate::results_folder::{self, StoredReport};
use crate::screen;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 bit-identical, 1 different, 2 wrong usage or input, 4 internal error, 130 interrupted.

Examples:
  assay replay out/run1/report.json
  assay replay out/run1/report.json --episode 2 --policy policy.zip --json"
)]
pub(crate) struct ReplayArgs {
    /// The report: report.json, or the results folder that contains it
    #[arg(value_parser = result_file(REPORT_JSON))]
    report: PathBuf,
    /// Index of the episode
    #[arg(long, default_value_t = 0, value_name = "K")]
    episode: u32,
    /// For a submission to the arena: the secret of its season, which GET /seasons publishes once the season is closed
    #[arg(long, value_name = "HEX", value_parser = season_secret)]
    season_secret: Option<SeasonSecret>,
    /// The policy that the report is about [default: policy.zip, policy.py or policy beside the report]
    #[arg(long, value_name = "PATH")]
    policy: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    isolation: IsolationArgs,
}

pub(crate) fn run(arguments: &ReplayArgs) -> Result<ExitStatus, Failure> {
    let cancel = cancel_on_signal().or_internal()?;
    let StoredReport { folder, report, .. } = results_folder::report(&arguments.report).or_usage()?;
    let recorded = episode(&report, arguments.episode).or_usage()?;
    let recording = format!("{EPISODES}/{:03}/{}", recorded.episode, files::TRACE);
    if folder.kind(&recording).is_none() {
        let recording = folder.path().join(recording);
        let what = anyhow!("{} is missing: the replay is compared with this recording", recording.display());
        return Err(Failure::Usage(what));
    }
    let policy = policy(arguments, &folder).or_usage()?;
    let engine = super::machine::engine(&super::machine::installation()?, Some(1), arguments.isolation.accepted())?;
    engine.runs_policies().or_internal()?;
    let scenario = scenario(&engine, &report, &folder).or_usage()?;
    let work = engine.scratch("replay").or_internal()?;
    let copy = work.path().join(files::TRACE);
    let copied = folder.copy_to(&recording, &mut File::create_new(&copy).or_internal()?);
    copied.with_context(|| format!("can't read {}", folder.path().join(&recording).display())).or_usage()?;
    let unpacked = work.path().join("policy");
    let taken = intake(&policy, &unpacked, &IntakeLimits::accepted()).map_err(|error| {
        let is_internal = error.is_internal();
        let error = anyhow!(error).context(format!("the policy {}", policy.display()));
        if is_internal { Failure::Internal(error) } else { Failure::Usage(error) }
    })?;
    check_policy(&report, &policy, taken.sha256).or_usage()?;
    let home = arguments.models.home(&report.models, &work.path().join("models"))?;
    let runtime = runtime(&engine, &report).or_usage()?;
    let job = Job {
        scenario: Arc::new(scenario),
        policy: PolicySource::Folder(PolicyFolder { path: unpacked, runtime: runtime.clone(), home }),
        seeds: seeds(arguments, &report)?,
        record: Record::None,
        folder: None,
        max_episode_bytes: 0,
        max_observation_bytes: None,
    };
    let progress = Progress::new(1, true);
    let options = ReplayOptions { cancel: &cancel, work_limit: None };
    let outcome = replay(&engine, job, recorded, &copy, options, &progress);
    progress.clear();
    let outcome = outcome?;
    let recorded_fingerprint = report.fingerprint.as_ref();
    let found = ReplayReport {
        same: outcome.comparison.difference.is_none(),
        episode: recorded.episode,
        recorded_trace_hash: recorded.trace_hash,
        replayed_trace_hash: outcome.result.trace_hash,
        fingerprint_differences: recorded_fingerprint
            .map(|fingerprint| fingerprint.differences(&engine.fingerprint_in(runtime.as_ref())))
            .unwrap_or_default(),
        comparison: outcome.comparison,
    };
    super::stdout::print(&if arguments.json {
        serde_json::to_string_pretty(&found).or_internal()?
    } else {
        screen::layout().paragraph(&found.text(), 0)
    });
    Ok(if found.same { ExitStatus::Success } else { ExitStatus::Unsafe })
}

fn season_secret(text: &str) -> Result<SeasonSecret, &'static str> {
    SeasonSecret::parse(text).ok_or("must be 64 hexadecimal digits")
}

/// Returns the source of the seeds of the report's episodes.
fn seeds(arguments: &ReplayArgs, report: &JobReport) -> Result<SeedSource, Failure> {
    let (episodes, policy_key) = (report.num_episodes, report.policy_key.clone());
    match (report.mode == JobMode::Arena, &arguments.season_secret) {
        (false, _) => Ok(SeedSource::Job { seed: report.seed, policy_key }),
        (true, Some(secret)) => Ok(SeedSource::Season { secret: secret.clone(), episodes, policy_key }),
        (true, None) => Err(Failure::Usage(anyhow!(
            "this is a submission to the arena: give its season's secret with --season-secret HEX (GET /seasons)"
        ))),
    }
}

fn episode(report: &JobReport, wanted: u32) -> anyhow::Result<&EpisodeResult> {
    report.episode_details.iter().find(|episode| episode.episode == wanted).ok_or_else(|| {
        let known: Vec<_> = report.episode_details.iter().map(|episode| episode.episode.to_string()).collect();
        anyhow!("--episode {wanted}: the report has the episodes {}", known.join(", "))
    })
}

fn policy(arguments: &ReplayArgs, folder: &UntrustedFolder) -> anyhow::Result<PathBuf> {
    if let Some(policy) = &arguments.policy {
        return Ok(policy.clone());
    }
    kept_policy::find(folder)
        .ok_or_else(|| anyhow!("there is no {} beside the report; give the policy with --policy", POLICIES.join(", ")))
}

fn check_policy(report: &JobReport, path: &Path, found: Sha256Digest) -> anyhow::Result<()> {
    match report.policy_sha256 {
        None => Err(anyhow!("the report is about a policy server, which can't be replayed")),
        Some(expected) if expected != found => Err(anyhow!(
            "{} is not the policy of the report: its SHA-256 is {found}, but that in the report is {expected} (a folder \
             and an archive of it have different digests)",
            path.display()
        )),
        Some(_) => Ok(()),
    }
}

/// Returns the runtime of the report's policy, which must be installed: another one would be another experiment.
/// Reports of earlier versions name none.
fn runtime(engine: &Engine, report: &JobReport) -> anyhow::Result<Option<RuntimeVersion>> {
    let runtime = report.fingerprint.as_ref().and_then(|fingerprint| fingerprint.runtime.clone());
    if let Some(version) = &runtime {
        engine.runtimes().version(version)?;
    }
    Ok(runtime)
}

/// Returns the report's scenario: the built-in one if its digest is the same, else the copy in the report's folder,
/// with the robots there. Older reports have no copies of robots; those of this installation may be the same.
pub(super) fn scenario(engine: &Engine, report: &JobReport, folder: &UntrustedFolder) -> anyhow::Result<Scenario> {
    let builtin = engine.library().get(&report.scenario).ok();
    if let Some(scenario) = builtin.filter(|scenario| scenario.digest == report.scenario_digest) {
        return Ok(scenario.clone());
    }
    let is_folder = |name: &str| folder.kind(name).is_some_and(|kind| kind.is_dir());
    if !is_folder(SCENARIO) {
        let place = folder.path().join(SCENARIO);
        return Err(anyhow!("{} is missing, or is a link: the report's scenario has to be there", place.display()));
    }
    let real = folder.path().canonicalize().with_context(|| folder.path().display().to_string())?;
    let robots = if is_folder(ROBOTS) { real.join(ROBOTS) } else { engine.library().robots().to_owned() };
    let scenario = Scenario::load(&real.join(SCENARIO), &robots).context("the scenario beside the report")?;
    if scenario.digest == report.scenario_digest {
        return Ok(scenario);
    }
    let (expected, found) = (&report.scenario_digest, &scenario.digest);
    Err(anyhow!("the scenario is not that of the report: its digest is {found}, but that in the report is {expected}"))
}
