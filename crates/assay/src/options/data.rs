//! The data folder of a service, for commands that access it directly, even while the service runs.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use assay_store::SqliteRecords;
use clap::Args;

use crate::exit::{Failure, OrFail};

#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// The service's data folder
    #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
    pub(crate) data: PathBuf,
}

impl DataArgs {
    /// Opens the records under the name `program`.
    pub(crate) fn records(&self, program: &str) -> Result<SqliteRecords, Failure> {
        open_records(&self.data, program)
    }
}

/// Opens the records in the folder of `--data` under the name `program`, beside a service that may be running.
pub(crate) fn open_records(data: &Path, program: &str) -> Result<SqliteRecords, Failure> {
    if !data.is_dir() {
        return Err(Failure::Usage(anyhow!("--data {}: no such folder", data.display())));
    }
    SqliteRecords::open_beside(data, program).or_internal()
}
