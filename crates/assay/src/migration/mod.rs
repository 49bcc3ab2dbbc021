//! Migration of a data folder to PostgreSQL and, if wanted, to a bucket.
//!
//! The old folder is only read, under its lock. The new data folder has the files that stay in a folder: signing keys,
//! secrets, scenarios, models, runtimes. It is called `DIR.partial` until everything is done, so that no server starts
//! on it. Evidence and archives are stored first, by their hashes, then the records in one transaction; so whatever is
//! in the new places is complete at any time, and a migration that ended early continues where it stopped.
//!
//! Where to begin: [`migrate`].

mod evidence;
mod folder;
mod other_files;
mod records;
mod run;

pub(crate) use run::{Migrated, MigratedReplay, migrate};
