//! Scenarios by id and digest whose files are in the data folder: those that accounts published, and earlier versions
//! of the built-in ones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use assay_model::{ScenarioId, Sha256Digest};
use assay_scenario::{Library, Scenario};
use assay_store::ScenarioFiles;

/// Maximum number of scenarios kept in memory; others are read again when needed.
const MAX_READ: usize = 64;

/// The reason why a version of a scenario cannot be run, or can no longer be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioGone {
    /// A version of a built-in scenario whose files were not kept.
    #[error("{0} was changed after the job was accepted, and its earlier files are not on this machine")]
    Changed(ScenarioId),
    /// It was published on another machine, or its files are gone.
    #[error("the files of {0} are not on this machine")]
    Missing(ScenarioId),
    /// Its files cannot be used with this installation.
    #[error("{id} can no longer be run with this installation: {why}; publish a new version of it")]
    Unfit {
        /// The scenario's id.
        id: ScenarioId,
        /// The change that makes it unusable.
        why: String,
    },
}

/// The scenario versions of a data folder.
#[derive(Debug)]
pub(crate) struct ScenarioVersions {
    files: ScenarioFiles,
    read: Mutex<HashMap<Sha256Digest, Arc<Scenario>>>,
}

impl ScenarioVersions {
    pub(crate) fn new(files: ScenarioFiles) -> Self {
        Self { files, read: Mutex::default() }
    }

    pub(crate) fn get(
        &self,
        library: &Library,
        id: &ScenarioId,
        digest: Sha256Digest,
    ) -> Result<Arc<Scenario>, ScenarioGone> {
        let known = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(&digest).cloned();
        // Two accounts may have published the same files.
        if let Some(scenario) = known.filter(|scenario| scenario.id == *id) {
            return Ok(scenario);
        }
        let unfit = |why: String| ScenarioGone::Unfit { id: id.clone(), why };
        let folder = self.files.scenario(digest).ok_or_else(|| ScenarioGone::Missing(id.clone()))?;
        let robots = self.files.robots(digest).unwrap_or_else(|| library.robots().to_owned());
        let scenario = Scenario::load(&folder, &robots).map_err(|error| unfit(error.fault().problem))?;
        if scenario.digest != digest {
            return Err(unfit("a robot that it uses has changed since it was published".to_owned()));
        }
        let scenario = Arc::new(Scenario { id: id.clone(), ..scenario });
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() >= MAX_READ {
            read.clear();
        }
        read.insert(digest, Arc::clone(&scenario));
        Ok(scenario)
    }
}
