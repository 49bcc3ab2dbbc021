//! The service that a command talks to, and the key for it.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use crate::exit::{Failure, OrFail};
use crate::secret::secret;
use crate::service_client::ServiceClient;

/// Variable with the address of a service.
const VARIABLE: &str = "ASSAY_URL";
/// Default address of a service.
const DEFAULT: &str = "http://127.0.0.1:8080";

#[derive(Debug, Args)]
pub(crate) struct ServiceArgs {
    /// Address of the service
    #[arg(long, value_name = "URL", env = VARIABLE, default_value = DEFAULT)]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

/// The key for a service.
#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// API key for the service; unlike the variable and the file, other users of this machine can see it
    #[arg(long, value_name = "KEY", env = "ASSAY_KEY", hide_env_values = true, conflicts_with = "key_file")]
    pub(crate) key: Option<String>,
    /// File with the API key
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
}

impl ServiceArgs {
    /// Creates the client.
    pub(crate) fn client(&self) -> Result<ServiceClient, Failure> {
        self.key.client(&self.server)
    }
}

impl KeyArgs {
    /// Creates the client of the service at `server`.
    pub(super) fn client(&self, server: &str) -> Result<ServiceClient, Failure> {
        let key = secret("--key-file", self.key.as_deref(), self.key_file.as_deref()).or_usage()?;
        let key =
            key.ok_or_else(|| Failure::Usage(anyhow!("no API key: set ASSAY_KEY, or use --key-file or --key")))?;
        ServiceClient::new(server, key).or_usage()
    }
}

/// Returns the address of the service that the environment names, or else of one on this machine.
pub(super) fn default_server() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| DEFAULT.to_owned())
}
