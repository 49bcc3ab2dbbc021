//! Records in one SQLite file, `assay.db` in the data folder.
//!
//! One thread writes: it takes all commands that wait, runs them in one transaction (each in a savepoint of its own, so
//! that one that fails takes nothing else with it), commits with `synchronous=FULL`, and only then answers them. Reads
//! go to connections of their own and see the last commit. Checkpoints run on a third thread, off the commit path.
//!
//! Where to begin: [`SqliteRecords::open`], then `writer.rs`; the statements are in `keys.rs`, `jobs.rs`, `shards.rs`,
//! `conclusions.rs`, `renders.rs`, `seasons.rs`, `submissions.rs`, `published.rs`, `reconcile.rs`, `answers.rs`,
//! `community.rs` and `webhooks.rs`; the tables in `migrations/`. A backup's copy is made in `copy.rs`.

mod answers;
mod arena;
mod backend;
mod checkpoint;
mod commits;
mod community;
mod conclusions;
mod copy;
mod events;
mod fail;
mod jobs;
mod keys;
mod known_keys;
mod line;
mod lock;
mod migrate;
mod notes;
mod open;
mod published;
mod quotas;
mod readers;
mod reconcile;
mod removals;
mod renders;
mod reserve;
mod reviews;
mod row;
mod seasons;
mod sessions;
mod shards;
mod submissions;
mod webhooks;
mod writer;

pub use copy::{RecordCounts, RecordsCopy};
pub use lock::DataLock;
pub use open::SqliteRecords;
