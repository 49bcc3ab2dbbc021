//! State shared by the threads that run shards.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use assay_model::Clock;

use super::claims::Claims;
use super::dispatch::{Dispatch, DispatchError};
use super::intervals::TICK;
use super::servers::Servers;
use super::sleepers::Sleepers;
use crate::episode::host::EpisodeHost;
use crate::{Cancel, Engine};

/// Runs shards.
#[derive(Debug)]
pub(crate) struct ShardRunner {
    pub(crate) engine: Arc<Engine>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Provides lanes and policies.
    pub(crate) host: Arc<dyn EpisodeHost>,
    /// Where shards come from.
    pub(crate) dispatch: Arc<dyn Dispatch>,
    pub(crate) claims: Claims,
    pub(crate) servers: Servers,
    /// Lanes whose policies sleep.
    pub(super) sleepers: Sleepers,
    /// Set when no new work is accepted.
    pub(crate) stopping: Cancel,
}

impl ShardRunner {
    /// Creates a runner for the shards of `dispatch`, whose lanes and policies `host` provides.
    pub(crate) fn new(
        engine: Arc<Engine>,
        host: Arc<dyn EpisodeHost>,
        dispatch: Arc<dyn Dispatch>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            engine,
            clock,
            host,
            dispatch,
            claims: Claims::default(),
            servers: Servers::default(),
            sleepers: Sleepers::default(),
            stopping: Cancel::new(),
        }
    }

    /// Replaces the flag that stops it.
    pub(crate) fn stopping_with(self, stopping: Cancel) -> Self {
        Self { stopping, ..self }
    }

    /// Sleeps for `time`, or until shortly after the service stops.
    pub(crate) fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until && !(self.stopping.is_cancelled() && self.claims.is_empty()) {
            thread::sleep(TICK);
        }
    }

    /// Waits until nothing is held any more, at most until `limit` is over; then stops all work.
    pub(crate) fn drain(&self, limit: Duration) {
        let until = Instant::now() + limit;
        while !self.claims.is_empty() && Instant::now() < until {
            thread::sleep(TICK);
        }
        self.claims.cancel_all();
    }

    /// Renews the leases of all shards, and stops work on those whose lease is lost.
    ///
    /// # Errors
    /// The dispatch did not answer.
    pub(crate) fn renew_shards(&self) -> Result<(), DispatchError> {
        let held = self.claims.shards();
        let fences: Vec<_> = held.iter().map(|(fence, _)| *fence).collect();
        let lost = if fences.is_empty() { Vec::new() } else { self.dispatch.renew(&fences)? };
        held.iter().filter(|(fence, _)| lost.contains(fence)).for_each(|(_, cancel)| cancel.cancel());
        Ok(())
    }
}
