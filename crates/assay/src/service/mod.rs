//! The service: records, worker and API in one process. [`run`] composes them; the other modules implement the ports of
//! the API, and the steps of startup and shutdown.

mod auditor;
mod connections;
mod installed_versions;
mod intake;
mod metrics;
mod preflights;
mod publisher;
pub(crate) mod replayer;
mod run;
mod shutdown;
mod startup;
mod state;
mod wakeups;
mod webhook_sender;

pub(crate) use run::run;
