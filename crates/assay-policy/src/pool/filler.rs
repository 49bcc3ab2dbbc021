//! The thread that keeps a pool filled.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use assay_jail::SpawnError;

use super::member::start;
use super::models::{PolicyModel, removed};
use super::shared::{PolicyServerProcess, PoolShared, StartOrder, Warm};

/// Pause after a failed start, so as not to load a machine in trouble further.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Maximum additional wait of a caller for a member that is still starting.
const TICK: Duration = Duration::from_millis(2);

/// Fills the pool until it is closed, then waits until the last member is gone.
pub(super) fn run(shared: &Arc<PoolShared>) {
    let mut number = 0;
    loop {
        let mut state = shared.lock();
        while !state.is_closing && state.orders.is_empty() && state.idle.len() >= shared.wanted(&state) {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closing {
            while shared.leases.load(Ordering::SeqCst) > 0 {
                state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            return;
        }
        let forks = state.cannot_fork.is_none();
        number += 1;
        if let Some(order) = state.orders.pop_front() {
            drop(state);
            start_ordered(shared, (number, forks), order);
            continue;
        }
        state.is_starting = true;
        drop(state);
        let started = start_one(shared, (number, forks), &[]).map(|idle| warm_up(shared, idle));
        let mut state = shared.lock();
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
        if late.is_some() {
            drop(state);
            drop(late);
            state = shared.lock();
        }
        state.is_starting = false;
        shared.changed.notify_all();
    }
}

/// Starts a fork server if `forks`, otherwise an interpreter.
fn start_one(
    shared: &Arc<PoolShared>,
    (number, forks): (u64, bool),
    models: &[PolicyModel],
) -> Result<Warm, SpawnError> {
    match forks {
        true => PolicyServerProcess::start(shared, number, models).map(Warm::Server),
        false => start(shared, number, models).map(Warm::Interpreter),
    }
}

/// Starts a process for a caller that waits for it.
fn start_ordered(shared: &Arc<PoolShared>, (number, forks): (u64, bool), order: StartOrder) {
    let started = match start_one(shared, (number, forks), &order.models) {
        // A removed model says nothing about forking.
        Err(error) if forks && !error.is_passing() && removed(&order.models).is_none() => {
            shared.stop_forking(&assay_model::ErrorChain(&error).to_string());
            start_one(shared, (number, false), &order.models)
        }
        started => started,
    };
    // While the pool closes, no caller may get a process that this thread would have to outlive.
    let is_closing = shared.lock().is_closing;
    if !is_closing {
        // A caller that has given up needs no process.
        drop(order.answer.send(started));
    }
}

/// Waits until a member has imported its libraries, or a caller waits for one, so that members in reserve keep at most
/// one processor busy.
fn warm_up(shared: &PoolShared, mut idle: Warm) -> Warm {
    let end = Instant::now() + shared.config.load.start_wall;
    if !shared.is_needed() {
        idle.lower_priority();
    }
    while !shared.is_needed() && Instant::now() < end && !idle.is_ready(TICK) {}
    if !shared.is_needed() {
        idle.prepare();
    }
    idle
}
