//! `assay verify`: one job from policy to verdict, without a server.

mod run_again;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use assay_api::OsEntropy;
use assay_judge::Judge;
use assay_model::lane::files;
use assay_model::{
    Clock, Entropy, EpisodeResult, JobHeader, JobId, JobReport, JobStatus, LogType, Plan, PolicyKey, Record,
    SystemClock, conclude, job_seeds, worth_judging,
};
use assay_report::RunAgain;
use assay_report::json;
use assay_scenario::{LibraryError, Scenario, files as scenario_files};
use assay_worker::{
    Cancel, Engine, Evaluation, Job, Judging, Keyring, PolicySource, STATEMENT_FILE, WallBudget, episode_share,
    evaluate, evidence_in, sign,
};
use clap::Args;

use super::draw::{self, Folder};
use crate::exit::{Code, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::kept_policy;
use crate::options::{EvidenceArgs, IsolationArgs, JudgeArgs, PolicyServerArgs, SigningArgs, lanes, probability};
use crate::output::{EPISODES, Output, REPORT_HTML, REPORT_JSON, ROBOTS, SCENARIO};
use crate::progress::Progress;
use crate::screen;
use crate::source::{self, ResolvedPolicy};

/// Most episodes of one verification.
const MAX_EPISODES: u32 = 10_000;

/// The budget that was asked for, or the default.
fn wall_budget(asked_s: Option<u32>) -> WallBudget {
    asked_s.map_or_else(WallBudget::default, |seconds| WallBudget {
        base: Duration::from_secs(seconds.into()),
        per_simulated_s: 0.0,
    })
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  assay verify my_policy --scenario tabletop_reach
  assay verify policy.zip --scenario tabletop_reach --episodes 29 --out out/run1 --record all
  assay verify policy.py --scenario cartpole_keepin --json | jq .verdict
  assay verify policy.zip --scenario cartpole_keepin --max-violation-probability 0.05
  assay verify ws://localhost:8000 --scenario tabletop_reach

Exit codes: 0 SAFE, 1 UNSAFE, 3 INCONCLUSIVE, 2 wrong use or input, 4 internal error, 130 interrupted.")]
pub(crate) struct VerifyArgs {
    /// The policy: a zip archive, a folder, a single .py file, or the address of a policy server (ws://, http://)
    policy: PathBuf,
    /// The scenario: an id (see `assay scenario list`) or a scenario's folder
    #[arg(short, long, value_name = "ID|PATH")]
    scenario: String,
    /// Episodes to run [default: 3, or what --max-violation-probability needs]
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_EPISODES)))]
    episodes: Option<u32>,
    /// Seed of all episodes: the same seed draws the same worlds [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// Key of the policy's own seeds, as a report has it, to compare policies under one key [default: random, or
    /// derived from --seed]
    #[arg(long, value_name = "HEX")]
    policy_key: Option<PolicyKey>,
    /// Simulators that run at the same time [default: one per processor]
    #[arg(long, value_parser = lanes())]
    lanes: Option<u16>,
    /// Seconds that the policy may sleep in an episode [default: 60, and 10 for each simulated second]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    wall_budget: Option<u32>,
    /// Keep report, videos and traces in this folder (replaced if it holds an earlier report)
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Keep no copy of the policy in that folder; `assay replay` then needs --policy
    #[arg(long, requires = "out")]
    no_keep_policy: bool,
    /// Which episodes get a log and a video, after the verdict: all, violations (and the first), none
    #[arg(long, default_value = "violations")]
    record: Record,
    /// Exit after the verdict; `assay render` draws logs and videos later
    #[arg(long)]
    no_wait_video: bool,
    #[command(flatten)]
    evidence: EvidenceArgs,
    /// Certify that violations are rarer than P (0.05 takes 59 clean episodes); the first failure ends the run
    #[arg(long, value_name = "P", value_parser = probability)]
    max_violation_probability: Option<f64>,
    /// Confidence level of all bounds
    #[arg(long, default_value_t = Plan::DEFAULT_CONFIDENCE_LEVEL, value_parser = probability)]
    confidence: f64,
    /// Print report.json on standard output instead of the report for people
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    policy_server: PolicyServerArgs,
    #[command(flatten)]
    isolation: IsolationArgs,
    #[command(flatten)]
    judge: JudgeArgs,
}

