//! Scenarios by id and digest: the installation's own, and those that accounts published, which lie in the data folder.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use assay_model::ScenarioId;
use assay_scenario::{Library, Scenario};
use assay_store::PublishedFiles;

/// Scenarios that are kept read. They are read again when they are needed again.
const MAX_READ: usize = 64;

/// Why a scenario can't be run in that version (any more).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioGone {
    /// A built-in one.
    #[error("{0} was changed after the job was accepted")]
    Changed(ScenarioId),
    /// It was published elsewhere, or its files are gone.
    #[error("the files of {0} are not on this machine")]
    Missing(ScenarioId),
    /// Its own files are the same, so its robots are not.
    #[error("{id} can't be run with this installation any more: {why}; its author has to publish a new version")]
    Unfit {
        /// Which.
        id: ScenarioId,
        /// What changed.
        why: String,
    },
}

/// The published scenarios of a data folder.
#[derive(Debug)]
pub(crate) struct PublishedScenarios {
    files: PublishedFiles,
    read: Mutex<HashMap<String, Arc<Scenario>>>,
}

impl PublishedScenarios {
    pub(crate) fn new(files: PublishedFiles) -> Self {
        Self { files, read: Mutex::default() }
    }

    pub(crate) fn get(&self, library: &Library, id: &ScenarioId, digest: &str) -> Result<Arc<Scenario>, ScenarioGone> {
        let known = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned();
        // Two accounts may have published the same files.
        if let Some(scenario) = known.filter(|scenario| scenario.id == *id) {
            return Ok(scenario);
        }
        let unfit = |why: String| ScenarioGone::Unfit { id: id.clone(), why };
        let folder = self.files.scenario(digest).ok_or_else(|| ScenarioGone::Missing(id.clone()))?;
        let scenario = Scenario::load(&folder, library.robots()).map_err(|error| unfit(error.fault().problem))?;
        if scenario.digest != digest {
            return Err(unfit("a robot that it uses is not the one that it was published with".to_owned()));
        }
        let scenario = Arc::new(Scenario { id: id.clone(), ..scenario });
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() >= MAX_READ {
            read.clear();
        }
        read.insert(digest.to_owned(), Arc::clone(&scenario));
        Ok(scenario)
    }
}
