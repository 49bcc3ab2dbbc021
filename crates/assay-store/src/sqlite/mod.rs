//! Records in one SQLite file, `assay.db` in the data folder.
//!
//! One thread writes: it takes all waiting operations, runs them in one transaction (each in its own savepoint, so that
//! a failing one affects no other), commits with `synchronous=FULL`, and only then answers. Reads use connections of
//! their own and see the last commit. A third thread makes checkpoints, off the commit path.
//!
//! To start reading: `open.rs`, `store.rs`, then `writer.rs`. Each repository trait is implemented in the file of the
//! trait's name, next to its statements (those of shards also in `claims.rs` and `results.rs`); the tables are in
//! `migrations/`. `copy.rs` makes the copy of a backup.

mod accesses;
mod attempt_notes;
mod checkpoint;
mod claims;
mod community;
mod conclusions;
mod connection;
mod copy;
mod events;
mod failure;
mod idempotency;
mod jobs;
mod keys;
mod lock;
mod migrate;
mod models;
mod offline_copy;
mod open;
mod open_error;
mod publication;
mod queue_snapshot;
mod quotas;
mod readers;
mod records;
mod recovery;
mod removals;
mod renders;
mod reserve;
mod results;
mod reviews;
mod row;
mod seasons;
mod sessions;
mod shards;
mod signed_documents;
mod store;
mod submissions;
mod webhooks;
mod worker_conduct;
mod worker_removal;
mod workers;
mod writer;

pub use copy::{RecordCounts, RecordsCopy};
pub use lock::DataLock;
pub use open_error::OpenError;
pub use store::SqliteRecords;
