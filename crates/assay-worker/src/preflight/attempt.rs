//! The first steps of an episode: once, again with a fresh policy, and, if there are images, once without them.

use std::thread;
use std::time::{Duration, Instant};

use assay_jail::{WorkEnd, WorkLimit};
use assay_model::lane::{Probe, RunEpisode};
use assay_model::{EpisodeSeeds, PUBLIC_SEED, PolicyKey};

use super::facts::is_deterministic;
use super::job::PreflightJob;
use super::tries::{Tried, Tries};
use super::watch::{TryLimits, TryWatch};
use crate::engine::core_of;
use crate::episode::attempt::EpisodeAttemptError;
use crate::episode::finalizer::end_policy;
use crate::episode::lane::{Lane, LaneError};
use crate::episode::lane_process::{LaneProcess, nanos};
use crate::episode::policy::{PendingPolicy, PolicyStart};
use crate::episode::results::not_started_error;
use crate::episode::session_error::SessionError;
use crate::{Cancel, Engine};

/// Number of control steps of a try.
pub(super) const STEPS: u32 = 25;
/// Work of lane and policy after which a try takes no further step.
const TRY_WORK: Duration = Duration::from_millis(700);
/// Maximum CPU time and sleep of an import: the preflight's result is due within 3 s, while an episode may spend more.
pub(super) const IMPORT_PATIENCE: Duration = Duration::from_millis(1500);
/// Limits of the lane's own work: compiling the scenario, drawing pictures, and stepping.
pub(super) const LANE: WorkLimit = WorkLimit::new(Duration::from_secs(30), Duration::from_secs(10));
/// Maximum wall-clock time of getting a policy ready, for what its own limits do not see.
const LONGEST: Duration = Duration::from_secs(3600);
/// Maximum CPU time of an import for which the try is repeated.
const REPEAT_CPU: Duration = Duration::from_millis(300);
/// No further try is started once lane and policies have worked for so long.
const REPEATS_END: Duration = Duration::from_secs(5);
/// Minimum remaining work for another try.
const LEAST_REPEAT: Duration = Duration::from_millis(300);
/// Maximum CPU time and sleep of all answers of a try; of a server, their wall-clock time. Only a single slow answer
/// can exceed it, as a try takes no step after [`TRY_WORK`].
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_millis(1300);
/// Interval for polling a policy that is being imported.
const TICK: Duration = Duration::from_millis(1);

/// Maximum work of the policy in a try.
#[derive(Debug, Clone, Copy)]
struct Patience {
    import: Duration,
    answer: Duration,
}

pub(super) fn try_out(engine: &Engine, job: &PreflightJob, cancel: &Cancel) -> Result<Tries, SessionError> {
    let staged = engine.staged(&job.scenario).map_err(SessionError::of)?;
    // The same start as `assay verify --seed 0`, so that findings can be reproduced.
    let seeds = EpisodeSeeds::with_key(PUBLIC_SEED, &PolicyKey::public(), 0);
    // A service's last lane is the least likely to be busy.
    let core = core_of(engine.lanes().saturating_sub(1));
    let lane = LaneProcess::start(engine, &job.scenario, &staged, core).map_err(SessionError::of)?;
    let mut lane = lane.with_patience(LANE);
    let prepare = |patience| job.policy.prepare(engine, &job.scenario, (seeds.policy, core, false), Some(patience));
    let replan_steps = job.replan_steps();
    let mut policies_used = Duration::ZERO;
    // Returns the try, and the work of lane and policies so far.
    let mut attempt = |patience: Patience, black_images| {
        let probe = Probe { max_steps: STEPS, black_images };
        let prepared = prepare(patience.import)?;
        try_once(engine, &mut lane, prepared, (seeds, replan_steps, probe), (patience.answer, cancel))
            .map(|tried| {
                policies_used += tried.used;
                (tried, lane.cpu_time() + policies_used)
            })
            .map_err(to_session_error)
    };
    // The policy is imported while the lane compiles its scenario.
    let (first, mut used) = attempt(Patience { import: IMPORT_PATIENCE, answer: ANSWER_PATIENCE }, false)?;
    let mut repeat = |black_images| -> Result<Option<Tried>, SessionError> {
        let left = REPEATS_END.saturating_sub(used);
        let is_quick = first.import_cpu.is_none_or(|cpu| cpu < REPEAT_CPU);
        let patience = Patience { import: IMPORT_PATIENCE.min(left), answer: ANSWER_PATIENCE.min(left) };
        let repeats = first.is_whole() && is_quick && left > LEAST_REPEAT;
        if !repeats {
            return Ok(None);
        }
        match attempt(patience, black_images) {
            // Cut off by the lane's limit: the first try counts.
            Err(SessionError::OverWorkLimit) => Ok(None),
            tried => {
                let (tried, so_far) = tried?;
                used = so_far;
                Ok(Some(tried).filter(|tried| tried.given_up.is_none() && !tried.silent))
            }
        }
    };
    let second = repeat(false)?;
    let alike = second.as_ref().and_then(|second| is_deterministic(&first, second));
    let blind = if first.sees_images() && alike == Some(true) { repeat(true)? } else { None };
    Ok(Tries { first, second, blind })
}

