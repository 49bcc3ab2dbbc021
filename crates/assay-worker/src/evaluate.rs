//! Evaluation of one job from start to end without records, for the command line.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use assay_model::{EpisodeResult, Plan};

use crate::engine::core_of;
use crate::episode::evidence;
use crate::episode::host::EpisodeHost;
use crate::episode::lane_session::LaneSession;
use crate::episode::rejection::Rejection;
use crate::episode::session_events::SessionEvents;
use crate::{Cancel, Engine, Job, SessionError};

/// Receives the events of an evaluation; called from several threads.
pub trait EvaluationEvents: Sync {
    /// `step` of `of` control steps of an episode are done.
    fn progress(&self, episode: u32, step: u32, of: u32);
    /// An episode is complete.
    fn finished(&self, result: &EpisodeResult);
}

/// An evaluation to run.
#[derive(Debug)]
pub struct Evaluation {
    /// Policy, scenario and seed.
    pub job: Job,
    /// Number of episodes, and the conditions that end the job.
    pub plan: Plan,
    /// Number of lanes to distribute the episodes over; a policy server limits it to its own concurrency.
    pub lanes: usize,
}

struct Collector<'a> {
    results: Mutex<BTreeMap<u32, EpisodeResult>>,
    plan: &'a Plan,
    /// Episodes from this index on are not wanted.
    end: &'a AtomicU32,
    events: &'a dyn EvaluationEvents,
}

impl SessionEvents for Collector<'_> {
    fn progress(&self, episode: u32, step: u32, of: u32) {
        self.events.progress(episode, step, of);
    }

    fn wanted(&self, episode: u32) -> bool {
        episode < self.end.load(Ordering::SeqCst)
    }

    fn finished(&self, result: EpisodeResult) -> Result<(), Rejection> {
        if self.plan.ends_with(&result) {
            self.end.fetch_min(result.episode + 1, Ordering::SeqCst);
        }
        self.events.finished(&result);
        self.results.lock().unwrap_or_else(PoisonError::into_inner).insert(result.episode, result);
        Ok(())
    }
}

/// Runs the plan's episodes and returns those that count ([`Plan::counted`]) in order of index, independent of the
/// number of lanes. Evidence of the others is removed.
///
/// # Errors
/// [`SessionError`]: cancelled, or an internal or a scenario error. The policy's failures are in the results.
pub fn evaluate(
    engine: &Engine,
    evaluation: &Evaluation,
    cancel: &Cancel,
    events: &dyn EvaluationEvents,
) -> Result<Vec<EpisodeResult>, SessionError> {
    evaluate_on(engine, evaluation, cancel, events)
}

/// Runs [`evaluate`] with the lanes and policies of `host`.
pub(crate) fn evaluate_on(
    host: &dyn EpisodeHost,
    evaluation: &Evaluation,
    cancel: &Cancel,
    events: &dyn EvaluationEvents,
) -> Result<Vec<EpisodeResult>, SessionError> {
    let Evaluation { job, plan, lanes } = evaluation;
    let end = AtomicU32::new(plan.episodes);
    let collector = Collector { results: Mutex::new(BTreeMap::new()), plan, end: &end, events };
    let counter = AtomicU32::new(0);
    let next = || {
        let episode = counter.fetch_add(1, Ordering::SeqCst);
        (episode < end.load(Ordering::SeqCst)).then_some(episode)
    };
    let lanes = job.policy.lanes(*lanes, plan.episodes as usize);
    let outcome = thread::scope(|scope| {
        let run = |lane: usize| LaneSession::new(host, job, core_of(lane), cancel)?.run(next, &collector);
        let threads: Vec<_> = (0..lanes).map(|lane| scope.spawn(move || run(lane))).collect();
        let panicked = || Err(SessionError::internal("a lane's thread panicked"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).fold(Ok(()), Result::and)
    });
    if cancel.is_cancelled() {
        // Cancellation takes precedence over other errors.
        return Err(SessionError::Cancelled);
    }
    outcome?;
    let results = collector.results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut results: Vec<_> = results.into_values().collect();
    let counted = plan.counted(&results).len();
    for dropped in results.drain(counted..) {
        if let Some(folder) = &job.folder {
            evidence::forget(folder, dropped.episode).map_err(SessionError::of)?;
        }
    }
    Ok(results)
}
