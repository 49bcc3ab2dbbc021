//! The renderings that a server does itself: everything if it has lanes; otherwise what no worker on another host may
//! render.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_store::{RenderChoice, StoreError, WorkerRecord, WorkerState};
use jiff::{SignedDuration, Timestamp};

/// Minimum interval at which a server without lanes looks for workers that render.
const LOOK: Duration = Duration::from_secs(1);
/// Time since its last call after which a worker no longer counts.
const ABSENCE: SignedDuration = SignedDuration::from_secs(90);

/// The last look for workers that render.
#[derive(Debug, Default)]
pub(crate) struct RenderersElsewhere(Mutex<Option<(Instant, Option<RenderChoice>)>>);

impl RenderersElsewhere {
    /// Returns what a server without lanes renders now; `None` if workers on other hosts do it all, or nothing is to be
    /// rendered. `look` returns the workers if something is.
    pub(super) fn left(
        &self,
        look: impl FnOnce() -> Result<Option<Vec<WorkerRecord>>, StoreError>,
        now: Timestamp,
    ) -> Option<RenderChoice> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, choice)) = *last
            && at.elapsed() < LOOK
        {
            return choice;
        }
        let choice = match look() {
            Ok(workers) => workers.and_then(|workers| left_by(&workers, now)),
            Err(error) => {
                error.log("could not look for workers that render");
                None
            }
        };
        *last = Some((Instant::now(), choice));
        choice
    }
}

/// Returns what these workers leave to a server without lanes. The recordings of the arena show secret worlds, so only
/// trusted ones render them.
fn left_by(workers: &[WorkerRecord], now: Timestamp) -> Option<RenderChoice> {
    let renders = |worker: &&WorkerRecord| {
        let seen = worker.seen_at.is_some_and(|seen| now.duration_since(seen) < ABSENCE);
        let renders = worker.registration.as_ref().is_some_and(|registration| registration.renders);
        worker.state == WorkerState::Active && worker.is_admitted(now) && seen && renders
    };
    let mut renderers = workers.iter().filter(renders).peekable();
    if renderers.peek().is_none() {
        return Some(RenderChoice::Any);
    }
    renderers.all(|worker| !worker.trusted).then_some(RenderChoice::Arena)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use assay_model::WorkerRegistration;
    use assay_store::WorkerName;
    use assay_store_testing::{at, fingerprint};

    use super::*;

    fn worker(trusted: bool, renders: bool, seen: i64) -> WorkerRecord {
        let registration = WorkerRegistration {
            machine: fingerprint(),
            runtimes: Vec::new(),
            fetches_runtimes: false,
            lanes: 1,
            cameras: true,
            renders,
            memory_mib: 512,
            labels: std::collections::BTreeMap::new(),
            version: "0.1.0".into(),
        };
        WorkerRecord {
            name: WorkerName::parse("gpu-07").unwrap(),
            trusted,
            created_at: at(0),
            expires_at: None,
            state: WorkerState::Active,
            state_since: at(0),
            generation: 1,
            registration: Some(registration),
            seen_at: Some(at(seen)),
            shards: 0,
        }
    }

    #[test]
    fn a_server_without_lanes_renders_what_no_worker_may() {
        let left = |workers: &[WorkerRecord]| left_by(workers, at(100));
        assert_eq!(left(&[]), Some(RenderChoice::Any));
        assert_eq!(left(&[worker(true, false, 99), worker(true, true, 9)]), Some(RenderChoice::Any), "one is gone");
        assert_eq!(left(&[worker(false, true, 99)]), Some(RenderChoice::Arena));
        assert_eq!(left(&[worker(false, true, 99), worker(true, true, 99)]), None);
        let drained = WorkerRecord { state: WorkerState::Draining, ..worker(true, true, 99) };
        assert_eq!(left(&[drained]), Some(RenderChoice::Any));
    }
}
