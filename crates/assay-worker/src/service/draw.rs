//! Rendering after the verdict, on separate threads, one per lane, each with a renderer that has the lowest priority on
//! the machine: a shard that arrives meanwhile finds its lane free. None starts while a lane has work: there are never
//! more renderers than idle lanes.

use std::error::Error;
use std::path::Path;
use std::thread;

use assay_jail::UntrustedFolder;
use assay_model::lane::files;
use assay_model::{Artifact, ErrorChain, JobId, Sha256Digest, episode_share};
use assay_store::{
    BlobError, RenderChoice, RenderClaim, RenderRequest, RenderReturnOutcome, SignedDocument, StoreError,
};

use super::shared::WorkerShared;
use crate::episode::evidence;
use crate::rendering::drawing::{self, DrawJob, DrawTools, RenderedPart, RenderingError};
use crate::rendering::video::Urgency;
use crate::shards::claims::Held;
use crate::shards::intervals::POLL;
use crate::shards::renderers::{RunningRenderer, lock};
use crate::{Cancel, SessionError};

/// The reason why nothing was rendered.
enum DrawFailure {
    /// Files cannot be stored, or the records are unavailable. Does not count as a failure.
    Outage(Box<dyn Error + Send + Sync>),
    /// An internal error in the records, the blobs, or a folder. Does not count as a failure.
    Internal(SessionError),
    /// The part could not be rendered.
    Failed(Box<dyn Error + Send + Sync>),
}

impl From<SessionError> for DrawFailure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Outage(error) => Self::Outage(error),
            SessionError::Scenario(_) => Self::Failed(Box::new(error)),
            other => Self::Internal(other),
        }
    }
}

impl WorkerShared {
    /// Renders until the service stops.
    pub(super) fn run_renderer(&self) {
        while !self.is_stopping() {
            let Some((claim, running)) = self.next_render() else { continue };
            let held = Held::Render(claim.fence);
            let cancel = self.runner.claims.add(held);
            // The service may have stopped between the check and the claim.
            if self.is_stopping() {
                cancel.cancel();
            }
            let span = tracing::info_span!("render", job.id = %claim.fence.job_id, episode = claim.fence.episode);
            let failed = span.in_scope(|| self.render(&claim, &cancel));
            if let Err(error) = failed {
                error.log("could not record rendering");
            }
            self.runner.claims.remove(&held);
            drop(running);
        }
    }

    /// Returns what this server renders now.
    fn render_choice(&self) -> Option<RenderChoice> {
        if self.options.engine.lanes() > 0 {
            return Some(RenderChoice::Any);
        }
        let records = &self.options.records;
        // Most of the time there is nothing to render, and the list of workers may be long.
        let workers = || {
            self.wait(async { if records.has_renders().await? { records.workers().await.map(Some) } else { Ok(None) } })
        };
        self.renderers_elsewhere.left(workers, self.options.clock.now())
    }

    fn next_render(&self) -> Option<(RenderClaim, RunningRenderer<'_>)> {
        let _turn = lock(&self.renderers.turn);
        if self.is_stopping() {
            return None;
        }
        if let Some(mut running) = self.renderers.start() {
            let (records, now) = (&self.options.records, self.options.clock.now());
            let claim = self.render_choice().map(|choice| {
                let request = RenderRequest::new(&self.name).of(choice);
                self.wait(records.claim_render(request, now, self.options.lease))
            });
            match claim {
                Some(Ok(Some(claim))) => return Some((claim, running)),
                Some(Err(error)) => error.log("could not claim rendering"),
                Some(Ok(None)) | None => {}
            }
            running.hint = false;
        }
        self.renderers.wait_for_hint();
        None
    }

    /// Renders the claimed part, and records the outcome.
    fn render(&self, claim: &RenderClaim, cancel: &Cancel) -> Result<(), StoreError> {
        let (records, fence) = (&self.options.records, claim.fence);
        let note = match self.try_render(claim, cancel) {
            Ok(()) => {
                self.options.health.files_work();
                return Ok(());
            }
            Err(_) if cancel.is_cancelled() => None,
            Err(DrawFailure::Outage(error)) => {
                self.options.health.files_failed(ErrorChain(&*error));
                None
            }
            Err(DrawFailure::Internal(error)) => {
                tracing::error!(error = %ErrorChain(&error), "rendering postponed");
                None
            }
            Err(DrawFailure::Failed(error)) => {
                // The details are for the operator only, since they may describe this machine.
                tracing::warn!(part = claim.part.as_str(), error = %ErrorChain(&*error), "rendering failed");
                Some(drawing::missing(claim.part))
            }
        };
        let returned = self.wait(records.return_render(fence, note))?;
        if returned == RenderReturnOutcome::GivenUp {
            tracing::error!(part = claim.part.as_str(), "rendering abandoned");
        }
        if note.is_none() && !cancel.is_cancelled() {
            thread::sleep(POLL);
        }
        Ok(())
    }

