//! The first API key of an empty instance.

use std::fs::{File, OpenOptions, rename};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use assay_model::{AccountId, Entropy, IdError, Scopes};
use assay_store::{Records, StoreError};
use jiff::Timestamp;

use super::format::{InvalidKeyText, KeyText, mint, record};

/// The file in the data folder that a generated first key is written to.
pub const BOOTSTRAP_FILE: &str = "bootstrap-key";
const ACCOUNT: &str = "admin";
const NAME: &str = "bootstrap";

/// The origin of the first key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bootstrap {
    /// Keys exist, or existed once: nothing was done, and `ASSAY_BOOTSTRAP_KEY` was ignored.
    NotNeeded,
    /// `ASSAY_BOOTSTRAP_KEY` is the first key.
    FromEnvironment,
    /// A key was generated and written to this file, readable by its owner only.
    Written(PathBuf),
}

/// The reason why the first key could not be created.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// `ASSAY_BOOTSTRAP_KEY` is not an API key.
    #[error("ASSAY_BOOTSTRAP_KEY is not an API key")]
    Environment(#[source] InvalidKeyText),
    /// The file could not be written.
    #[error("could not write the first key to {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The records failed.
    #[error("could not store the first key")]
    Records(#[from] StoreError),
    /// The built-in account name is invalid.
    #[error("the account of the first key is invalid")]
    Account(#[from] IdError),
}

/// Creates an admin key in an instance in which no key has ever existed: `from_environment` if given, otherwise a new
/// one that is written to [`BOOTSTRAP_FILE`] in `data` before it becomes valid.
///
/// # Errors
/// [`BootstrapError`].
pub async fn bootstrap(
    records: &dyn Records,
    data: &Path,
    from_environment: Option<&str>,
    entropy: &dyn Entropy,
    now: Timestamp,
) -> Result<Bootstrap, BootstrapError> {
    if records.has_key_ever_existed().await? {
        return Ok(Bootstrap::NotNeeded);
    }
    let account: AccountId = ACCOUNT.parse()?;
    if let Some(text) = from_environment {
        let key: KeyText = text.trim().parse().map_err(BootstrapError::Environment)?;
        let first = record(&key, now, account, NAME, Scopes::all(), None);
        let kept = records.create_first_key(first).await?;
        return Ok(if kept { Bootstrap::FromEnvironment } else { Bootstrap::NotNeeded });
    }
    let (key, first) = mint(entropy, now, account, NAME, Scopes::all(), None);
    let path = data.join(BOOTSTRAP_FILE);
    write(data, &path, &key).map_err(|source| BootstrapError::File { path: path.clone(), source })?;
    let kept = records.create_first_key(first).await?;
    Ok(if kept { Bootstrap::Written(path) } else { Bootstrap::NotNeeded })
}

fn write(data: &Path, path: &Path, key: &KeyText) -> std::io::Result<()> {
    let partial = path.with_extension("partial");
    match std::fs::remove_file(&partial) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
    writeln!(file, "{}", key.reveal())?;
    file.sync_all()?;
    rename(&partial, path)?;
    File::open(data)?.sync_all()
}
