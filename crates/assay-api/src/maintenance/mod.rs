//! Background maintenance: deletes expired idempotency records, enforces the retention of evidence and policies, and
//! cleans up after a server that was killed.

mod batch;
mod due;
mod orphans;
mod remove;
mod retain;
mod run;

pub(crate) use due::due_removals;
pub(crate) use remove::remove;
pub use run::run_maintenance;
