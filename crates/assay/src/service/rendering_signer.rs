//! Signs what workers on other hosts rendered.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use assay_api::{RemoteRendering, RenderingSigner};
use assay_model::Artifact;
use assay_worker::{Engine, Keyring, RenderedFrom, RenderedPart, signed};

/// Signs with the keys of the service's worker.
#[derive(Debug)]
pub(super) struct KeyringSigner {
    pub(super) engine: Arc<Engine>,
    pub(super) keyring: Keyring,
}

impl RenderingSigner for KeyringSigner {
    fn video_format(&self) -> String {
        self.engine.video_format().to_string()
    }

    fn sign(&self, rendering: &RemoteRendering, folder: &Path) -> Result<Vec<Artifact>, Box<dyn Error + Send + Sync>> {
        let from = RenderedFrom {
            job_id: rendering.job_id,
            statement_sha256: rendering.statement_sha256,
            result: &rendering.result,
            worker: Some(&rendering.worker),
        };
        let drawn = RenderedPart { files: rendering.files.clone(), notes: Vec::new() };
        Ok(signed(&self.keyring, &from, rendering.part, drawn, folder)?.files)
    }
}
