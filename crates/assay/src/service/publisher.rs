//! Checks of the scenarios that accounts publish, with the service's own engine.

use std::path::Path;
use std::sync::Arc;

use assay_api::{Draft, DraftFailure, Publisher};
use assay_model::{AccountId, ErrorChain, ScenarioCard, ScenarioId, Sha256Digest};
use assay_policy::{IntakeLimits, intake};
use assay_scenario::{Scenario, ScenarioError, Spec};
use assay_store::is_disk_full;
use assay_worker::{Engine, ExamineError, PublishCheck, publish_check};

/// Unpacks, loads and checks scenarios besides the lanes of jobs.
#[derive(Debug)]
pub(crate) struct EnginePublisher(pub(crate) Arc<Engine>);

impl Publisher for EnginePublisher {
    fn open(&self, zip: &Path, account: &AccountId) -> Result<Draft, DraftFailure> {
        let work = self.0.scratch("publish").map_err(|e| broken(&e))?;
        let folder = work.path().join("scenario");
        intake(zip, &folder, &IntakeLimits::scenario()).map_err(|error| {
            if error.is_internal() { broken(&error) } else { DraftFailure::Archive(error.to_string()) }
        })?;
        let scenario = Scenario::load(&folder, self.0.library().robots()).map_err(|error| fault(&error))?;
        scenario.check_community().map_err(|error| fault(&error))?;
        let scenario = scenario.published_by(account).map_err(|error| fault(&error))?;
        Ok(Draft { scenario, work })
    }

    fn check(&self, draft: &Draft) -> Result<Option<Vec<u8>>, DraftFailure> {
        let check = publish_check(&self.0, &draft.scenario).map_err(|error| match error {
            ExamineError::Busy => DraftFailure::Busy,
            other => broken(&other),
        })?;
        match check {
            PublishCheck::Accepted { thumbnail } => Ok(thumbnail),
            PublishCheck::Rejected(fault) => Err(DraftFailure::Fault(fault)),
        }
    }

    fn card(&self, id: &ScenarioId, digest: Sha256Digest) -> Result<ScenarioCard, String> {
        self.0.scenario(id, digest).map(|scenario| scenario.card()).map_err(|gone| gone.to_string())
    }

    fn spec(&self, id: &ScenarioId, digest: Sha256Digest) -> Result<Spec, String> {
        self.0.scenario(id, digest).map(|scenario| scenario.spec()).map_err(|gone| gone.to_string())
    }
}

fn fault(error: &ScenarioError) -> DraftFailure {
    DraftFailure::Fault(error.fault())
}

fn broken(error: &(dyn std::error::Error + 'static)) -> DraftFailure {
    if is_disk_full(error) {
        return DraftFailure::Full;
    }
    DraftFailure::Broken(ErrorChain(error).to_string())
}
