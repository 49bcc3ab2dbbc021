//! What the service needs from others.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_model::lane::Fault;
use assay_model::{AccountId, Entropy, EpisodeResult, Preflight, ScenarioCard, ScenarioId, Secret};
use assay_report::ReplayReport;
use assay_report::attest::PublishedKeys;
use assay_scenario::{Collection, Library, Scenario, Spec};
use assay_store::{JobRecord, ServerCall};
use async_trait::async_trait;
use tempfile::TempDir;

/// The scenarios that can be asked for.
pub trait Catalog: Send + Sync + fmt::Debug {
    /// The curated ones, by id.
    fn list(&self) -> Vec<Arc<ScenarioCard>>;

    /// One of them.
    fn get(&self, id: &ScenarioId) -> Option<Arc<ScenarioCard>>;

    /// The spaces, rates and limits of one of them.
    fn spec(&self, id: &ScenarioId) -> Option<Arc<Spec>>;

    /// Curated sets of them.
    fn collections(&self) -> &[Collection];
}

/// A catalog that does not change while the service runs.
#[derive(Debug, Default)]
pub struct StaticCatalog {
    scenarios: BTreeMap<ScenarioId, (Arc<ScenarioCard>, Arc<Spec>)>,
    collections: Vec<Collection>,
}

impl StaticCatalog {
    /// These scenarios and collections.
    pub fn new(scenarios: impl IntoIterator<Item = (ScenarioCard, Spec)>, collections: Vec<Collection>) -> Self {
        let entry = |(card, spec): (ScenarioCard, Spec)| (card.id.clone(), (Arc::new(card), Arc::new(spec)));
        Self { scenarios: scenarios.into_iter().map(entry).collect(), collections }
    }
}

impl From<&Library> for StaticCatalog {
    fn from(library: &Library) -> Self {
        let scenarios = library.scenarios().iter().map(|scenario| (scenario.card(), scenario.spec()));
        Self::new(scenarios, library.collections().to_vec())
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
}

/// What was counted and timed since the start.
pub trait Metrics: Send + Sync + fmt::Debug {
    /// In the text format of Prometheus.
    fn render(&self) -> String;
}

/// Looks at a policy before it is accepted.
pub trait PolicyIntake: Send + Sync + fmt::Debug {
    /// Checks the archive at `zip`. Runs on a thread that may block.
    ///
    /// # Errors
    /// [`IntakeFailure::Refused`] when the archive is not acceptable, [`IntakeFailure::Broken`] when it could not be
    /// looked at.
    fn check(&self, zip: &Path) -> Result<CheckedPolicy, IntakeFailure>;

    /// Looks at the address of a policy server: its form, and what can be said of it without asking anybody. Connects to
    /// nothing.
    ///
    /// # Errors
    /// [`IntakeFailure::Refused`] when it is no address of a policy server that may be called.
    fn check_server(&self, url: &str) -> Result<CheckedServer, IntakeFailure>;
}

/// An address that a job may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedServer {
    /// The address without user, password and query.
    pub name: String,
}

/// An archive that may be run (in the jail).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedPolicy {
    /// SHA-256 of the file, lower-case hexadecimal: 64 digits.
    pub sha256: String,
    /// What the author should know.
    pub warnings: Vec<String>,
}

