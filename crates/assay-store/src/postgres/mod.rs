//! Records in a database of a PostgreSQL server (14 or newer), which several processes may share.
//!
//! Each method is a transaction at the isolation level READ COMMITTED that locks what it depends on: the season, then
//! jobs by their ids, then their shards, then accounts by their names. Claims lock in another order and never wait.
//! Deadlocks and lost connections are repeated (`engine.rs`). The results of several workers share a transaction
//! (`result_batches.rs`), as do their claims (`claim_batches.rs`). Other processes learn of commits by NOTIFY
//! (`notify.rs`).
//!
//! To start reading: `open.rs`, `engine.rs`, then `results.rs` and `claims.rs`. Each repository trait is implemented
//! in the file of the trait's name, next to its statements; the tables are in `migrations/`.

mod accesses;
mod attempt_notes;
mod batches;
mod claim_batches;
mod claim_entry;
mod claims;
mod community;
mod conclusions;
mod durations;
mod engine;
mod events;
mod failure;
mod idempotency;
mod import;
mod job_lists;
mod job_rows;
mod jobs;
mod keys;
mod migrate;
mod models;
mod notify;
mod open;
mod open_error;
mod options;
mod pool;
mod publication;
mod queue_snapshot;
mod quotas;
mod records;
mod recovery;
mod removals;
mod renders;
mod result_batches;
mod result_entry;
mod results;
mod reviews;
mod row;
mod seasons;
mod server_facts;
mod session;
mod sessions;
mod shards;
mod signed_documents;
mod site;
mod store;
mod submissions;
mod webhooks;
mod worker_conduct;
mod worker_removal;
mod workers;

pub use import::{ImportedTable, RecordsImport, RecordsImportError};
pub use open_error::PostgresOpenError;
pub use options::PostgresOptions;
pub use store::PostgresRecords;