pub(crate) fn run(arguments: &VerifyArgs) -> Result<Code, Failure> {
    let cancel = cancel_on_signal().ours()?;
    let installation = super::machine::installation()?;
    let output = arguments.out.as_deref().map(Output::check).transpose().usage()?;
    let engine = super::machine::engine(&installation, arguments.lanes, arguments.isolation.accepted())?
        .guarded_by(arguments.policy_server.guard())
        .ours()?
        .with_wall_budget(wall_budget(arguments.wall_budget));
    let scenario = find(&engine, &arguments.scenario)?;
    let work = engine.scratch("verify").ours()?;
    let judge = arguments.judge.settings().judge()?;
    let policy = source::find(&arguments.policy, &arguments.policy_server, &scenario, &work.path().join("policy"))?;
    if matches!(policy.source, PolicySource::Folder(_)) {
        engine.runs_policies().ours()?;
    }
    let keyring = arguments.out.as_ref().map(|_| arguments.signing.keyring()).transpose()?;
    let mut header = header(arguments, plan(arguments, &scenario)?, &scenario, &policy);
    if matches!(policy.source, PolicySource::Folder(_)) {
        header.warnings.extend(engine.isolation_warning());
    }
    let job = Job {
        scenario: Arc::new(scenario),
        policy: policy.source,
        seeds: header.job_seeds(),
        record: arguments.record,
        // A judge needs recordings, whether they are kept or not.
        folder: arguments.out.clone().or_else(|| judge.as_ref().map(|_| work.path().join("evidence"))),
        max_episode_bytes: episode_share(arguments.evidence.max_job_bytes(), header.plan.episodes),
    };
    if let (Some(output), PolicySource::Folder(_)) = (&output, &job.policy) {
        output.spare(&arguments.policy).usage()?;
    }
    // Only now that nothing is wrong with the command: an earlier report is worth keeping.
    output.as_ref().map(Output::prepare).transpose().usage()?;
    let evaluation = Evaluation { job, plan: header.plan, lanes: engine.lanes() };
    let progress = Progress::new(header.plan.episodes, arguments.json);
    let started_at = SystemClock.now();
    let outcome = evaluate(&engine, &evaluation, &cancel, &progress);
    progress.clear();
    if outcome.is_err() {
        output.as_ref().map(Output::abandon).transpose().ours()?;
    }
    let mut episodes = outcome?;
    if let Some(judge) = &judge {
        look(&engine, judge, &evaluation, &mut episodes, &cancel);
    }
    let mut report = report(&header, arguments.out.is_some(), &episodes)?;
    report.fingerprint = Some(engine.fingerprint().clone());
    (report.started_at, report.completed_at) = (Some(started_at), Some(SystemClock.now()));
    if let Some(out) = &arguments.out {
        let keyring = keyring.as_ref().ok_or_else(|| Failure::Ours(anyhow!("no signing key")))?;
        report.signed_by = Some(keyring.keyid().ours()?);
        report.attestation_path = Some(STATEMENT_FILE.to_owned());
        write_output(out, &report, &evaluation.job.scenario, arguments.record).ours()?;
        let timestep_s = Some(evaluation.job.scenario.world.timestep_s);
        sign(out, &report, evidence_in(out).ours()?, timestep_s, keyring).ours()?;
        keep_policy(arguments, &evaluation.job.policy, &report, out);
    }
    let again = (arguments.policy.as_path(), arguments.scenario.as_str(), arguments.wall_budget);
    show(arguments, &report, run_again::of(again, &installation, &evaluation.job.scenario))?;
    let code = report.verdict.map(Code::from).ok_or_else(|| Failure::Ours(anyhow!("no episode was run")))?;
    match (&arguments.out, &keyring) {
        (Some(out), Some(keyring)) => {
            film(arguments, (out, &report), &evaluation.job, (&engine, keyring, &cancel), code)
        }
        _ => Ok(code),
    }
}