/// Why an archive was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum IntakeFailure {
    /// The author's fault.
    #[error("{message}")]
    Refused {
        /// The part of the request: `policy` or `policy_url`.
        field: &'static str,
        /// Which entry, why, and what to do.
        message: String,
    },
    /// Uploaded policies are not run here, whatever is in them.
    #[error("{0}")]
    NotRun(&'static str),
    /// Ours.
    #[error("the archive could not be read")]
    Broken(#[source] std::io::Error),
}

/// The keys that statements are signed with.
pub trait SigningKeys: Send + Sync + fmt::Debug {
    /// The public ones, newest first.
    ///
    /// # Errors
    /// The list can't be read.
    fn published(&self) -> std::io::Result<PublishedKeys>;
}

/// Sends messages to addresses that clients gave.
#[async_trait]
pub trait WebhookSender: Send + Sync + fmt::Debug {
    /// Looks at an address: its form, and what can be said of it without asking anybody. Connects to nothing. Returns it as
    /// it is to be kept.
    ///
    /// # Errors
    /// The reason for the client, as a clause that follows the name of the request's part ("callback_url ...").
    fn check(&self, url: &str) -> Result<Secret, String>;

    /// Posts the JSON text `body` with these headers and returns the status of the answer. May wait for ever.
    ///
    /// # Errors
    /// The reason why no answer came, in words that the client may read.
    async fn post(&self, url: &Secret, headers: &[(&'static str, String)], body: Vec<u8>) -> Result<u16, String>;
}

/// Runs recorded episodes again.
#[async_trait]
pub trait Replayer: Send + Sync + fmt::Debug {
    /// Runs `episode` of the completed `job` again and compares it with its recording. Stops when it is dropped.
    ///
    /// # Errors
    /// [`ReplayFailure`]; a difference is no error.
    async fn replay(&self, job: JobRecord, episode: EpisodeResult) -> Result<ReplayReport, ReplayFailure>;
}

/// Why an episode was not run again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayFailure {
    /// It can't be: says why.
    #[error("{0}")]
    Refused(String),
    /// Not now, or not in the time that there is.
    #[error("{0}")]
    Unavailable(String),
    /// We failed.
    #[error("the replay failed")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Tries policies for a moment.
pub trait Preflights: Send + Sync + fmt::Debug {
    /// Tries one. Runs on a thread that may block; takes some seconds, not many.
    ///
    /// # Errors
    /// [`PreflightFailure`]: it could not be tried. What the policy does wrong is in the answer.
    fn run(&self, request: &PreflightRequest) -> Result<Preflight, PreflightFailure>;
}

/// What to try: an archive or a server.
#[derive(Debug)]
pub struct PreflightRequest {
    /// On this scenario.
    pub scenario: ScenarioId,
    /// In this version.
    pub scenario_digest: String,
    /// The archive as it came in.
    pub archive: Option<PathBuf>,
    /// The policy server, and the actions of an answer that are carried out.
    pub server: Option<(ServerCall, Option<u32>)>,
    /// The author's name for it.
    pub policy_name: String,
}

/// Looks at scenarios that accounts want to publish.
pub trait Publisher: Send + Sync + fmt::Debug {
    /// Unpacks the archive at `zip` and reads what it holds; runs nothing. Runs on a thread that may block.
    ///
    /// # Errors
    /// [`DraftFailure`].
    fn open(&self, zip: &Path, account: &AccountId) -> Result<Draft, DraftFailure>;

    /// Compiles it, runs it without a policy and draws it, in jails; the answer is its picture, if this machine draws. Runs
    /// on a thread that may block, for 20 s at most.
    ///
    /// # Errors
    /// [`DraftFailure`].
    fn check(&self, draft: &Draft) -> Result<Option<Vec<u8>>, DraftFailure>;

    /// A version whose files are kept. Reads them.
    ///
    /// # Errors
    /// In words, why this version can't be used here any more: its files are gone, or don't fit the installation.
    fn card(&self, id: &ScenarioId, digest: &str) -> Result<ScenarioCard, String>;

    /// The spaces, rates and limits of a version whose files are kept. Reads them.
    ///
    /// # Errors
    /// In words, why this version can't be used here any more: its files are gone, or don't fit the installation.
    fn spec(&self, id: &ScenarioId, digest: &str) -> Result<Spec, String>;
}

/// A scenario on its way.
#[derive(Debug)]
pub struct Draft {
    /// Unpacked into this folder, which goes with it; under the name that it would have.
    pub scenario: Scenario,
    /// Holds that folder.
    pub work: TempDir,
}

/// Why a scenario can't be published.
#[derive(Debug, thiserror::Error)]
pub enum DraftFailure {
    /// Its archive.
    #[error("{0}")]
    Archive(String),
    /// There was no time to look at it.
    #[error("the machine is too busy to look at a scenario")]
    Busy,
    /// There is no room on the disk for its files; passes by itself.
    #[error("the disk is full")]
    Full,
    /// A file in it.
    #[error("{}: {}", .0.file, .0.problem)]
    Fault(Fault),
    /// Our fault.
    #[error("{0}")]
    Broken(String),
}

/// Why a policy could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum PreflightFailure {
    /// Its archive or its address.
    #[error(transparent)]
    Policy(#[from] IntakeFailure),
    /// The service is stopping.
    #[error("the service is stopping")]
    Stopping,
    /// Our fault.
    #[error("{0}")]
    Broken(String),
}

/// The operating system's random source.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    /// # Panics
    /// When the system has no random source: no safe key can be made then, so nothing may go on.
    fn fill(&self, bytes: &mut [u8]) {
        DRAWN.with_borrow_mut(|drawn| {
            if bytes.len() > drawn.bytes.len() {
                return draw(bytes);
            }
            if drawn.left < bytes.len() {
                draw(&mut drawn.bytes);
                drawn.left = drawn.bytes.len();
            }
            let (_, taken) = drawn.bytes[..drawn.left].split_at_mut(drawn.left - bytes.len());
            bytes.copy_from_slice(taken);
            // Whoever reads our memory later shall not find what became a secret.
            taken.fill(0);
            drawn.left -= bytes.len();
        });
    }
}

/// Random bytes that are not used yet: every request needs ten for its id, and asking the system costs more than they do.
struct Drawn {
    bytes: [u8; 512],
    left: usize,
}

thread_local! {
    static DRAWN: RefCell<Drawn> = const { RefCell::new(Drawn { bytes: [0; 512], left: 0 }) };
}

fn draw(bytes: &mut [u8]) {
    if let Err(error) = getrandom::fill(bytes) {
        panic!("the system gives no random bytes: {error}");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_byte_is_given_twice() {
        let mut seen = HashSet::new();
        for length in (8..=200).chain([512, 513, 2000]) {
            let mut bytes = vec![0; length];
            OsEntropy.fill(&mut bytes);
            // Eight bytes in a row are the same by chance once in 2^64.
            assert!(bytes.chunks_exact(8).all(|eight| seen.insert(eight.to_vec())), "{length}");
        }
    }
}
