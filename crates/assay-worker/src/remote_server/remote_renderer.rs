//! Renders recorded episodes for the server: threads besides the lanes, with the lowest priority on the machine, never
//! more at work than idle lanes. One of them waits for work at a time.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_model::lane::files;
use assay_model::{ErrorChain, LeasedRender, RenderClaimAnswer, RenderClaimRequest, RenderReturn, RenderedFileList};
use assay_store::ScenarioFiles;

use super::client::ProtocolClient;
use super::error::ServerCallError;
use super::inputs;
use super::task_leases::TaskLeases;
use crate::rendering::video::{self, Recording, RendererError, Urgency};
use crate::shards::intervals::{CLAIM_WAIT, POLL};
use crate::shards::renderers::{Renderers, RunningRenderer, lock};
use crate::{Cancel, Engine, SessionError, VideoFormat};

/// Pause after a request that failed.
const PAUSE: Duration = Duration::from_secs(10);
/// Name of the file that is sent.
const BODY: &str = "rendered";
/// Status of the answer of a server that does not support renderings on other hosts.
const NOT_FOUND: u16 = 404;

/// Renders for the server.
#[derive(Debug)]
pub(super) struct RemoteRenderer {
    engine: Arc<Engine>,
    client: Arc<ProtocolClient>,
    scenarios: ScenarioFiles,
    /// Set when no new work is accepted.
    stopping: Cancel,
    pub(super) renderers: Renderers,
    held: Arc<TaskLeases>,
}

