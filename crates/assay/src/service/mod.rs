//! The service: records, worker and API in one process. [`run`] composes them; the other modules implement the ports of
//! the API, and the steps of startup and shutdown.

mod auditor;
mod connections;
pub(crate) mod file_storage;
mod installed_versions;
mod intake;
mod metrics;
mod offloaded_replayer;
mod preflights;
mod publisher;
mod rendering_signer;
pub(crate) mod replayer;
mod run;
mod runtime_packs;
pub(crate) mod service_records;
mod shutdown;
mod startup;
mod state;
mod trial;
mod wakeups;
mod webhook_sender;
mod worker_tasks;

pub(crate) use run::run;
pub(crate) use runtime_packs::RuntimePacks;
pub(crate) use shutdown::stop_signal;
pub(crate) use trial::{EngineTrial, try_engines};