    fn try_render(&self, claim: &RenderClaim, cancel: &Cancel) -> Result<(), DrawFailure> {
        let (job, result) = (claim.fence.job_id, &claim.result);
        let header = &claim.header;
        let scenario = self.options.engine.scenario(&header.scenario, header.scenario_digest);
        let scenario = scenario.map_err(|error| DrawFailure::Failed(error.into()))?;
        let seeds = self.seeds(header)?;
        let statement = self
            .wait(self.options.records.signed_document(job, SignedDocument::Statement))
            .map_err(SessionError::of)?;
        let statement = statement.ok_or_else(|| DrawFailure::Failed("the job has no statement".into()))?;
        let workspace = self.options.blobs.incoming().map_err(SessionError::of)?;
        let folder = workspace.path().join(evidence::folder_of(result.episode));
        std::fs::create_dir_all(&folder).map_err(SessionError::of)?;
        self.fetch(job, &result.evidence, &folder)?;
        let order = DrawJob {
            job_id: job,
            scenario: &scenario,
            seeds,
            statement_sha256: Sha256Digest::of(&statement),
            max_episode_bytes: episode_share(self.options.max_evidence_bytes, header.episodes_to_run()),
        };
        let options = &self.options;
        let tools = DrawTools { engine: &options.engine, keyring: &options.keyring };
        let bytes = claim.drawn.iter().map(|file| file.size_bytes).sum();
        let what = (result, claim.part, bytes);
        let folder = UntrustedFolder::open(&folder).map_err(SessionError::of)?;
        let drawn = drawing::draw(tools, &order, what, &folder, (Urgency::Background, cancel, &|_| ()));
        let drawn = drawn.map_err(|error| match error {
            RenderingError::Io(_) | RenderingError::Stage(_) | RenderingError::Sign(_) => {
                SessionError::of(error).into()
            }
            RenderingError::OtherRecording | RenderingError::Render(_) => DrawFailure::Failed(error.into()),
        })?;
        self.keep(claim, drawn, workspace.path())
    }

    /// Copies the recording into `folder`.
    fn fetch(&self, job: JobId, kept: &[Artifact], folder: &Path) -> Result<(), DrawFailure> {
        let recording = kept.iter().find(|file| file.name.ends_with(files::TRACE));
        let recording = recording.ok_or_else(|| DrawFailure::Failed("the result has no recording".into()))?;
        let copied = self.wait(self.options.blobs.copy_to(job, recording.sha256, &folder.join(files::TRACE)));
        copied.map_err(|error| match error {
            BlobError::Missing => DrawFailure::Failed("the recording no longer exists".into()),
            // Not an outage: another attempt would read the same bytes.
            BlobError::Damaged(_) => DrawFailure::Failed("the recording is damaged".into()),
            other => SessionError::of(other).into(),
        })
    }

    /// Stores the files, and adds them to the records.
    fn keep(&self, claim: &RenderClaim, drawn: RenderedPart, workspace: &Path) -> Result<(), DrawFailure> {
        let (job, blobs) = (claim.fence.job_id, &self.options.blobs);
        let put = || {
            for file in &drawn.files {
                self.wait(blobs.put(job, file.sha256, &workspace.join(&file.name))).map_err(SessionError::of)?;
            }
            if drawn.files.is_empty() { Ok(()) } else { self.wait(blobs.settle(job)).map_err(SessionError::of) }
        };
        put()?;
        let record = self.options.records.record_render(claim.fence, drawn.files.clone(), drawn.notes.clone());
        if self.wait(record).map_err(SessionError::of)? {
            // A clean-up of the job that ran before the files were recorded may have removed them, so they are stored
            // again.
            return Ok(put()?);
        }
        // The job is erased, its evidence is gone, or another renderer has the episode: files without a record are
        // removed.
        let known = self.wait(self.options.records.renders(job)).map_err(SessionError::of)?;
        let is_known =
            |sha256: Sha256Digest| known.iter().flat_map(|drawn| &drawn.files).any(|file| file.sha256 == sha256);
        for file in drawn.files.iter().filter(|file| !is_known(file.sha256)) {
            self.wait(blobs.remove(job, file.sha256)).map_err(SessionError::of)?;
        }
        Ok(())
    }
}
