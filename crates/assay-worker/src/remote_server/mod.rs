//! The worker of a server on another host: it claims shards over HTTPS, keeps their inputs in a cache, and sends
//! evidence and results. It holds no credentials but its token, and opens no port.
//!
//! Where to begin: [`RemoteWorker`] (the threads), `http_dispatch` (what they ask the server), `client` (the requests).

mod cache;
mod client;
mod error;
mod http_dispatch;
mod inputs;
mod leases;
mod remote_renderer;
mod remote_worker;
mod result_batches;
mod runtimes;
mod shared_claims;
#[cfg(test)]
mod swarm;
mod task_leases;
mod task_runner;

pub use cache::{CacheError, InputCache};
pub use error::ServerCallError;
pub use remote_worker::{RemoteWorker, RemoteWorkerOptions, WorkerStop};
