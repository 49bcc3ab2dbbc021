//! `[store]`: the place of the records.

use std::path::PathBuf;

use anyhow::Context;
use assay_api::InvalidSetting;
use assay_model::Secret;
use assay_store::PostgresOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::types::SecretText;
use crate::secret::secret;

/// Variable with the password, as the tools of PostgreSQL name it.
const PASSWORD: &str = "PGPASSWORD";

/// The section `[store]`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StoreSettings {
    /// Address of a PostgreSQL server (14 or newer) and of a database there, as postgres://USER@HOST:PORT/DATABASE;
    /// without it the records are in the data folder. The password is safer in `store.password_file` or in the variable
    /// PGPASSWORD than here.
    #[schemars(example = "postgres://assay@db.example.org/assay?sslmode=verify-full")]
    pub(crate) url: Option<SecretText>,
    /// File with the password for store.url.
    #[schemars(example = "/etc/assay/store-password")]
    pub(crate) password_file: Option<PathBuf>,
}

impl StoreSettings {
    pub(crate) fn validate(&self) -> Result<(), InvalidSetting> {
        match &self.url {
            Some(url) if !PostgresOptions::is_postgres(url.reveal()) => Err(InvalidSetting::new(
                "url",
                "[secret]",
                "a PostgreSQL database, as postgres://USER@HOST/DATABASE: other databases are not supported (without it, the records \
                     are in the data folder, in SQLite)",
            )),
            None if self.password_file.is_some() => {
                Err(InvalidSetting::new("password_file", "(set)", "omitted unless store.url is set"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the server of the records, with the password of the file or of the environment. `None` if the records
    /// are in the data folder.
    pub(crate) fn postgres(&self) -> anyhow::Result<Option<PostgresOptions>> {
        let Some(url) = &self.url else { return Ok(None) };
        let of_file = secret("store.password_file", None, self.password_file.as_deref())?;
        let password = match (of_file, std::env::var(PASSWORD)) {
            (Some(password), _) => Some(password),
            (None, Ok(password)) => Some(Secret::new(password)),
            (None, Err(std::env::VarError::NotPresent)) => None,
            (None, Err(error)) => return Err(error).context(PASSWORD),
        };
        Ok(Some(PostgresOptions { password, ..PostgresOptions::new(url.reveal()) }))
    }
}
