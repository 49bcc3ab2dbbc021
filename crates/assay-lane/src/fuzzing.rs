//! The fuzz targets of a policy's answers to its lane, and of recorded traces.

use std::io::{self, Write};
use std::os::fd::OwnedFd;

use assay_fuzz::MemoryFile;
use assay_model::EpisodeSeeds;
use assay_model::frame::Init;
use assay_model::lane::RunEpisode;
use assay_scenario::Budget;

use crate::Trace;
use crate::compare::compared;
use crate::policy_link::{PolicyLink, WaitEvents};

/// The nonce of the connection: frames with another one are refused.
const NONCE: u64 = 7;
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

/// Runs an episode with a policy that sends the input, at most a pipe's 64 KiB, and closes its end. The worker reads
/// the same input in the target of `assay-policy`.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn policy(data: &[u8]) {
    answer_all(data).expect("pipes");
}

fn answer_all(bytes: &[u8]) -> io::Result<()> {
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
        replan_steps: None,
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

/// Compares a recording with itself: there is no difference, whatever it contains.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn trace(data: &[u8]) {
    let file = MemoryFile::new(data);
    if let Ok(trace) = Trace::read(file.path()) {
        drop((trace.signals(), trace.group("qpos"), trace.control_rows()));
        assert_eq!(compared(&trace, &trace).difference, None);
    }
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn policy_accepts_its_corpus() {
        run_corpus("policy", super::policy);
    }

    #[test]
    fn trace_accepts_its_corpus() {
        run_corpus("trace", super::trace);
    }
}
