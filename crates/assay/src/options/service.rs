//! The service that a command talks to, and the key for it.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use crate::exit::{Failure, OrFail};
use crate::secret::secret;
use crate::service_client::ServiceClient;

#[derive(Debug, Args)]
pub(crate) struct ServiceArgs {
    /// Address of the service
    #[arg(long, value_name = "URL", env = "ASSAY_URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) server: String,
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
        let key = secret("--key-file", self.key.as_deref(), self.key_file.as_deref()).or_usage()?;
        let key =
            key.ok_or_else(|| Failure::Usage(anyhow!("no API key: set ASSAY_KEY, or use --key-file or --key")))?;
        ServiceClient::new(&self.server, key).or_usage()
    }
}
