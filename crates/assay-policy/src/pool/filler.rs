//! The thread that keeps a pool filled.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::member::start;
use super::shared::{PolicyServerProcess, PoolShared, Warm};

/// Pause after a failed start, so as not to load a machine in trouble further.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Maximum additional wait of a caller for a member that is still starting.
const TICK: Duration = Duration::from_millis(2);

/// Fills the pool until it is closed, then waits until the last member is gone.
pub(super) fn run(shared: &Arc<PoolShared>) {
    let mut number = 0;
    loop {
        let mut state = shared.lock();
        while !state.is_closing && state.idle.len() >= shared.wanted(&state) {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closing {
            while shared.leases.load(Ordering::SeqCst) > 0 {
                state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            return;
        }
        state.is_starting = true;
        let forks = state.cannot_fork.is_none();
        drop(state);
        number += 1;
        let started = match forks {
            true => PolicyServerProcess::start(shared, number).map(Warm::Server),
            false => start(shared, number).map(Warm::Interpreter),
        };
        let started = started.map(|idle| warm_up(shared, idle));
        let mut state = shared.lock();
        state.is_starting = false;
        let late = match started {
            Ok(idle) if state.is_closing => Some(idle),
            // Forking turned out to be impossible meanwhile.
            Ok(idle @ Warm::Server(_)) if state.cannot_fork.is_some() => Some(idle),
            Ok(idle) => {
                state.idle.push_back(idle);
                state.error = None;
                None
            }
            Err(error) if forks && !error.is_passing() => {
                state.stop_forking(&assay_model::ErrorChain(&error).to_string());
                None
            }
            Err(error) => {
                state.error = Some(error);
                shared.changed.notify_all();
                state = shared.changed.wait_timeout(state, RETRY_PAUSE).unwrap_or_else(PoisonError::into_inner).0;
                None
            }
        };
        shared.changed.notify_all();
        drop(state);
        drop(late);
    }
}

/// Waits until a member has imported its libraries, or a caller waits for one, so that members in reserve keep at most
/// one processor busy.
fn warm_up(shared: &PoolShared, mut idle: Warm) -> Warm {
    let end = Instant::now() + shared.config.load.start_wall;
    if !shared.is_needed() {
        idle.give_way();
    }
    while !shared.is_needed() && Instant::now() < end && !idle.is_ready(TICK) {}
    idle
}
