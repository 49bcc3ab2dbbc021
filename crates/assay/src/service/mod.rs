//! The service: records, worker and API in one process. [`run`] wires them; the other files are the ports that the API
//! asks for, and the steps of start and end.

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
mod webhook_sender;

pub(crate) use run::run;
