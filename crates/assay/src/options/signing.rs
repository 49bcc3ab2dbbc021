//! The keys that sign statements.

use std::path::PathBuf;

use anyhow::anyhow;
use assay_api::OsEntropy;
use assay_model::{Clock, SystemClock};
use assay_worker::Keyring;
use clap::Args;

use crate::exit::{Failure, OrFail};

/// Where the keys that sign statements lie.
#[derive(Debug, Args)]
pub(crate) struct SigningArgs {
    /// Folder of the keys that sign statements [default: assay/signing in the user's data folder]
    #[arg(long, value_name = "DIR", env = "ASSAY_SIGNING_KEYS", hide_env_values = true)]
    pub(crate) signing_keys: Option<PathBuf>,
}

impl SigningArgs {
    /// The keys of the folder that was named, or of this user.
    pub(crate) fn keyring(&self) -> Result<Keyring, Failure> {
        Keyring::open(&self.folder()?, &OsEntropy, SystemClock.now()).usage()
    }

    fn folder(&self) -> Result<PathBuf, Failure> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        // The XDG base directory specification.
        let data = || absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
        let found = self.signing_keys.clone().or_else(|| Some(data()?.join("assay/signing")));
        found.ok_or_else(|| {
            Failure::Usage(anyhow!("no place for the signing keys: set HOME, or name a folder with --signing-keys"))
        })
    }
}
