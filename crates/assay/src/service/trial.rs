//! A trial of the engines outside of this machine, for `assay serve --check --connect`.

use assay_api::OsEntropy;
use assay_model::{Entropy, ErrorChain, to_hex};
use assay_store::PostgresRecords;
use serde_json::{Value, json};

use crate::settings::Settings;

/// Length of the random name of a trial in bytes.
const NAME: usize = 8;

/// The outcome of trying an engine.
#[derive(Debug)]
pub(crate) struct EngineTrial {
    /// The setting that names it.
    setting: &'static str,
    /// Its address.
    address: String,
    /// The problem, with the setting to change.
    problem: Option<String>,
}

/// Tries every engine that the settings name.
pub(crate) async fn try_engines(settings: &Settings) -> Vec<EngineTrial> {
    let mut trials = Vec::new();
    if settings.store.url.is_some() {
        trials.push(try_records(settings).await);
    }
    if let Some(address) = settings.blobs.url.clone() {
        let problem = try_bucket(settings).await.err();
        trials.push(EngineTrial { setting: "blobs.url", address, problem });
    }
    trials
}

/// Connects to the database of the records and reads from it, and changes nothing.
async fn try_records(settings: &Settings) -> EngineTrial {
    let setting = "store.url";
    match settings.store.postgres() {
        Ok(Some(options)) => {
            let problem = PostgresRecords::probe(&options).await.err();
            // The address is shown without its password.
            EngineTrial { setting, address: options.server(), problem: problem.map(|e| ErrorChain(&e).to_string()) }
        }
        Ok(None) => EngineTrial { setting, address: String::new(), problem: None },
        Err(error) => EngineTrial { setting, address: String::new(), problem: Some(format!("{error:#}")) },
    }
}

async fn try_bucket(settings: &Settings) -> Result<(), String> {
    let mut random = [0; NAME];
    OsEntropy.fill(&mut random);
    match settings.blobs.bucket() {
        Ok(Some(bucket)) => bucket.probe(&to_hex(&random)).await.map_err(|error| error.to_string()),
        Ok(None) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

impl EngineTrial {
    /// Returns true if the engine works.
    pub(crate) fn works(&self) -> bool {
        self.problem.is_none()
    }

    /// Returns the outcome in a line.
    pub(crate) fn line(&self) -> String {
        let Self { setting, address, problem } = self;
        let outcome = problem.as_deref().map_or("works".to_owned(), |problem| format!("FAILED: {problem}"));
        format!("{setting} = {address}: {outcome}")
    }

    /// Returns the outcome as JSON.
    pub(crate) fn json(&self) -> Value {
        json!({ "setting": self.setting, "address": self.address, "works": self.works(), "problem": self.problem })
    }
}
