//! Keys that sign statements: those that are trusted, and the refusal of others.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};
use assay_report::attest::{AttestError, PublishedKeys};

use super::lines::refuse;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::SigningArgs;
use crate::results_folder::MAX_STATEMENT_BYTES;

/// Keys to trust.
#[derive(Debug)]
pub(crate) struct TrustedKeys {
    pub(crate) keys: PublishedKeys,
    /// The place that they come from, in words.
    source: String,
}

impl TrustedKeys {
    /// Reads the keys in the given file, or this user's own.
    pub(crate) fn read(file: Option<&Path>, signing: &SigningArgs) -> Result<Self, Failure> {
        let Some(path) = file else {
            let keyring = signing.keyring()?;
            let source = format!("your own keys in {}", keyring.folder().display());
            return Ok(Self { keys: keyring.published().or_internal()?, source });
        };
        let keys = list(path).or_usage()?;
        Ok(Self { keys, source: format!("the keys in {}", path.display()) })
    }

    /// Returns the reason of a failed check with what to do about it, if an unknown key is the reason.
    pub(crate) fn explain(&self, error: &AttestError) -> String {
        match error {
            AttestError::UnknownSigner { signers, why } => format!(
                "it was signed by {signers}, {why} ({}); get the signer's keys (assay attest keys --json there, or \
                 /.well-known/assay-keys.json of a service) and give them with --keys FILE",
                self.source
            ),
            error => error.to_string(),
        }
    }

    /// Prints that a signature was not accepted, and returns the exit status.
    pub(super) fn refuse(&self, error: &AttestError) -> Result<ExitStatus, Failure> {
        refuse("signature", &self.explain(error))
    }
}

fn list(path: &Path) -> anyhow::Result<PublishedKeys> {
    let about = fs::metadata(path).with_context(|| format!("can't read {}", path.display()))?;
    if !about.is_file() || about.len() > MAX_STATEMENT_BYTES {
        return Err(anyhow!("{} is not a list of keys: it is no regular file, or too large", path.display()));
    }
    let bytes = fs::read(path).with_context(|| format!("can't read {}", path.display()))?;
    serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes))
        .with_context(|| format!("{} is not a list of keys", path.display()))
}
