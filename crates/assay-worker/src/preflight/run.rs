//! Runs a preflight within its limits.

use std::time::Instant;

use assay_jail::LEAST_SHARE;
use assay_model::{EpisodeError, PolicyErrorCode, Preflight};

use super::attempt::{LANE, try_out};
use super::job::PreflightJob;
use super::tries::Tries;
use super::{facts, findings};
use crate::episode::session_error::SessionError;
use crate::{Cancel, Engine};

/// Tries the policy; its failures are in the result. Takes well under 3 s on an idle machine, regardless of how long
/// the policy's import and its answers take, and longer in proportion on a busy one.
///
/// # Errors
/// [`SessionError`]: cancelled, or a scenario error or an internal error.
pub fn preflight(engine: &Engine, job: &PreflightJob, cancel: &Cancel) -> Result<Preflight, SessionError> {
    let began = Instant::now();
    let tries = match try_out(engine, job, cancel) {
        Err(SessionError::OverWorkLimit) => Tries::failed(too_long()),
        other => other?,
    };
    let findings = findings::of(job, &tries);
    Ok(facts::preflight(job, &tries, findings, began.elapsed()))
}

fn too_long() -> EpisodeError {
    let message = format!(
        "the preflight was stopped: compiling the scenario and drawing its pictures took more than {} s of CPU time, \
         or the machine had less than 1/{LEAST_SHARE} of a processor left for it",
        LANE.cpu.as_secs()
    );
    EpisodeError { code: PolicyErrorCode::Timeout, message, log_tail: String::new() }
}
