//! Import of the records of a data folder into an empty database.
//!
//! Everything happens in one transaction: the tables are locked, found empty, filled with COPY, read back, and compared
//! with the source by number of rows and SHA-256. A process that dies leaves an empty database. If the records are
//! there already, because the process died after the commit, they are compared only.
//!
//! Tables are copied column by column under the names of the target. `tables.rs` lists what differs between the two
//! schemas; a test fails if a table or column of either is neither equal nor listed.

mod cell;
mod error;
mod run;
mod source;
mod tables;
mod target;

pub use error::RecordsImportError;
pub use run::{ImportedTable, RecordsImport};
