//! Runs a preflight within its time limit.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{EpisodeError, PolicyErrorCode, Preflight};

use super::attempt::try_out;
use super::job::PreflightJob;
use super::tries::Tries;
use super::watch::watch;
use super::{facts, findings};
use crate::episode::session_error::SessionError;
use crate::{Cancel, Engine};

/// Maximum wall-clock time of a preflight. The policy has its own limits, which end it within 3 s; the rest is for
/// compiling the scenario and drawing its first picture on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// Tries the policy; its failures are in the result. Takes well under 3 s on an idle machine, regardless of how long
/// the policy's import and its answers take, and never much longer than 30 s.
///
/// # Errors
/// [`SessionError`]: cancelled, or a scenario error or an internal error.
pub fn preflight(engine: &Engine, job: &PreflightJob, cancel: &Cancel) -> Result<Preflight, SessionError> {
    let began = Instant::now();
    let limit = Cancel::new();
    let tries = thread::scope(|scope| {
        let (ended, running) = channel::<()>();
        scope.spawn(|| watch(running, || began.elapsed() > LIMIT, cancel, &limit));
        let tries = try_out(engine, job, &limit);
        drop(ended);
        tries
    });
    if cancel.is_cancelled() {
        return Err(SessionError::Cancelled);
    }
    let tries = match tries {
        Err(SessionError::Cancelled) => Tries::failed(too_long()),
        other => other?,
    };
    let findings = findings::of(job, &tries);
    Ok(facts::preflight(job, &tries, findings, began.elapsed()))
}

fn too_long() -> EpisodeError {
    let message = format!(
        "the preflight was stopped after {} s of wall-clock time: the import did not end, the policy did not answer, or the \
         machine is too busy; try again",
        LIMIT.as_secs()
    );
    EpisodeError { code: PolicyErrorCode::Timeout, message, log_tail: String::new() }
}
