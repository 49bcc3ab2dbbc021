//! Checks of the scenarios that accounts publish, with the service's own engine.

use std::path::Path;
use std::sync::Arc;

use assay_api::{Draft, DraftFailure, Publisher};
use assay_model::{
    AccountId, ErrorChain, ScenarioCard, ScenarioId, Sha256Digest, TaskAnswer, WorkerTask, bytes_from_hex,
};
use assay_policy::{IntakeLimits, intake};
use assay_scenario::{Scenario, ScenarioError, Spec};
use assay_store::is_disk_full;
use assay_worker::{Cancel, Engine, ExamineError, PublishCheck, publish_check};

use super::worker_tasks::{NoAnswer, WorkerTasks};

/// Unpacks, loads and checks scenarios besides the lanes of jobs.
#[derive(Debug)]
pub(crate) struct EnginePublisher {
    pub(super) engine: Arc<Engine>,
    /// Workers that check for a server without lanes.
    pub(super) tasks: WorkerTasks,
}

impl Publisher for EnginePublisher {
    fn open(&self, zip: &Path, account: &AccountId) -> Result<Draft, DraftFailure> {
        let work = self.engine.scratch("publish").map_err(|e| broken(&e))?;
        let folder = work.path().join("scenario");
        intake(zip, &folder, &IntakeLimits::scenario()).map_err(|error| {
            if error.is_internal() { broken(&error) } else { DraftFailure::Archive(error.to_string()) }
        })?;
        let scenario = Scenario::load(&folder, self.engine.library().robots()).map_err(|error| fault(&error))?;
        scenario.check_community().map_err(|error| fault(&error))?;
        let scenario = scenario.published_by(account).map_err(|error| fault(&error))?;
        Ok(Draft { scenario, work })
    }

    fn check(&self, draft: &Draft) -> Result<Option<Vec<u8>>, DraftFailure> {
        if self.engine.lanes() == 0 {
            return self.check_elsewhere(draft);
        }
        let check = publish_check(&self.engine, &draft.scenario).map_err(|error| match error {
            ExamineError::Busy => DraftFailure::Busy,
            other => broken(&other),
        })?;
        match check {
            PublishCheck::Accepted { thumbnail } => Ok(thumbnail),
            PublishCheck::Rejected(fault) => Err(DraftFailure::Fault(fault)),
        }
    }

    fn card(&self, id: &ScenarioId, digest: Sha256Digest) -> Result<ScenarioCard, String> {
        self.engine.scenario(id, digest).map(|scenario| scenario.card()).map_err(|gone| gone.to_string())
    }

    fn spec(&self, id: &ScenarioId, digest: Sha256Digest) -> Result<Spec, String> {
        self.engine.scenario(id, digest).map(|scenario| scenario.spec()).map_err(|gone| gone.to_string())
    }
}

impl EnginePublisher {
    /// Lets a worker on another host check the scenario.
    fn check_elsewhere(&self, draft: &Draft) -> Result<Option<Vec<u8>>, DraftFailure> {
        let (account, _) = draft.scenario.id.as_str().split_once('.').unwrap_or_default();
        let account = account.parse().map_err(|_| DraftFailure::Broken("the draft has no author".to_owned()))?;
        let task = WorkerTask::Publication { account, scenario_digest: draft.scenario.digest };
        let robots: Vec<_> = draft.scenario.robot_folders().into_iter().collect();
        let robots: Vec<_> = robots.iter().map(|(id, folder)| (format!("robots/{id}"), *folder)).collect();
        let mut inputs = vec![("scenario", draft.scenario.folder.as_path())];
        inputs.extend(robots.iter().map(|(name, folder)| (name.as_str(), *folder)));
        match self.tasks.run(&task, &inputs, &Cancel::new()) {
            Ok(TaskAnswer::Accepted { picture: None }) => Ok(None),
            Ok(TaskAnswer::Accepted { picture: Some(text) }) => match bytes_from_hex(&text) {
                Some(picture) => Ok(Some(picture)),
                None => Err(DraftFailure::Broken("a worker's picture is malformed".to_owned())),
            },
            Ok(TaskAnswer::Rejected { fault }) => Err(DraftFailure::Fault(fault)),
            Ok(TaskAnswer::Busy) => Err(DraftFailure::Busy),
            Ok(_) => Err(DraftFailure::Broken("a worker answered another task".to_owned())),
            Err(NoAnswer::Unavailable(message)) => Err(DraftFailure::Unavailable(message)),
            Err(error @ NoAnswer::WorkersFailed) => Err(DraftFailure::Unavailable(error.to_string())),
            Err(error) => Err(broken(&error)),
        }
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
