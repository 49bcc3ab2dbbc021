//! `assay verify`: evaluates a policy on a scenario, without a server.

mod arguments;
mod job_header;
mod judge_episodes;
mod rendering;
mod results;
mod run_again;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use assay_model::{Clock, JobHeader, SystemClock};
use assay_scenario::{LibraryError, Scenario};
use assay_worker::{Engine, Evaluation, Job, PolicySource, STATEMENT_FILE, WallBudget, evaluate, evidence_in, sign};

pub(crate) use self::arguments::VerifyArgs;
use self::job_header::{header, plan};
use self::judge_episodes::judge_episodes;
use self::rendering::Verified;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::output::Output;
use crate::progress::Progress;
use crate::source::{self, PolicyArgs};

/// Runs the command.
pub(crate) fn run(arguments: &VerifyArgs) -> Result<ExitStatus, Failure> {
    let cancel = cancel_on_signal().or_internal()?;
    let installation = super::machine::installation()?;
    let output = arguments.out.as_deref().map(Output::check).transpose().or_usage()?;
    let engine = super::machine::engine(&installation, arguments.lanes, arguments.isolation.accepted())?
        .guarded_by(arguments.policy_server.guard())
        .or_internal()?
        .with_wall_budget(wall_budget(arguments.wall_budget))
        .with_video_format(arguments.video.video);
    let work = engine.scratch("verify").or_internal()?;
    let judge = arguments.judge.settings().judge()?;
    let Prepared { header, job } = prepare(arguments, &engine, work.path(), judge.is_some())?;
    let keyring = arguments.out.as_ref().map(|_| arguments.signing.keyring()).transpose()?;
    if let (Some(output), PolicySource::Folder(_)) = (&output, &job.policy) {
        output.ensure_outside(&arguments.policy).or_usage()?;
    }
    // After all checks of the arguments, so that an invalid command does not remove an earlier report.
    output.as_ref().map(Output::prepare).transpose().or_usage()?;
    let evaluation = Evaluation { job, plan: header.plan, lanes: engine.lanes() };
    let progress = Progress::new(header.plan.episodes, arguments.json);
    let started_at = SystemClock.now();
    let outcome = evaluate(&engine, &evaluation, &cancel, &progress);
    progress.clear();
    if outcome.is_err() {
        output.as_ref().map(Output::abandon).transpose().or_internal()?;
    }
    let (mut episodes, job) = (outcome?, evaluation.job);
    if let Some(judge) = &judge {
        judge_episodes(&engine, judge, &job, &mut episodes, &cancel);
    }
    let mut report = results::report(&header, arguments.out.is_some(), &episodes)?;
    report.fingerprint = Some(engine.fingerprint_of(engine.fingerprint(), &header));
    (report.started_at, report.completed_at) = (Some(started_at), Some(SystemClock.now()));
    let signed = arguments.out.as_deref().zip(keyring.as_ref());
    if let Some((out, keyring)) = signed {
        report.signed_by = Some(keyring.keyid().or_internal()?);
        report.attestation_path = Some(STATEMENT_FILE.to_owned());
        results::write(out, &report, &job.scenario, arguments.record).or_internal()?;
        let timestep_s = Some(job.scenario.world.timestep_s);
        sign(out, &report, evidence_in(out).or_internal()?, timestep_s, keyring).or_internal()?;
        results::keep_policy(arguments, &job.policy, &report, out);
    }
    results::show(arguments, &report, run_again::command(arguments, &installation, &job.scenario))?;
    let status = report.verdict.map(|verdict| arguments.fail_on.status(verdict));
    let code = status.ok_or_else(|| Failure::Internal(anyhow!("no episode was run")))?;
    match signed {
        Some((out, keyring)) => {
            Verified { arguments, out, report: &report, job: &job, code }.render(&engine, keyring, &cancel)
        }
        None => Ok(code),
    }
}

/// A job that is ready to be evaluated.
struct Prepared {
    header: JobHeader,
    job: Job,
}

/// Resolves scenario and policy, and plans the job. `work` is a folder for temporary files.
fn prepare(arguments: &VerifyArgs, engine: &Engine, work: &Path, is_judged: bool) -> Result<Prepared, Failure> {
    let scenario = find(engine, &arguments.scenario)?;
    let policy = source::find(
        &arguments.policy,
        PolicyArgs { server: &arguments.policy_server, models: &arguments.models, adapter: &arguments.adapter },
        (engine, &scenario),
        &work.join("policy"),
    )?;
    let mut header = header(arguments, plan(arguments, &scenario)?, &scenario, &policy);
    if matches!(policy.source, PolicySource::Folder(_)) {
        engine.runs_policies().or_internal()?;
        header.warnings.extend(engine.isolation_warning());
        header.warnings.extend(policy.warnings);
    }
    let share = assay_model::episode_share(arguments.evidence.max_evidence_bytes(), header.plan.episodes);
    let job = Job {
        scenario: Arc::new(scenario),
        policy: policy.source,
        seeds: header.job_seeds(),
        record: arguments.record,
        // A judge needs recordings even if no evidence is kept.
        folder: arguments.out.clone().or_else(|| is_judged.then(|| work.join("evidence"))),
        max_episode_bytes: share,
        max_observation_bytes: arguments.record_observations.then_some(share / 2),
    };
    Ok(Prepared { header, job })
}

/// Finds the scenario with the id `name`, or in the folder `name`.
pub(super) fn find(engine: &Engine, name: &str) -> Result<Scenario, Failure> {
    engine.library().find(name).map_err(|error| match error {
        LibraryError::Unknown { .. } => {
            Failure::Usage(anyhow!(error).context("--scenario (an id, or the path of a scenario's folder)"))
        }
        _ => Failure::Usage(anyhow!(error).context(format!("the scenario {name}"))),
    })
}

/// Returns the budget given on the command line, or the default.
fn wall_budget(asked_s: Option<u32>) -> WallBudget {
    asked_s.map_or_else(WallBudget::default, |seconds| WallBudget {
        base: Duration::from_secs(seconds.into()),
        per_simulated_s: 0.0,
    })
}
