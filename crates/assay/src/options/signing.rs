//! Options for the keys that sign statements.

use std::path::PathBuf;

use anyhow::anyhow;
use assay_api::OsEntropy;
use assay_model::{Clock, SystemClock};
use assay_worker::Keyring;
use clap::Args;

use crate::exit::{Failure, OrFail};

/// The location of the signing keys.
#[derive(Debug, Args)]
pub(crate) struct SigningArgs {
    /// Folder of the keys that sign statements [default: assay/signing in the user's data folder]
    #[arg(long, value_name = "DIR", env = "ASSAY_SIGNING_KEYS", hide_env_values = true)]
    pub(crate) signing_keys: Option<PathBuf>,
}

impl SigningArgs {
    /// Opens the keys in the given folder, or the default ones of this user.
    pub(crate) fn keyring(&self) -> Result<Keyring, Failure> {
        Keyring::open(&self.folder()?, &OsEntropy, SystemClock.now()).or_usage()
    }

    fn folder(&self) -> Result<PathBuf, Failure> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        // The XDG base directory specification.
        let data = || absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
        let found = self.signing_keys.clone().or_else(|| Some(data()?.join("assay/signing")));
        found.ok_or_else(|| {
            Failure::Usage(anyhow!(
                "can't determine the folder of the signing keys: set HOME, or give a folder with --signing-keys"
            ))
        })
    }
}
