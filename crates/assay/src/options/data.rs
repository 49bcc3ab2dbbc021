//! The data folder of a service, for commands that access it directly, even while the service runs.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_store::{PostgresRecords, Records, SqliteRecords};
use clap::Args;

use crate::exit::{Failure, OrFail};
use crate::settings::{SecretText, StoreSettings};

#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// The service's data folder
    #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
    pub(crate) data: PathBuf,
    /// PostgreSQL database of the service's records, if they are not in the data folder; the password may be in
    /// PGPASSWORD
    #[arg(long, value_name = "URL", env = "ASSAY_STORE_URL", hide_env_values = true)]
    pub(crate) store: Option<String>,
    /// File with the password for the database
    #[arg(long, value_name = "FILE", env = "ASSAY_STORE_PASSWORD_FILE", requires = "store")]
    pub(crate) store_password_file: Option<PathBuf>,
}

impl DataArgs {
    /// Opens the records under the name `program`.
    pub(crate) async fn records(&self, program: &str) -> Result<Box<dyn Records>, Failure> {
        let url = self.store.clone().map(SecretText::from);
        let store = StoreSettings { url, password_file: self.store_password_file.clone() };
        store.validate().context("--store").or_usage()?;
        Ok(match store.postgres().or_usage()? {
            Some(options) => Box::new(PostgresRecords::open(&options, &self.data).await.or_internal()?),
            None => Box::new(open_records(&self.data, program)?),
        })
    }
}

/// Opens the records in the folder of `--data` under the name `program`, beside a service that may be running.
pub(crate) fn open_records(data: &Path, program: &str) -> Result<SqliteRecords, Failure> {
    if !data.is_dir() {
        return Err(Failure::Usage(anyhow!("--data {}: no such folder", data.display())));
    }
    SqliteRecords::open_beside(data, program).or_internal()
}
