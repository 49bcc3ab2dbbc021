//! A preflight: the first steps of an episode, twice, in the real lane and jail (or with the real server), to show an
//! author within seconds the data that a scenario sends and expects, and the errors in the policy.

mod attempt;
mod facts;
mod findings;
mod remedy;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{EpisodeError, PolicyIdentity, Preflight};
use assay_scenario::Scenario;

use crate::episode::session::SessionError;
use crate::{Cancel, Engine, PolicySource};
use attempt::{Tries, try_out};

/// Maximum wall-clock time of a preflight.
const LIMIT: Duration = Duration::from_secs(10);
/// Interval for checking the limit.
const TICK: Duration = Duration::from_millis(50);

/// A preflight to run.
#[derive(Debug)]
pub struct PreflightJob {
    /// The scenario to try the policy on.
    pub scenario: Arc<Scenario>,
    /// The location of the policy.
    pub policy: PolicySource,
    /// The author's name for it.
    pub policy_name: String,
    /// SHA-256 of its archive; `None` for a server.
    pub policy_sha256: Option<String>,
}

impl PreflightJob {
    fn identity(&self) -> PolicyIdentity {
        match self.policy {
            PolicySource::Folder(_) => PolicyIdentity::Measured,
            PolicySource::Server { .. } => PolicyIdentity::Declared,
        }
    }

    fn replan_steps(&self) -> Option<u32> {
        match &self.policy {
            PolicySource::Folder(_) => None,
            PolicySource::Server { server, .. } => server.replan_steps,
        }
    }
}

/// Tries the policy; its failures are in the result. Takes well under 3 s on an idle machine, however long the policy's
/// import and its answers take; never much longer than 10 s.
///
/// # Errors
/// [`SessionError`]: cancelled, or a scenario error or an internal error.
pub fn preflight(engine: &Engine, job: &PreflightJob, cancel: &Cancel) -> Result<Preflight, SessionError> {
    let began = Instant::now();
    let limit = Cancel::new();
    let tries = thread::scope(|scope| {
        let (ended, running) = channel::<()>();
        scope.spawn(|| watch(running, LIMIT, cancel, &limit));
        let tries = try_out(engine, job, &limit);
        drop(ended);
        tries
    });
    let tries = match tries {
        Err(SessionError::Cancelled) if !cancel.is_cancelled() => Tries::failed(too_long()),
        other => other?,
    };
    let findings = findings::of(job, &tries);
    Ok(facts::preflight(job, &tries, findings, began.elapsed()))
}

/// Sets `limit` after that time, or when the caller cancels; ends when the sender of `running` is dropped.
fn watch(running: Receiver<()>, after: Duration, cancel: &Cancel, limit: &Cancel) {
    let began = Instant::now();
    while running.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        if cancel.is_cancelled() || began.elapsed() > after {
            limit.cancel();
        }
    }
}

fn too_long() -> EpisodeError {
    let message = format!(
        "the preflight was given up after {} s of wall-clock time: the policy was not imported, or gave no answer, or the \
         machine is too busy",
        LIMIT.as_secs()
    );
    EpisodeError { code: "timeout".to_owned(), message, log_tail: String::new() }
}
