//! The ports of the service: the traits that its host implements.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_model::lane::{RenderPart, ScenarioFault};
use assay_model::{
    AccountId, Artifact, AttemptNote, DeclaredModel, Entropy, EpisodeResult, EpisodeSeeds, JobId, PackedRuntime,
    Preflight, RuntimeCard, RuntimeVersion, ScenarioCard, ScenarioId, Secret, Sha256Digest,
};
use assay_report::ReplayReport;
use assay_report::attest::PublishedKeys;
use assay_scenario::{Collection, Library, Scenario, ScenarioClip, Spec};
use assay_store::{JobRecord, PolicyServerCredentials};
use async_trait::async_trait;
use tempfile::TempDir;
use tokio::io::DuplexStream;

/// The curated scenarios.
pub trait Catalog: Send + Sync + fmt::Debug {
    /// Returns all curated scenarios, ordered by id.
    fn list(&self) -> Vec<Arc<ScenarioCard>>;

    /// Returns a curated scenario.
    fn get(&self, id: &ScenarioId) -> Option<Arc<ScenarioCard>>;

    /// Returns the spaces, rates and limits of a curated scenario.
    fn spec(&self, id: &ScenarioId) -> Option<Arc<Spec>>;

    /// Returns the curated collections of scenarios.
    fn collections(&self) -> &[Collection];

    /// Returns the videos of a curated scenario's known-answer policies.
    fn clips(&self, id: &ScenarioId) -> &[ScenarioClip];
}

/// A catalog that does not change while the service runs.
#[derive(Debug, Default)]
pub struct StaticCatalog {
    scenarios: BTreeMap<ScenarioId, (Arc<ScenarioCard>, Arc<Spec>)>,
    collections: Vec<Collection>,
    clips: BTreeMap<ScenarioId, Vec<ScenarioClip>>,
}

impl StaticCatalog {
    /// Creates a catalog of these scenarios and collections.
    pub fn new(scenarios: impl IntoIterator<Item = (ScenarioCard, Spec)>, collections: Vec<Collection>) -> Self {
        let entry = |(card, spec): (ScenarioCard, Spec)| (card.id.clone(), (Arc::new(card), Arc::new(spec)));
        Self { scenarios: scenarios.into_iter().map(entry).collect(), collections, clips: BTreeMap::new() }
    }

    /// Adds the videos of scenarios.
    #[must_use]
    pub fn with_clips(self, clips: BTreeMap<ScenarioId, Vec<ScenarioClip>>) -> Self {
        Self { clips, ..self }
    }
}

impl From<&Library> for StaticCatalog {
    fn from(library: &Library) -> Self {
        let scenarios = library.scenarios().iter().map(|scenario| (scenario.card(), scenario.spec()));
        let clips = library.scenarios().iter().filter_map(|scenario| {
            let found = library.clips(scenario);
            let found = found.inspect_err(|error| tracing::warn!(%error, scenario.id = %scenario.id, "no clips"));
            Some((scenario.id.clone(), found.ok()?))
        });
        Self::new(scenarios, library.collections().to_vec()).with_clips(clips.collect())
    }
}

impl Catalog for StaticCatalog {
    fn list(&self) -> Vec<Arc<ScenarioCard>> {
        self.scenarios.values().map(|(card, _)| Arc::clone(card)).collect()
    }

    fn get(&self, id: &ScenarioId) -> Option<Arc<ScenarioCard>> {
        self.scenarios.get(id).map(|(card, _)| Arc::clone(card))
    }

    fn spec(&self, id: &ScenarioId) -> Option<Arc<Spec>> {
        self.scenarios.get(id).map(|(_, spec)| Arc::clone(spec))
    }

    fn collections(&self) -> &[Collection] {
        &self.collections
    }

