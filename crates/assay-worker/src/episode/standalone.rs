//! Starts a policy for an episode whose simulator is elsewhere.

use std::io;
use std::thread;
use std::time::Duration;

use assay_policy::{PolicyConnection, PolicyFailure};
use assay_scenario::Scenario;

use crate::engine::core_of;
use crate::episode::policy::PolicyStart;
use crate::{Cancel, Engine, PolicySource, SessionError};

/// Maximum number of starts that other processes may disturb.
const MAX_STARTS: u32 = 3;
/// Interval for polling a policy that is being started.
const TICK: Duration = Duration::from_millis(1);

/// The outcome of starting a policy.
pub enum StartedPolicy {
    /// The policy waits for its episode.
    Ready(Box<dyn PolicyConnection>),
    /// The policy is at fault.
    Failed(Box<PolicyFailure>),
}

/// Starts the policy at `source` for an episode of `scenario` with this seed.
///
/// # Errors
/// It was cancelled, or an internal error occurred.
pub fn start_policy(
    engine: &Engine,
    (source, scenario): (&PolicySource, &Scenario),
    seed: u64,
    cancel: &Cancel,
) -> Result<StartedPolicy, SessionError> {
    let mut evidence = String::new();
    for _ in 0..MAX_STARTS {
        let mut pending = source.prepare(engine, scenario, (seed, core_of(0), false), None)?.begin(engine)?;
        while !pending.is_done() {
            if cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            thread::sleep(TICK);
        }
        match pending.wait()? {
            PolicyStart::Ready(policy) => return Ok(StartedPolicy::Ready(policy)),
            PolicyStart::Failed(failure) => return Ok(StartedPolicy::Failed(failure)),
            PolicyStart::Disturbed(why) => evidence = why,
            PolicyStart::GivenUp(_) => {
                return Err(SessionError::internal("an import without a time limit was given up"));
            }
        }
    }
    Err(SessionError::of(io::Error::other(format!("the policy was disturbed {MAX_STARTS} times: {evidence}"))))
}

impl std::fmt::Debug for StartedPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ready(_) => f.write_str("Ready"),
            Self::Failed(failure) => write!(f, "Failed({failure:?})"),
        }
    }
}