/// Keeps a copy of the policy for `assay replay`. It is not evidence: the statement names its hash. Without it
/// everything else holds.
fn keep_policy(arguments: &VerifyArgs, policy: &PolicySource, report: &JobReport, out: &Path) {
    let (PolicySource::Folder(unpacked), Some(sha256), false) =
        (policy, report.policy_sha256, arguments.no_keep_policy)
    else {
        return;
    };
    if let Err(error) = kept_policy::keep(&arguments.policy, unpacked, sha256, out) {
        eprintln!("assay: warning: no copy of the policy is kept: {error:#}");
    }
}

/// Draws logs and videos, now that the verdict is told.
fn film(
    arguments: &VerifyArgs,
    (out, report): (&Path, &JobReport),
    job: &Job,
    (engine, keyring, cancel): (&Engine, &Keyring, &Cancel),
    code: Code,
) -> Result<Code, Failure> {
    let folder = Folder {
        path: out,
        report,
        scenario: &job.scenario,
        seeds: job.seeds.clone(),
        record: arguments.record,
        max_job_bytes: arguments.evidence.max_job_bytes(),
    };
    if arguments.no_wait_video {
        if !folder.missing()?.is_empty() {
            eprintln!("assay: logs and videos are not drawn: {}", draw::render_command(out, arguments.record));
        }
        return Ok(code);
    }
    let ended = folder.draw(engine, keyring, cancel)?;
    folder.tell(ended);
    if !arguments.json {
        let paths = folder.paths()?;
        if !paths.is_empty() {
            let screen = screen::layout();
            super::stdout::print(&format!("\n{}{}", screen.heading("Logs and videos"), screen.facts(&paths, 2)));
        }
    }
    Ok(draw::code(ended, code))
}

pub(super) fn find(engine: &Engine, name: &str) -> Result<Scenario, Failure> {
    engine.library().find(name).map_err(|error| match error {
        LibraryError::Unknown { .. } => {
            Failure::Usage(anyhow!(error).context("--scenario (an id, or the path of a scenario's folder)"))
        }
        _ => Failure::Usage(anyhow!(error).context(format!("the scenario {name}"))),
    })
}

/// Fixed before the first episode: what a certification needs, unless its author asks for another number.
fn plan(arguments: &VerifyArgs, scenario: &Scenario) -> Result<Plan, Failure> {
    let (target, confidence_level) = (arguments.max_violation_probability, arguments.confidence);
    let episodes =
        arguments.episodes.unwrap_or_else(|| Plan::default_episodes(target, confidence_level, Plan::DEFAULT_EPISODES));
    if episodes > MAX_EPISODES {
        let error = anyhow!("{episodes} clean episodes would be needed; at most {MAX_EPISODES} can be run");
        return Err(Failure::Usage(error.context("--max-violation-probability and --confidence")));
    }
    let max_violation_probability = scenario.arena.max_violation_probability;
    Ok(Plan { episodes, target, confidence_level, max_violation_probability })
}

fn header(arguments: &VerifyArgs, plan: Plan, scenario: &Scenario, policy: &ResolvedPolicy) -> JobHeader {
    let mut random = [0; 10];
    OsEntropy.fill(&mut random);
    let created_at = SystemClock.now();
    let (seed, policy_key) = job_seeds(arguments.seed, arguments.policy_key.clone(), &OsEntropy);
    JobHeader {
        job_id: JobId::new(created_at, random),
        scenario: scenario.id.clone(),
        scenario_version: scenario.version.clone(),
        scenario_digest: scenario.digest,
        policy_name: policy.name.clone(),
        policy_sha256: policy.sha256,
        policy_identity: policy.identity,
        replan_steps: policy.replan_steps,
        seed,
        policy_key: Some(policy_key),
        record: arguments.record,
        plan,
        created_at,
        warnings: plan.shortfall().into_iter().collect(),
        arena: None,
    }
}