    fn clips(&self, id: &ScenarioId) -> &[ScenarioClip] {
        self.clips.get(id).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Counters and timings since the start.
pub trait Metrics: Send + Sync + fmt::Debug {
    /// Renders the metrics in the text format of Prometheus.
    fn render(&self) -> String;
}

/// Checks policies before they are accepted.
pub trait PolicyIntake: Send + Sync + fmt::Debug {
    /// Returns the installed runtimes, sorted by name. Runs on a thread that may block.
    fn runtimes(&self) -> Vec<RuntimeCard>;

    /// Returns an installed runtime as an archive that workers fetch; `None` if there is no runtime with this digest.
    /// One that is not packed yet may take `room_bytes` of the disk. Runs on a thread that may block.
    ///
    /// # Errors
    /// It cannot be packed; [`io::ErrorKind::WouldBlock`]: another one is being packed; [`io::ErrorKind::StorageFull`]:
    /// there is no room for it.
    fn packed_runtime(&self, sha256: Sha256Digest, room_bytes: u64) -> io::Result<Option<(PackedRuntime, PathBuf)>>;

    /// Checks the archive at `zip`. Runs on a thread that may block.
    ///
    /// # Errors
    /// [`IntakeFailure::Refused`] when the archive is not acceptable, [`IntakeFailure::Broken`] when it could not be
    /// read.
    fn check(&self, zip: &Path) -> Result<CheckedPolicy, IntakeFailure>;

    /// Checks the URL of a policy server without connecting to anything.
    ///
    /// # Errors
    /// [`IntakeFailure::Refused`] when it is not the URL of a policy server that may be called.
    fn check_server(&self, url: &str) -> Result<CheckedServer, IntakeFailure>;
}

/// The checked URL of a policy server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedServer {
    /// The URL without user, password and query.
    pub name: String,
}

/// A checked archive, which may be run in the jail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedPolicy {
    /// SHA-256 of the file.
    pub sha256: Sha256Digest,
    /// The runtime that was chosen for the policy.
    pub runtime: RuntimeVersion,
    /// Models that the policy declares and that are not in the archive: its account must have them.
    pub models: Vec<DeclaredModel>,
    /// Warnings for the author.
    pub warnings: Vec<String>,
}

