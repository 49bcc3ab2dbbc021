//! Entry points for fuzzing a policy's answers to its lane.

use std::io::{self, Write};
use std::os::fd::OwnedFd;

use assay_model::frame::Init;
use assay_model::lane::RunEpisode;
use assay_model::{Comparison, EpisodeSeeds};
use assay_scenario::Budget;

use crate::Trace;
use crate::compare::compared;
use crate::policy_link::{PolicyLink, WaitEvents};

/// The nonce of the connection: frames with another one are refused.
pub const NONCE: u64 = 7;
/// Numbers in an action.
const ACTION_DIM: usize = 2;
/// Maximum number of answers requested.
const MAX_STEPS: usize = 64;

struct NoWaitEvents;

impl WaitEvents for NoWaitEvents {
    fn waiting(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn answered(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs an episode with a policy that sends `bytes`, at most a pipe's 64 KiB, and closes its end.
///
/// # Errors
/// No pipe can be created.
pub fn policy_answers(bytes: &[u8]) -> io::Result<()> {
    // Kept open, because a lane that writes to a closed pipe is killed by a signal.
    let (_read, to) = io::pipe()?;
    let (from, mut policy) = io::pipe()?;
    let bytes = &bytes[..bytes.len().min(65_536)];
    policy.write_all(bytes)?;
    drop(policy);
    let run = RunEpisode {
        episode: 0,
        seeds: EpisodeSeeds { world: 0, policy: 0 },
        nonce: NONCE,
        policy_pid: None,
        import_ends_at_ns: None,
        evidence: None,
        plain: false,
        observations: None,
        probe: None,
    };
    let mut link = PolicyLink::new((OwnedFd::from(to), OwnedFd::from(from)), &run, Budget::default())?;
    let init = Init {
        seed: 0,
        scenario: "x".to_owned(),
        instruction: None,
        observation: Vec::new(),
        action_dim: u32::try_from(ACTION_DIM).unwrap_or(0),
    };
    if link.start(&init, &mut NoWaitEvents).is_ok() {
        let mut action = [0.0; ACTION_DIM];
        for _ in 0..MAX_STEPS {
            if link.ask(&[0; 16], &mut action, &mut NoWaitEvents).is_err() {
                break;
            }
            assert!(action.iter().all(|x| x.is_finite()), "an action that is not finite was accepted");
        }
    }
    link.close();
    Ok(())
}

/// Compares two recordings.
#[must_use]
pub fn compare(recorded: &Trace, replayed: &Trace) -> Comparison {
    compared(recorded, replayed)
}