fn to_session_error(error: EpisodeAttemptError) -> SessionError {
    match error {
        EpisodeAttemptError::Lane(LaneError::Cancelled) => SessionError::Cancelled,
        EpisodeAttemptError::Lane(LaneError::OverLimit(_)) => SessionError::OverWorkLimit,
        EpisodeAttemptError::Lane(LaneError::Refused(message)) => SessionError::Scenario(message),
        EpisodeAttemptError::Lane(error) => SessionError::of(error),
        EpisodeAttemptError::Preparation(error) => error,
    }
}

fn try_once(
    engine: &Engine,
    lane: &mut LaneProcess,
    upcoming: PendingPolicy,
    (seeds, replan_steps, probe): (EpisodeSeeds, Option<u32>, Probe),
    (answer, cancel): (Duration, &Cancel),
) -> Result<Tried, EpisodeAttemptError> {
    let mut upcoming = upcoming.begin(engine)?;
    let (began, connects) = (Instant::now(), matches!(upcoming, PendingPolicy::Connecting(_)));
    while !upcoming.is_done() {
        if cancel.is_cancelled() {
            return Err(LaneError::Cancelled.into());
        }
        if began.elapsed() > LONGEST {
            return Err(LaneError::OverLimit(WorkEnd::Starved).into());
        }
        // The pool applies its own configured limit.
        if connects && began.elapsed() > answer {
            return Ok(Tried { silent: true, ..Tried::default() });
        }
        thread::sleep(TICK);
    }
    let mut policy = match upcoming.wait()? {
        PolicyStart::Ready(policy) => policy,
        PolicyStart::Failed(failure) => {
            return Ok(Tried { error: Some(not_started_error(*failure)), ..Tried::default() });
        }
        PolicyStart::GivenUp(cpu) => return Ok(Tried { given_up: Some(cpu), used: cpu, ..Tried::default() }),
        PolicyStart::Disturbed(evidence) => return Err(LaneError::Failed(evidence).into()),
    };
    let connecting = began.elapsed();
    let (speaks, import_cpu) = (policy.speaks().map(str::to_owned), policy.import_cpu());
    let stream = policy.take_stream().ok_or_else(|| SessionError::internal("the policy has no stream"))?;
    let (nonce, policy_pid) = (policy.nonce(), policy.pid());
    let import_ends_at_ns = policy.import_ends_at().map(nanos);
    let run = RunEpisode {
        episode: 0,
        seeds,
        nonce,
        policy_pid,
        import_ends_at_ns,
        evidence: None,
        plain: false,
        replan_steps,
        observations: None,
        probe: Some(probe),
    };
    let limits = TryLimits { answers: answer, steps: TRY_WORK, lane: LANE };
    let mut watch = TryWatch::begin(&*policy, limits).map_err(LaneError::Io)?;
    let done = lane.run(run, stream.descriptors(), cancel, &mut watch);
    let (silent, used) = (watch.is_silent(), import_cpu.unwrap_or(connecting) + watch.policy_used());
    drop(stream);
    let done = match done {
        Err(LaneError::OverLimit(_)) if silent => {
            return Ok(Tried { speaks, import_cpu, used, silent: true, ..Tried::default() });
        }
        done => done?,
    };
    let mut result = done.result;
    let answers = end_policy(policy, &mut result);
    let probed = done.probed.unwrap_or_default();
    let error = result.error;
    Ok(Tried { speaks, import_cpu, used, given_up: None, silent: false, probed, answers, error })
}
