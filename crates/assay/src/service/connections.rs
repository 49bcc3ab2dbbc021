//! Hands the connections that policies open to the engine.

use std::collections::BTreeSet;
use std::sync::Arc;

use assay_api::{PolicyConnections, PolicyReservation};
use assay_model::JobId;
use assay_policy::remote::ConnectionReservation;
use assay_worker::Engine;
use tokio::io::DuplexStream;

/// The engine's registry of connections.
#[derive(Debug)]
pub(super) struct EngineConnections(pub(super) Arc<Engine>);

/// A reservation of the engine.
struct EngineReservation(ConnectionReservation);

impl PolicyConnections for EngineConnections {
    fn reserve(&self, job: JobId) -> Option<Box<dyn PolicyReservation>> {
        let reserved = self.0.remote().connected().reserve(job)?;
        Some(Box::new(EngineReservation(reserved)))
    }

    fn is_awaited(&self, job: JobId) -> bool {
        self.0.remote().connected().is_awaited(job)
    }

    fn awaited(&self) -> BTreeSet<JobId> {
        self.0.remote().connected().awaited()
    }

    fn connected(&self) -> BTreeSet<JobId> {
        self.0.remote().connected().connected()
    }

    fn known(&self) -> BTreeSet<JobId> {
        self.0.remote().connected().known()
    }

    fn set_elsewhere(&self, jobs: &BTreeSet<JobId>) {
        self.0.remote().connected().set_elsewhere(jobs);
    }

    fn leave(&self, job: JobId) {
        self.0.remote().connected().leave(job);
    }

    fn end(&self, job: JobId) {
        self.0.remote().connected().end(job);
    }
}

impl PolicyReservation for EngineReservation {
    fn attach(self: Box<Self>, stream: DuplexStream) {
        self.0.attach(stream);
    }
}
