//! Checks of submitted policies before they are queued.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_api::{CheckedPolicy, CheckedServer, IntakeFailure, PolicyIntake};
use assay_model::{PackedRuntime, RuntimeCard, Sha256Digest};
use assay_policy::remote::ServerEndpoint;
use assay_policy::{IntakeLimits, check_archive, left_out_warning};
use assay_store::ModelFiles;
use assay_worker::Engine;

use super::preflights::{NOT_RUN, models_can_run, refused, runtime};
use super::runtime_packs::RuntimePacks;

/// Checks archives and addresses of policy servers. Archives are checked by unpacking every entry, since only that
/// shows whether an entry has the size that it declares.
#[derive(Debug)]
pub(super) struct EngineIntake {
    pub(super) engine: Arc<Engine>,
    pub(super) limits: IntakeLimits,
    pub(super) models: ModelFiles,
    pub(super) packs: RuntimePacks,
}

impl PolicyIntake for EngineIntake {
    fn runtimes(&self) -> Vec<RuntimeCard> {
        self.engine.runtimes().list().iter().map(|runtime| runtime.manifest.card(runtime.current)).collect()
    }

    fn packed_runtime(&self, sha256: Sha256Digest, room_bytes: u64) -> io::Result<Option<(PackedRuntime, PathBuf)>> {
        self.packs.get(self.engine.runtimes(), sha256, room_bytes)
    }

    fn check(&self, zip: &Path) -> Result<CheckedPolicy, IntakeFailure> {
        if self.engine.runs_policies().is_err() {
            return Err(IntakeFailure::NotRun(NOT_RUN));
        }
        // Nothing is written: the worker unpacks the archive when it runs the job.
        let taken = check_archive(zip, &self.limits).map_err(refused)?;
        let runtime = runtime(&self.engine, &taken.declaration)?;
        models_can_run(&self.engine, &self.models, &taken.models)?;
        let left_out = left_out_warning(&taken.left_out);
        let warnings = self.engine.isolation_warning().into_iter().chain(left_out).collect();
        Ok(CheckedPolicy { sha256: taken.sha256, runtime, models: taken.models, warnings })
    }

    fn check_server(&self, url: &str) -> Result<CheckedServer, IntakeFailure> {
        let refused = |message: String| IntakeFailure::Refused { field: "policy_url", message };
        let endpoint = ServerEndpoint::parse(url).map_err(|error| refused(format!("policy_url {error}")))?;
        let guard = self.engine.remote().guard();
        guard.check(&endpoint).map_err(|error| refused(guard.client_message(&error)))?;
        Ok(CheckedServer { name: endpoint.to_string() })
    }
}
