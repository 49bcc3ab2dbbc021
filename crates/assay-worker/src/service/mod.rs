//! The server's worker: leases shards from the records, runs them on its lanes, concludes jobs.
//!
//! One long-lived thread per lane (children die with the thread that spawned them), one per lane for rendering after
//! the verdict, some more for jobs whose policy is a server, one that renews leases, and one that reconciles the work
//! of dead workers. The records are authoritative: work that a killed process forgets is found again when its lease
//! expires.

mod conclude;
mod draw;
mod heartbeat;
mod judge;
mod lane_loop;
pub(crate) mod local_dispatch;
mod missing;
mod options;
mod packing;
mod reconciler;
mod render_choice;
mod seasons;
mod server_credentials;
mod shared;
#[cfg(test)]
mod tests;
mod worker_service;

pub use options::ServiceOptions;
pub use worker_service::WorkerService;