fn report(header: &JobHeader, kept: bool, episodes: &[EpisodeResult]) -> Result<JobReport, Failure> {
    let conclusion = conclude(&header.plan, header.policy_identity, episodes)
        .ok_or_else(|| Failure::Ours(anyhow!("no episode was run")))?;
    let mut report = JobReport::queued(header)
        .in_status(JobStatus::Completed, None)
        .with_episodes(episodes)
        .with_conclusion(&conclusion);
    report.report_path = kept.then(|| REPORT_HTML.to_owned());
    Ok(report)
}

/// Lets the judge see what is worth it.
fn look(engine: &Engine, judge: &Judge, evaluation: &Evaluation, episodes: &mut [EpisodeResult], cancel: &Cancel) {
    let Evaluation { job, .. } = evaluation;
    let Some(folder) = &job.folder else { return };
    let mut judging = Judging::new(engine, judge, &job.scenario, job.seeds.clone());
    for index in worth_judging(episodes, usize::from(judge.options().episodes)) {
        let episode = &mut episodes[index];
        let Some(trace) = episode.evidence.iter().find(|file| file.name.ends_with(files::TRACE)) else { continue };
        let trace = folder.join(&trace.name);
        let place = trace.parent().unwrap_or(folder).to_owned();
        let (judgement, frames) = judging.judge(episode, &trace, &place, cancel);
        episode.add_judgement(judgement, frames);
    }
}

fn write_output(out: &Path, report: &JobReport, scenario: &Scenario, record: Record) -> anyhow::Result<()> {
    fs::write(out.join(REPORT_JSON), json::render(report)?)?;
    let card = scenario.card();
    let page = super::report::page(&announced(report, record), Some(&card), out)?;
    fs::write(out.join(REPORT_HTML), page)?;
    copy_files(&scenario.folder, &out.join(SCENARIO))?;
    for (id, folder) in scenario.robot_folders() {
        copy_files(folder, &out.join(ROBOTS).join(id))?;
    }
    Ok(())
}

/// Copies the very files that a scenario's digest covers, in their folders.
fn copy_files(from: &Path, to: &Path) -> anyhow::Result<()> {
    for file in scenario_files(from)? {
        let copy = to.join(&file);
        copy.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::copy(from.join(&file), copy)?;
    }
    Ok(())
}

/// The report with the paths that logs and videos will have: the page is signed with the verdict, so it can't
/// change once they are there.
fn announced(report: &JobReport, record: Record) -> JobReport {
    let mut report = report.clone();
    let mut any = false;
    for result in report.episode_details.iter_mut().filter(|result| record.wants(result)) {
        let inside = format!("{EPISODES}/{:03}", result.episode);
        result.video_path = Some(format!("{inside}/{}", files::VIDEO));
        result.set_log(Some(format!("{inside}/{}", files::LOG)));
        any = true;
    }
    if any {
        let note = "Logs and videos are drawn after the verdict and signed apart; where one is missing, `assay render` \
                    draws it.";
        report.warnings.push(note.to_owned());
    }
    report
}

fn show(arguments: &VerifyArgs, report: &JobReport, again: RunAgain) -> Result<(), Failure> {
    if arguments.json {
        super::stdout::print(&json::render(report).ours()?);
        return Ok(());
    }
    super::stdout::print(&super::report::for_terminal(report, paths(arguments.out.as_deref(), report), Some(again)));
    Ok(())
}

/// Returns the written files and their paths.
fn paths(out: Option<&Path>, report: &JobReport) -> Vec<(String, String)> {
    let Some(out) = out else {
        return vec![("evidence".to_owned(), "not kept; give --out DIR for report, videos and traces".to_owned())];
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
