//! The first steps of an episode: once, again with a fresh policy, and, if there are images, once without them.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use assay_model::lane::{Probe, RunEpisode};
use assay_model::{EpisodeSeeds, PUBLIC_SEED, PolicyKey};

use super::facts::is_deterministic;
use super::job::PreflightJob;
use super::tries::{Tried, Tries};
use super::watch::{AnswerTimer, watch};
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
/// Wall-clock time after which a try takes no further step.
const TRY_WALL_MS: u32 = 700;
/// Maximum wall-clock time of an import: the preflight's result is due within 3 s, while an episode may spend more.
pub(super) const IMPORT_PATIENCE: Duration = Duration::from_millis(1500);
/// Maximum CPU time of an import for which the try is repeated.
const REPEAT_CPU: Duration = Duration::from_millis(300);
/// No further try is started once the preflight has taken this long.
const REPEATS_END: Duration = Duration::from_secs(5);
/// Minimum remaining time for another try.
const LEAST_REPEAT: Duration = Duration::from_millis(300);
/// Maximum wall-clock time of all answers of a try, without the lane's own work. Only a single slow answer can exceed
/// it, as a try takes no step after [`TRY_WALL_MS`].
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_millis(1300);
/// Interval for polling a policy that is being imported.
const TICK: Duration = Duration::from_millis(1);
/// Maximum wall-clock times of a try.
#[derive(Debug, Clone, Copy)]
struct Patience {
    import: Duration,
    answer: Duration,
}

pub(super) fn try_out(engine: &Engine, job: &PreflightJob, limit: &Cancel) -> Result<Tries, SessionError> {
    let staged = engine.staged(&job.scenario).map_err(SessionError::of)?;
    // The same start as `assay verify --seed 0`, so that findings can be reproduced.
    let seeds = EpisodeSeeds::with_key(PUBLIC_SEED, &PolicyKey::public(), 0);
    // A service's last lane is the least likely to be busy.
    let core = core_of(engine.lanes().saturating_sub(1));
    let mut lane = LaneProcess::start(engine, &job.scenario, &staged, core).map_err(SessionError::of)?;
    let began = Instant::now();
    let prepare = |patience| job.policy.prepare(engine, &job.scenario, (seeds.policy, core, false), Some(patience));
    let replan_steps = job.replan_steps();
    let mut attempt = |patience: Patience, black_images| {
        let probe = Probe { max_steps: STEPS, max_wall_ms: TRY_WALL_MS, black_images };
        let prepared = prepare(patience.import)?;
        try_once(engine, &mut lane, prepared, (seeds, replan_steps, probe), (patience.answer, limit))
            .map_err(to_session_error)
    };
    // The policy is imported while the lane compiles its scenario.
    let first = attempt(Patience { import: IMPORT_PATIENCE, answer: ANSWER_PATIENCE }, false)?;
    let mut repeat = |black_images| -> Result<Option<Tried>, SessionError> {
        let left = REPEATS_END.saturating_sub(began.elapsed());
        let is_quick = first.import_cpu.is_none_or(|cpu| cpu < REPEAT_CPU);
        let patience = Patience { import: IMPORT_PATIENCE.min(left), answer: ANSWER_PATIENCE.min(left) };
        let repeats = first.is_whole() && is_quick && left > LEAST_REPEAT;
        if !repeats {
            return Ok(None);
        }
        match attempt(patience, black_images) {
            // Cut off by the preflight's limit: our own work was slow, and the first try counts.
            Err(SessionError::Cancelled) => Ok(None),
            tried => Ok(Some(tried?).filter(|tried| tried.given_up.is_none() && !tried.silent)),
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
    (answer, limit): (Duration, &Cancel),
) -> Result<Tried, EpisodeAttemptError> {
    let mut upcoming = upcoming.begin(engine)?;
    let (began, connects) = (Instant::now(), matches!(upcoming, PendingPolicy::Connecting(_)));
    while !upcoming.is_done() {
        if limit.is_cancelled() {
            return Err(LaneError::Cancelled.into());
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
        PolicyStart::GivenUp(cpu) => return Ok(Tried { given_up: Some(cpu), ..Tried::default() }),
        PolicyStart::Disturbed(evidence) => return Err(LaneError::Failed(evidence).into()),
    };
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
    let (slow, timer) = (Cancel::new(), AnswerTimer::default());
    let done = thread::scope(|scope| {
        let (ended, running) = channel::<()>();
        scope.spawn(|| watch(running, || timer.exceeds(answer), limit, &slow));
        let done = lane.run(run, stream.descriptors(), &slow, &mut &timer);
        drop(ended);
        done
    });
    drop(stream);
    let done = match done {
        Err(LaneError::Cancelled) if !limit.is_cancelled() => {
            return Ok(Tried { speaks, import_cpu, silent: true, ..Tried::default() });
        }
        done => done?,
    };
    let mut result = done.result;
    let answers = end_policy(policy, &mut result);
    let probed = done.probed.unwrap_or_default();
    Ok(Tried { speaks, import_cpu, given_up: None, silent: false, probed, answers, error: result.error })
}