/// The reason why a policy was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum IntakeFailure {
    /// The policy is invalid.
    #[error("{message}")]
    Refused {
        /// The part of the request: `policy` or `policy_url`.
        field: &'static str,
        /// The affected entry, the reason, and a remedy.
        message: String,
    },
    /// The account has no model with this digest.
    #[error("a model is missing")]
    MissingModel(Sha256Digest),
    /// This server does not run uploaded policies.
    #[error("{0}")]
    NotRun(&'static str),
    /// An internal error.
    #[error("could not read the archive")]
    Broken(#[source] std::io::Error),
}

/// The keys that statements are signed with.
pub trait SigningKeys: Send + Sync + fmt::Debug {
    /// Returns the public keys, newest first.
    ///
    /// # Errors
    /// The list could not be read.
    fn published(&self) -> std::io::Result<PublishedKeys>;
}

/// The worker's ends of connections that policies open.
pub trait PolicyConnections: Send + Sync + fmt::Debug {
    /// Reserves the connection of a job; `None` while another one is open.
    fn reserve(&self, job: JobId) -> Option<Box<dyn PolicyReservation>>;

    /// Returns true if an episode of the job waits for its policy to connect.
    fn is_awaited(&self, job: JobId) -> bool;

    /// Returns the jobs of which an episode waits for its policy to connect.
    fn awaited(&self) -> BTreeSet<JobId>;

    /// Returns the jobs whose policies are connected.
    fn connected(&self) -> BTreeSet<JobId>;

    /// Returns the jobs whose policies were connected or waited for, and whose end was not reported yet.
    fn known(&self) -> BTreeSet<JobId>;

    /// Replaces the jobs whose policies are connected to other servers of the site. Episodes of these that wait here
    /// are left to those servers.
    fn set_elsewhere(&self, jobs: &BTreeSet<JobId>);

    /// Closes the connection of a job that this server can no longer run, at once or after the running episode.
    fn leave(&self, job: JobId);

    /// Closes the connection of a job that has ended.
    fn end(&self, job: JobId);
}

/// The right to be a job's only connection; released when dropped.
pub trait PolicyReservation: Send {
    /// Hands over the bytes of a WebSocket after its handshake. Returns at once.
    fn attach(self: Box<Self>, stream: DuplexStream);
}

/// Sends webhooks to URLs given by clients.
#[async_trait]
pub trait WebhookSender: Send + Sync + fmt::Debug {
    /// Checks a URL without connecting to anything. Returns the URL in the form to store.
    ///
    /// # Errors
    /// The reason for the client, as a clause that follows the name of the request's part ("callback_url ...").
    fn check(&self, url: &str) -> Result<Secret, String>;

    /// Posts the JSON text `body` with these headers and returns the status of the response. May wait indefinitely.
    ///
    /// # Errors
    /// The reason why there was no response, in words that the client may read.
    async fn post(&self, url: &Secret, headers: &[(&'static str, String)], body: Vec<u8>) -> Result<u16, String>;
}

/// Audits episodes that workers on other hosts ran.
pub trait EpisodeAuditor: Send + Sync + fmt::Debug {
    /// Recomputes an episode's result from its trace and, if asked, runs its physics again. Runs on a thread that may
    /// block.
    ///
    /// # Errors
    /// The audit could not be done; nothing is known about the episode.
    fn audit(&self, episode: &EpisodeToAudit) -> Result<AuditFinding, Box<dyn std::error::Error + Send + Sync>>;
}

/// An episode as a worker on another host reported it.
#[derive(Debug, Clone)]
pub struct EpisodeToAudit {
    /// The scenario.
    pub scenario: ScenarioId,
    /// The digest of the scenario's version.
    pub scenario_digest: Sha256Digest,
    /// Its seeds.
    pub seeds: EpisodeSeeds,
    /// The result as reported.
    pub claimed: EpisodeResult,
    /// Number of the claim that it ran under.
    pub claim: u32,
    /// Facts about its attempts in the records.
    pub notes: Vec<AttemptNote>,
    /// A copy of its trace; `None` if it lists none.
    pub trace: Option<PathBuf>,
    /// True if the worker's machine computes the same bits as this one.
    pub is_same_machine: bool,
    /// Also run the physics again under the recorded actions.
    pub restep: bool,
}

/// The result of an audit.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditFinding {
    /// The result follows from its evidence.
    Confirmed {
        /// The result as it is to be recorded.
        result: Box<EpisodeResult>,
        /// True if the evidence also shows why the episode ended.
        shows_end: bool,
    },
    /// The result does not follow, for this reason.
    Refuted(String),
}

/// Signs what workers on other hosts rendered.
pub trait RenderingSigner: Send + Sync + fmt::Debug {
    /// Returns size and frame rate of videos, as `960x540@20`.
    fn video_format(&self) -> String;

    /// Adds the signed statement about the files in `folder`, and names all files relative to the report. Runs on a
    /// thread that may block.
    ///
    /// # Errors
    /// The files could not be signed, or the statement could not be written.
    fn sign(
        &self,
        rendering: &RemoteRendering,
        folder: &Path,
    ) -> Result<Vec<Artifact>, Box<dyn std::error::Error + Send + Sync>>;
}

/// The files of a part of an episode, as a worker on another host rendered them.
#[derive(Debug)]
pub struct RemoteRendering {
    /// The job.
    pub job_id: JobId,
    /// SHA-256 of the job's signed statement.
    pub statement_sha256: Sha256Digest,
    /// The episode.
    pub result: EpisodeResult,
    /// Log or video.
    pub part: RenderPart,
    /// The files, by their names without folders.
    pub files: Vec<Artifact>,
    /// The worker's name.
    pub worker: String,
}

/// Runs recorded episodes again.
#[async_trait]
pub trait Replayer: Send + Sync + fmt::Debug {
    /// Runs `episode` of the completed `job` again and compares it with its recording. Stops when it is dropped.
    ///
    /// # Errors
    /// [`ReplayFailure`]; a difference is not an error.
    async fn replay(&self, job: JobRecord, episode: EpisodeResult) -> Result<ReplayReport, ReplayFailure>;
}

/// The reason why an episode was not run again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayFailure {
    /// The episode cannot be run again.
    #[error("{0}")]
    Refused(String),
    /// The episode cannot be run now, or did not finish within the time limit.
    #[error("{0}")]
    Unavailable(String),
    /// An internal error.
    #[error("the replay failed")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Runs policies briefly, to check them before they are submitted.
pub trait Preflights: Send + Sync + fmt::Debug {
    /// Runs a policy for a few seconds. Runs on a thread that may block.
    ///
    /// # Errors
    /// [`PreflightFailure`]: the preflight could not be run. Errors of the policy itself are part of the result.
    fn run(&self, request: &PreflightRequest) -> Result<Preflight, PreflightFailure>;
}

/// A policy to run briefly: an archive or a server.
#[derive(Debug)]
pub struct PreflightRequest {
    /// The scenario.
    pub scenario: ScenarioId,
    /// The digest of the scenario's version.
    pub scenario_digest: Sha256Digest,
    /// The account, whose models the policy may use.
    pub account: AccountId,
    /// The uploaded archive.
    pub archive: Option<PathBuf>,
    /// The policy server, and the number of actions per chunk that are executed.
    pub server: Option<(PolicyServerCredentials, Option<u32>)>,
    /// The name that the author gave the policy.
    pub policy_name: String,
}

/// Checks scenarios that accounts want to publish, and reads published ones.
pub trait Publisher: Send + Sync + fmt::Debug {
    /// Unpacks the archive at `zip` and reads its contents without running anything. Runs on a thread that may block.
    ///
    /// # Errors
    /// [`DraftFailure`].
    fn open(&self, zip: &Path, account: &AccountId) -> Result<Draft, DraftFailure>;

    /// Compiles the draft, runs it without a policy and renders it, in jails. Returns its picture, if this machine
    /// renders. Runs on a thread that may block, for at most 15 s of CPU time, however long the machine takes to give
    /// them.
    ///
    /// # Errors
    /// [`DraftFailure`].
    fn check(&self, draft: &Draft) -> Result<Option<Vec<u8>>, DraftFailure>;

    /// Reads the card of a version from its stored files.
    ///
    /// # Errors
    /// The reason why this version can no longer be used here: its files are gone, or incompatible with the
    /// installation.
    fn card(&self, id: &ScenarioId, digest: Sha256Digest) -> Result<ScenarioCard, String>;

    /// Reads the spaces, rates and limits of a version from its stored files.
    ///
    /// # Errors
    /// The reason why this version can no longer be used here: its files are gone, or incompatible with the
    /// installation.
    fn spec(&self, id: &ScenarioId, digest: Sha256Digest) -> Result<Spec, String>;
}

/// An unpacked scenario that is to be published.
#[derive(Debug)]
pub struct Draft {
    /// The scenario, under the id that it would get, unpacked into `work`.
    pub scenario: Scenario,
    /// The folder of its files, deleted with the draft.
    pub work: TempDir,
}

/// The reason why a scenario cannot be published.
#[derive(Debug, thiserror::Error)]
pub enum DraftFailure {
    /// The archive is invalid.
    #[error("{0}")]
    Archive(String),
    /// There is no worker for it now.
    #[error("{0}")]
    Unavailable(String),
    /// Another process stopped the check, or the machine had next to no CPU time for it.
    #[error("the check of a scenario was stopped, or got next to no CPU time")]
    Busy,
    /// The disk has no space for its files; a temporary condition.
    #[error("the disk is full")]
    Full,
    /// A file in the archive is invalid.
    #[error("{}: {}", .0.file, .0.problem)]
    Fault(ScenarioFault),
    /// An internal error.
    #[error("{0}")]
    Broken(String),
}

/// The reason why a preflight could not be run.
#[derive(Debug, thiserror::Error)]
pub enum PreflightFailure {
    /// The archive or the URL is invalid.
    #[error(transparent)]
    Policy(#[from] IntakeFailure),
    /// The service is stopping.
    #[error("the service is stopping")]
    Stopping,
    /// There is no worker for it now.
    #[error("{0}")]
    Unavailable(String),
    /// An internal error.
    #[error("{0}")]
    Broken(String),
}

/// The operating system's random source.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    /// # Panics
    /// If the system has no random source: no secure key can be created then, so nothing may continue.
    fn fill(&self, bytes: &mut [u8]) {
        if let Err(error) = getrandom::fill(bytes) {
            panic!("the system's random source failed: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn random_bytes_do_not_repeat() {
        let mut seen = HashSet::new();
        for length in (8..=200).chain([512, 513, 2000]) {
            let mut bytes = vec![0; length];
            OsEntropy.fill(&mut bytes);
            // Eight consecutive bytes are equal by chance once in 2^64.
            assert!(bytes.chunks_exact(8).all(|eight| seen.insert(eight.to_vec())), "{length}");
        }
    }
}
