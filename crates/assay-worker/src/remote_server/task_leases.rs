//! The leases of renderings and tasks that run here, renewed together, and requests that wait for more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{ErrorChain, HeartbeatAnswer, HeartbeatRequest};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::client::ProtocolClient;
use super::error::ServerCallError;
use crate::Cancel;
use crate::shards::intervals::{CLAIM_WAIT, TICK};

/// The leases held, each with the flag that stops work on it.
#[derive(Debug)]
pub(super) struct TaskLeases {
    client: Arc<ProtocolClient>,
    /// Set when no new work is accepted.
    stopping: Cancel,
    held: Mutex<HashMap<String, TaskLease>>,
}

#[derive(Debug)]
struct TaskLease {
    cancel: Cancel,
    /// Time at which the last request was sent that the server answered with this lease held.
    confirmed: Instant,
}

impl TaskLeases {
    pub(super) fn new(client: Arc<ProtocolClient>, stopping: Cancel) -> Self {
        Self { client, stopping, held: Mutex::default() }
    }

    /// Adds a lease that began at `began` or later.
    pub(super) fn add(&self, lease: &str, began: Instant) -> Cancel {
        let cancel = Cancel::new();
        self.lock().insert(lease.to_owned(), TaskLease { cancel: cancel.clone(), confirmed: began });
        cancel
    }

    pub(super) fn remove(&self, lease: &str) {
        self.lock().remove(lease);
    }

    /// Stops all work: the server gives it to others.
    pub(super) fn cancel_all(&self) {
        self.lock().values().for_each(|held| held.cancel.cancel());
    }

    /// Renews the leases until the worker stops and holds none.
    pub(super) fn run_heartbeat(&self) {
        while !(self.stopping.is_cancelled() && self.lock().is_empty()) {
            self.sleep(self.client.beat());
            let leases: Vec<String> = self.lock().keys().cloned().collect();
            if leases.is_empty() {
                continue;
            }
            let sent = Instant::now();
            let request = HeartbeatRequest { leases, progress: Vec::new() };
            let answer: Result<HeartbeatAnswer, _> = self.client.post_quickly("/beat", &request, self.client.beat());
            if let Err(error) = &answer {
                tracing::warn!(error = %ErrorChain(error), "could not renew the leases of renderings and tasks");
            }
            for (lease, held) in self.lock().iter_mut() {
                match &answer {
                    Ok(answer) if answer.lost.contains(lease) => held.cancel.cancel(),
                    Ok(_) if request.leases.contains(lease) => held.confirmed = sent,
                    Err(ServerCallError::Refused(_)) => held.cancel.cancel(),
                    _ if held.confirmed.elapsed() > self.client.given_up() => held.cancel.cancel(),
                    _ => {}
                }
            }
        }
    }

    /// Sends a request whose answer the server may delay, on a thread of its own, so that a stopping worker need not
    /// wait for it. Returns `None` if the worker stops; `unwanted` receives an answer that arrives after that.
    pub(super) fn ask<A: DeserializeOwned + Send + 'static>(
        &self,
        path: &'static str,
        request: impl Serialize + Send + 'static,
        unwanted: fn(&ProtocolClient, A),
    ) -> Result<Option<A>, ServerCallError> {
        let (sender, receiver) = mpsc::channel();
        let client = Arc::clone(&self.client);
        let asking = thread::Builder::new().name("ask".to_owned()).spawn(move || {
            let answer: Result<A, _> = client.post(path, &request, CLAIM_WAIT);
            if let Err(mpsc::SendError(Ok(answer))) = sender.send(answer) {
                unwanted(&client, answer);
            }
        });
        drop(asking?);
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(answer) => return answer.map(Some),
                Err(mpsc::RecvTimeoutError::Timeout) if !self.stopping.is_cancelled() => {}
                Err(_) => return Ok(None),
            }
        }
    }

    /// Sleeps for `time`, or until shortly after the worker stops.
    pub(super) fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until && !self.stopping.is_cancelled() {
            thread::sleep(TICK);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, TaskLease>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
