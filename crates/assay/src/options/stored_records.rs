//! The records of a service, for commands that open them directly, even while the service runs.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_store::{PostgresRecords, Records, SqliteRecords};
use clap::Args;

use crate::exit::{Failure, OrFail};
use crate::settings::{SecretText, StoreSettings};

/// The database of a service's records, if they are not in its data folder.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// PostgreSQL database of the service's records, if they are not in the data folder; the password may be in
    /// PGPASSWORD
    #[arg(long, value_name = "URL", env = "ASSAY_STORE_URL", hide_env_values = true)]
    pub(crate) store: Option<String>,
    /// File with the password for the database
    #[arg(long, value_name = "FILE", env = "ASSAY_STORE_PASSWORD_FILE", requires = "store")]
    pub(crate) store_password_file: Option<PathBuf>,
}

impl StoreArgs {
    /// Opens the records in the database, or else in the data folder `data`, under the name `program`. Returns `None`
    /// if neither is given.
    pub(crate) async fn records(
        &self,
        data: Option<&Path>,
        program: &str,
    ) -> Result<Option<Box<dyn Records>>, Failure> {
        let url = self.store.clone().map(SecretText::from);
        let store = StoreSettings { url, password_file: self.store_password_file.clone() };
        store.validate().context("--store").or_usage()?;
        Ok(match (store.postgres().or_usage()?, data) {
            // Only a server watches the disk of its data folder.
            (Some(options), _) => {
                let records = PostgresRecords::open(&options, Path::new("/")).await;
                Some(Box::new(records.context("--store").or_internal()?))
            }
            (None, Some(data)) => Some(Box::new(open_beside(data, program)?)),
            (None, None) => None,
        })
    }
}

fn open_beside(data: &Path, program: &str) -> Result<SqliteRecords, Failure> {
    if !data.is_dir() {
        return Err(Failure::Usage(anyhow!("--data {}: no such folder", data.display())));
    }
    SqliteRecords::open_beside(data, program).or_internal()
}
