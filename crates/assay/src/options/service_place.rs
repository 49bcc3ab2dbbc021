//! The service that an operator's command refers to: its records, or its API.

use std::path::PathBuf;

use assay_store::Records;
use clap::Args;

use super::service::{KeyArgs, default_server};
use super::stored_records::StoreArgs;
use crate::exit::{Failure, OrFail};
use crate::service_client::ServiceClient;

/// The service that is meant: its data folder or database, or its address.
#[derive(Debug, Args)]
pub(crate) struct ServicePlace {
    /// The service's data folder, on its machine
    #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
    data: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    /// Address of the service, whose API is then used with an admin's key [default: ASSAY_URL or
    /// http://127.0.0.1:8080, without --data and --store]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    key: KeyArgs,
}

impl ServicePlace {
    /// Runs `direct` on the records, if a data folder or a database is given and no address.
    pub(crate) fn with_records<T>(
        &self,
        program: &str,
        direct: impl AsyncFnOnce(Box<dyn Records>) -> Result<T, Failure>,
    ) -> Option<Result<T, Failure>> {
        if self.server.is_some() {
            return None;
        }
        let run = async || match self.store.records(self.data.as_deref(), program).await? {
            Some(records) => direct(records).await.map(Some),
            None => Ok(None),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().or_internal();
        runtime.and_then(|runtime| runtime.block_on(run())).transpose()
    }

    /// Creates a client of the API.
    pub(crate) fn client(&self) -> Result<ServiceClient, Failure> {
        match &self.server {
            Some(server) => self.key.client(server),
            None => self.key.client(&default_server()).map_err(|failure| match failure {
                Failure::Usage(error) => Failure::Usage(error.context("without --data and --store the API is used")),
                other => other,
            }),
        }
    }
}