/// The reason why a part was not rendered.
#[derive(Debug, thiserror::Error)]
enum NotRendered {
    /// The server or the network. Does not count as a failure.
    #[error(transparent)]
    Server(#[from] ServerCallError),
    /// The scenario is not available here. Does not count as a failure.
    #[error(transparent)]
    Inputs(#[from] SessionError),
    /// A file of this machine. Does not count as a failure.
    #[error("could not read or write a file")]
    Io(#[from] io::Error),
    /// The part could not be rendered.
    #[error("{0}")]
    Failed(String),
    #[error("cancelled")]
    Cancelled,
}

impl RemoteRenderer {
    pub(super) fn new(
        engine: Arc<Engine>,
        client: Arc<ProtocolClient>,
        scenarios: ScenarioFiles,
        (held, stopping): (Arc<TaskLeases>, Cancel),
    ) -> Self {
        Self { engine, client, scenarios, stopping, renderers: Renderers::default(), held }
    }

    /// Renders until the worker stops.
    pub(super) fn run(&self) {
        while !self.stopping.is_cancelled() {
            let Some((leased, cancel, running)) = self.next() else { continue };
            let (job, episode) = (leased.render.job_id, leased.render.result.episode);
            let span = tracing::info_span!("render", job.id = %job, episode);
            span.in_scope(|| self.process(&leased, &cancel));
            self.held.remove(&leased.lease);
            drop(running);
        }
    }

    fn next(&self) -> Option<(LeasedRender, Cancel, RunningRenderer<'_>)> {
        let _turn = lock(&self.renderers.turn);
        if self.stopping.is_cancelled() {
            return None;
        }
        let Some(running) = self.renderers.start() else {
            // Every lane has work.
            self.held.sleep(POLL);
            return None;
        };
        match self.ask() {
            Ok(Some((leased, sent))) => {
                let cancel = self.held.add(&leased.lease, sent);
                Some((leased, cancel, running))
            }
            Ok(None) => None,
            Err(ServerCallError::Answer { status: NOT_FOUND, .. }) => {
                tracing::debug!("the server is older, and renders itself");
                self.held.sleep(CLAIM_WAIT);
                None
            }
            Err(error) => {
                tracing::debug!(error = %ErrorChain(&error), "could not ask for a rendering");
                self.held.sleep(PAUSE);
                None
            }
        }
    }

    /// Asks for a part. Returns it with the time at which its lease began or later.
    fn ask(&self) -> Result<Option<(LeasedRender, Instant)>, ServerCallError> {
        let (sent, wait_s) = (Instant::now(), u32::try_from(CLAIM_WAIT.as_secs()).unwrap_or_default());
        let unwanted = |client: &ProtocolClient, answer: RenderClaimAnswer| {
            if let Some(leased) = answer.render {
                drop(client.send(&format!("/renders/{}/return", leased.lease), &RenderReturn { failure: None }));
            }
        };
        let answer = self.held.ask("/renders/claim", RenderClaimRequest { wait_s }, unwanted)?;
        Ok(answer.and_then(|answer| {
            let waited = Duration::from_millis(answer.waited_ms).min(sent.elapsed());
            answer.render.map(|leased| (leased, sent + waited))
        }))
    }

    /// Renders a part, and sends it or gives it back.
    fn process(&self, leased: &LeasedRender, cancel: &Cancel) {
        let failure = match self.render(leased, cancel) {
            Ok(()) | Err(NotRendered::Server(ServerCallError::LeaseLost)) => return,
            Err(error @ NotRendered::Failed(_)) => {
                tracing::warn!(part = leased.render.part.as_str(), error = %ErrorChain(&error), "rendering failed");
                Some(error.to_string())
            }
            Err(error) => {
                if !cancel.is_cancelled() {
                    tracing::warn!(error = %ErrorChain(&error), "rendering postponed");
                }
                None
            }
        };
        let is_postponed = failure.is_none() && !self.stopping.is_cancelled();
        drop(self.client.send(&format!("/renders/{}/return", leased.lease), &RenderReturn { failure }));
        if is_postponed {
            self.held.sleep(PAUSE);
        }
    }

    fn render(&self, LeasedRender { lease, render }: &LeasedRender, cancel: &Cancel) -> Result<(), NotRendered> {
        let (path, result) = (format!("/renders/{lease}"), &render.result);
        let version = (&render.scenario, render.scenario_digest);
        let scenario = inputs::scenario(&self.engine, &self.scenarios, (&self.client, &path), version)?;
        let recording = result.evidence.iter().find(|file| file.name.ends_with(files::TRACE));
        let recording = recording.ok_or_else(|| NotRendered::Failed("the result has no recording".to_owned()))?;
        let folder = self.engine.scratch("rendered")?;
        let wanted = (recording.sha256, recording.size_bytes);
        self.client.fetch(&format!("{path}/recording"), wanted, &folder.path().join(files::TRACE))?;
        let format: VideoFormat =
            render.video_format.parse().map_err(|error| NotRendered::Failed(format!("{error}")))?;
        let staged = self.engine.staged(&scenario).map_err(SessionError::of)?;
        let order = Recording {
            staged: &staged,
            folder: folder.path(),
            result,
            world_seed: render.world_seed,
            format: Some(format),
            max_image_bytes: render.max_image_bytes,
        };
        let written = video::render(&self.engine, &order, render.part, (Urgency::Background, cancel, &|_| ()));
        let written = written.map_err(|error| match error {
            RendererError::Cancelled => NotRendered::Cancelled,
            RendererError::Io(error) => NotRendered::Io(error),
            other => NotRendered::Failed(ErrorChain(&other).to_string()),
        })?;
        let rendered = RenderedFileList { files: written.files, notes: written.notes };
        write_body(folder.path(), &rendered)?;
        Ok(self.client.post_file(&format!("{path}/files"), &folder.path().join(BODY))?)
    }
}

/// Writes the list of files, and the files, as one file.
fn write_body(folder: &Path, rendered: &RenderedFileList) -> io::Result<()> {
    let mut body = File::create(folder.join(BODY))?;
    let mut head = serde_json::to_vec(rendered).map_err(io::Error::other)?;
    head.push(b'\n');
    body.write_all(&head)?;
    for file in &rendered.files {
        io::copy(&mut File::open(folder.join(&file.name))?, &mut body)?;
    }
    body.flush()
}
