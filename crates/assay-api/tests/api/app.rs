//! The service under test, on its own data folder.
//!
//! One file on purpose: the fakes of all ports of the service are side by side, so that each test shows what is not
//! real.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use assay_api::{
    AccountSlots, ApiSettings, AppState, CheckedPolicy, CheckedServer, Draft, DraftFailure, EventHub, FolderLocks,
    IntakeFailure, ModelTransfers, PolicyConnections, PolicyIntake, PolicyReservation, PreflightFailure,
    PreflightRequest, Preflights, Publisher, QueueForecast, RateLimits, RateWindows, Readiness, RemoteRendering,
    RenderingSigner, ReplayFailure, Replayer, SigningKeys, StaticCatalog, UploadSpace, UrlSigner, WebhookSender,
    prepare_folders, router,
};
use assay_model::lane::ScenarioFault;
use assay_model::{
    AccountId, ActionTerm, Artifact, Clock, Comparison, DeclaredModel, Difference, DifferenceCause, Entropy,
    EpisodeResult, EpisodeStatus, Finding, FindingLevel, Grid, JobReport, LatencyMs, ObservedTerm, PackedRuntime,
    PolicyBudget, PolicyIdentity, Preflight, RuntimeCard, RuntimeName, RuntimeVersion, ScenarioCard, ScenarioId,
    Scopes, Secret, ServerAnswers, Sha256Digest,
};
use assay_report::ReplayReport;
use assay_report::attest::{PublishedKeys, SigningKey};
use assay_scenario::{Collection, Scenario, ScenarioClip, Spec};
use assay_store::{
    ArchiveFiles, Blobs, JobRecord, LiveProgress, LocalQueue, ModelFiles, PolicyServerCredentialsStore, ScenarioFiles,
    ShardRequest, Site, SqliteRecords, TaskFiles,
};
use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

/// Digest of an earlier version of every scenario.
pub(crate) const KEPT: Sha256Digest = Sha256Digest::new([0x4e; 32]);

pub(crate) struct TestApp {
    pub(crate) auditor: Arc<TestAuditor>,
    pub(crate) folder: TempDir,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) live: LiveProgress,
    pub(crate) state: AppState,
    pub(crate) router: Router,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }

    pub(crate) fn message(&self) -> &str {
        self.body["error"]["message"].as_str().unwrap_or_default()
    }
}

/// Signs renderings with a text that names their worker.
#[derive(Debug)]
struct TestSigner;

impl RenderingSigner for TestSigner {
    fn video_format(&self) -> String {
        "960x540@20".to_owned()
    }

    fn sign(
        &self,
        rendering: &RemoteRendering,
        folder: &Path,
    ) -> Result<Vec<Artifact>, Box<dyn std::error::Error + Send + Sync>> {
        let statement = format!("by {}", rendering.worker);
        std::fs::write(folder.join("statement"), &statement)?;
        let (sha256, size_bytes) = (Sha256Digest::of(&statement), statement.len() as u64);
        let signed = Artifact { name: "statement".to_owned(), sha256, size_bytes };
        let all = rendering.files.iter().cloned().chain([signed]);
        Ok(all.map(|file| Artifact { name: format!("episodes/000/{}", file.name), ..file }).collect())
    }
}

/// Stands for the audits of the program, which need a simulator; finds the problem that a test sets, if any,
/// and counts.
#[derive(Debug)]
pub(crate) struct TestAuditor(pub(crate) Mutex<Result<Option<&'static str>, &'static str>>, pub(crate) AtomicU64);

impl assay_api::EpisodeAuditor for TestAuditor {
    fn audit(
        &self,
        episode: &assay_api::EpisodeToAudit,
    ) -> Result<assay_api::AuditFinding, Box<dyn std::error::Error + Send + Sync>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(match *self.0.lock().unwrap() {
            Ok(Some(problem)) => assay_api::AuditFinding::Refuted(problem.to_owned()),
            Ok(None) => assay_api::AuditFinding::Confirmed {
                result: Box::new(episode.claimed.clone()),
                shows_end: episode.claimed.status == EpisodeStatus::Completed,
            },
            Err(cause) => return Err(cause.into()),
        })
    }
}

impl TestApp {
    pub(crate) fn new() -> Self {
        Self::with(ApiSettings::default())
    }

    /// Creates an app with these settings except for the rate limits: most tests send many requests, and their clock
    /// stands still.
    pub(crate) fn with(settings: ApiSettings) -> Self {
        Self::limited(ApiSettings { rate: RateLimits::all(1_000_000), ..settings })
    }

    /// Creates an app with exactly these settings.
    pub(crate) fn limited(settings: ApiSettings) -> Self {
        Self::on(tempfile::tempdir().unwrap(), settings)
    }

    /// Creates an app with the data in `folder`.
    pub(crate) fn on(folder: TempDir, settings: ApiSettings) -> Self {
        prepare_folders(folder.path()).unwrap();
        let clock = Arc::new(TestClock(AtomicI64::new(0)));
        let records = Arc::new(SqliteRecords::open(folder.path(), "a test").unwrap());
        let storage = records.health();
        storage.keep_free(settings.disk.min_free_mib << 20);
        let fleet = assay_api::WorkerFleet::default();
        let forecast = QueueForecast::new(records.clone(), clock.clone(), settings.lanes);
        let forecast = forecast.with(fleet.clone(), Site::default());
        let live = LiveProgress::default();
        let auditor = Arc::new(TestAuditor(Mutex::new(Err("there is no simulator")), AtomicU64::new(0)));
        let state = AppState {
            events: EventHub::new(records.clone(), clock.clone(), forecast.clone(), live.clone(), Site::default()),
            live: live.clone(),
            site: Site::default(),
            worker_fleet: fleet,
            auditor: auditor.clone(),
            audit_slots: Arc::new(tokio::sync::Semaphore::new(2)),
            forecast,
            records,
            queue: Arc::new(LocalQueue::new()),
            catalog: Arc::new(catalog()),
            intake: Arc::new(MagicIntake),
            preflights: Arc::new(Gated::default()),
            preflight_slots: AccountSlots::preflights(Site::default()),
            publisher: Arc::new(Renamed),
            publishing_slots: AccountSlots::publications(Site::default()),
            download_slots: AccountSlots::downloads(Site::default()),
            scenario_files: ScenarioFiles::folder(&folder.path().join("scenarios")).unwrap(),
            archives: ArchiveFiles::folder(folder.path()),
            policy_archives: assay_api::PolicyArchives::new(FolderLocks::default()),
            model_files: ModelFiles::folder(&folder.path().join(ModelFiles::FOLDER)).unwrap(),
            model_transfers: ModelTransfers::default(),
            upload_space: UploadSpace::default(),
            storage,
            rate: RateWindows::default(),
            clock: clock.clone(),
            entropy: Arc::new(Counter(AtomicU64::new(0))),
            signing_keys: Arc::new(OneKey),
            tasks: TaskFiles::folder(&folder.path().join(TaskFiles::FOLDER)).unwrap(),
            rendering: Arc::new(TestSigner),
            replayer: Arc::new(Different),
            servers: PolicyServerCredentialsStore::folder(&folder.path().join("servers")).unwrap(),
            policy_connections: Arc::new(Unconnected),
            connection_tokens: assay_api::ConnectionTokens::default(),
            webhook_sender: Arc::new(Unsent),
            evidence_usage: assay_api::EvidenceUsage::default(),
            blobs: Blobs::folder(&folder.path().join("blobs")).unwrap(),
            signer: UrlSigner::open(folder.path(), &Counter(AtomicU64::new(7))).unwrap(),
            data: folder.path().to_owned(),
            boards: assay_api::Boards::default(),
            fingerprint: assay_store_testing::fingerprint(),
            settings,
            metrics: None,
            readiness: Readiness::default(),
        };
        Self { folder, clock, live, auditor, router: router(state.clone()), state }
    }

    /// Creates a key with these scopes.
    pub(crate) async fn key(&self, account: &str, scopes: &str) -> String {
        let scopes: Scopes = scopes.parse().unwrap();
        let now = self.clock.now();
        let expires = Some(now.saturating_add(SignedDuration::from_hours(1)).unwrap());
        let account = account.parse().unwrap();
        let (text, record) = assay_api::keys::mint(&*self.state.entropy, now, account, "a key", scopes, expires);
        self.state.records.create_key(record).await.unwrap();
        text.reveal().to_owned()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let json = parts.headers.get("content-type").is_some_and(|kind| kind == "application/json");
        let body = match bytes.is_empty() {
            true => Value::Null,
            false if json => serde_json::from_slice(&bytes).unwrap(),
            false => Value::String(String::from_utf8_lossy(&bytes).into_owned()),
        };
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str, key: &str) -> Answer {
        self.send(request("GET", path, key).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, key: &str) -> Answer {
        self.send(request("POST", path, key).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post_json(&self, path: &str, key: &str, body: &Value) -> Answer {
        let request = request("POST", path, key).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    /// Creates a job of `episodes` episodes, runs it to its end and returns its id.
    pub(crate) async fn completed(&self, key: &str, episodes: u32) -> String {
        let text = episodes.to_string();
        let created = self.verify(key, &[POLICY, SCENARIO, Part::Text("num_episodes", &text)]).await;
        let (records, now, lease) = (&self.state.records, self.clock.now(), SignedDuration::from_secs(15));
        while let Some(claim) = records.claim_shard(&ShardRequest::new("w"), now, lease).await.unwrap() {
            for index in claim.episodes {
                records.record_episode(claim.fence, assay_store_testing::episode(index), now).await.unwrap();
            }
        }
        let taken = records.claim_conclusion("w", now, lease).await.unwrap().unwrap();
        let found = assay_store_testing::outcome(&taken.header, &taken.episodes);
        assert!(records.complete_job(taken.fence, found, assay_store_testing::signed(), now).await.unwrap());
        created.body["job_id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn verify(&self, key: &str, parts: &[Part<'_>]) -> Answer {
        self.send(form(request("POST", "/verify", key), parts)).await
    }

    pub(crate) async fn submit(&self, key: &str, parts: &[Part<'_>]) -> Answer {
        self.send(form(request("POST", "/submissions", key), parts)).await
    }

    /// Creates a submission and returns its id.
    pub(crate) async fn submission(&self, key: &str) -> String {
        let made = self.submit(key, &[POLICY, Part::Text("scenario_id", "cartpole_keepin")]).await;
        assert_eq!(made.status, 201, "{}", made.body);
        made.body["submission_id"].as_str().unwrap().to_owned()
    }

    /// Creates a submission, runs it to its end and returns its id.
    pub(crate) async fn submitted(&self, key: &str) -> String {
        let id = self.submission(key).await;
        self.work(assay_store_testing::episode).await;
        self.publish();
        id
    }

    /// Advances the clock until earlier submissions are published.
    pub(crate) fn publish(&self) {
        self.clock.forward(i64::from(Grid::STEP_S));
    }

    /// Runs all waiting jobs to their end, with the results of `result`.
    pub(crate) async fn work(&self, result: impl Fn(u32) -> EpisodeResult) {
        let (records, now, lease) = (&self.state.records, self.clock.now(), SignedDuration::from_secs(15));
        while let Some(claim) = records.claim_shard(&ShardRequest::new("w"), now, lease).await.unwrap() {
            for index in claim.episodes {
                records.record_episode(claim.fence, result(index), now).await.unwrap();
            }
        }
        while let Some(taken) = records.claim_conclusion("w", now, lease).await.unwrap() {
            let found = assay_store_testing::outcome(&taken.header, &taken.episodes);
            assert!(records.complete_job(taken.fence, found, assay_store_testing::signed(), now).await.unwrap());
        }
    }

    /// Returns the files that must not outlive a request.
    pub(crate) fn leftovers(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("uploads")).unwrap().count()
    }
}

pub(crate) fn request(method: &str, path: &str, key: &str) -> axum::http::request::Builder {
    let builder = Request::builder().method(method).uri(path);
    if key.is_empty() { builder } else { builder.header("authorization", format!("Bearer {key}")) }
}

/// A part of a form.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    Text(&'a str, &'a str),
    File(&'a str, &'a str, &'a [u8]),
}

pub(crate) const ZIP: &[u8] = b"PK\x03\x04 an archive, as far as these tests look";
/// Returns an archive whose policy declares this model, with its size if it is given.
pub(crate) fn archive_with_model(sha256: Sha256Digest, size_bytes: Option<u64>) -> Vec<u8> {
    let size = size_bytes.map_or_else(String::new, |size| format!(" {size}"));
    [ZIP, format!("\nmodel nets/m.onnx {sha256}{size}\n").as_bytes()].concat()
}

pub(crate) const POLICY: Part<'_> = Part::File("policy", "grasp.zip", ZIP);
pub(crate) const SERVER: Part<'_> = Part::Text("policy_url", "ws://policy.test:8000/?token=t-secret");
pub(crate) const SCENARIO: Part<'_> = Part::Text("scenario", "cartpole_keepin");

pub(crate) fn form(builder: axum::http::request::Builder, parts: &[Part<'_>]) -> Request<Body> {
    builder.header("content-type", "multipart/form-data; boundary=XyZ").body(Body::from(encode(parts))).unwrap()
}

pub(crate) fn encode(parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for part in parts {
        let (head, content) = match part {
            Part::Text(name, text) => (format!("name=\"{name}\""), text.as_bytes()),
            Part::File(name, file, content) => (format!("name=\"{name}\"; filename=\"{file}\""), *content),
        };
        body.extend(format!("--XyZ\r\nContent-Disposition: form-data; {head}\r\n\r\n").as_bytes());
        body.extend(content);
        body.extend(b"\r\n");
    }
    body.extend(b"--XyZ--\r\n");
    body
}

/// A clock that starts at an arbitrary time and moves only when it is advanced.
#[derive(Debug)]
pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn forward(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_750_000_000 + self.0.load(Ordering::Relaxed)).unwrap()
    }
}

/// Deterministic bytes that do not repeat within a run.
#[derive(Debug)]
struct Counter(AtomicU64);

impl Entropy for Counter {
    fn fill(&self, bytes: &mut [u8]) {
        let digest = Sha256Digest::of(self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        bytes.copy_from_slice(&digest.as_bytes()[..bytes.len()]);
    }
}

fn base_runtime() -> RuntimeVersion {
    RuntimeVersion { name: RuntimeName::base(), sha256: Sha256Digest::new([0xba; 32]) }
}

/// Returns the models in lines `model PATH SHA256` of an archive, with the size in bytes if it follows.
fn declared(archive: &[u8]) -> Vec<DeclaredModel> {
    let model = |line: &str| {
        let mut words = line.strip_prefix("model ")?.split(' ');
        let (path, sha256) = (words.next()?.to_owned(), words.next()?.parse().unwrap());
        Some(DeclaredModel { path, sha256, size_bytes: words.next().map(|size| size.parse().unwrap()) })
    };
    String::from_utf8_lossy(archive).lines().filter_map(model).collect()
}

/// Accepts files that begin like a zip archive.
#[derive(Debug)]
struct MagicIntake;

impl PolicyIntake for MagicIntake {
    fn runtimes(&self) -> Vec<RuntimeCard> {
        let RuntimeVersion { name, sha256 } = base_runtime();
        let packages = [("numpy".to_owned(), "2.4.6".to_owned())].into();
        let (python, imports) = ("3.11.7".to_owned(), vec!["numpy".to_owned()]);
        vec![RuntimeCard { name, sha256, current: true, python, packages, imports, size_bytes: 111_000_000 }]
    }

    fn packed_runtime(&self, sha256: Sha256Digest, _: u64) -> std::io::Result<Option<(PackedRuntime, PathBuf)>> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let content = std::fs::read(&file)?;
        let packed = PackedRuntime { sha256: Sha256Digest::of(&content), size_bytes: content.len() as u64 };
        Ok((sha256 == base_runtime().sha256).then_some((packed, file)))
    }

    fn check(&self, zip: &Path) -> Result<CheckedPolicy, IntakeFailure> {
        let bytes = std::fs::read(zip).map_err(IntakeFailure::Broken)?;
        if bytes.starts_with(b"PK") {
            let (sha256, runtime) = (Sha256Digest::of(&bytes), base_runtime());
            return Ok(CheckedPolicy { sha256, runtime, models: declared(&bytes), warnings: Vec::new() });
        }
        Err(IntakeFailure::Refused { field: "policy", message: "this is not a zip archive".into() })
    }

    fn check_server(&self, url: &str) -> Result<CheckedServer, IntakeFailure> {
        match url.split_once('?').map_or(url, |(address, _)| address) {
            address if address.starts_with("ws://") => Ok(CheckedServer { name: address.to_owned() }),
            _ => Err(IntakeFailure::Refused { field: "policy_url", message: "no address of a policy server".into() }),
        }
    }
}

/// Connections that are accepted and lead nowhere.
#[derive(Debug)]
struct Unconnected;

impl PolicyConnections for Unconnected {
    fn reserve(&self, _: assay_model::JobId) -> Option<Box<dyn PolicyReservation>> {
        Some(Box::new(Self))
    }

    fn is_awaited(&self, _: assay_model::JobId) -> bool {
        false
    }

    fn awaited(&self) -> BTreeSet<assay_model::JobId> {
        BTreeSet::new()
    }

    fn connected(&self) -> BTreeSet<assay_model::JobId> {
        BTreeSet::new()
    }

    fn known(&self) -> BTreeSet<assay_model::JobId> {
        BTreeSet::new()
    }

    fn set_elsewhere(&self, _: &BTreeSet<assay_model::JobId>) {}

    fn leave(&self, _: assay_model::JobId) {}

    fn end(&self, _: assay_model::JobId) {}
}

impl PolicyReservation for Unconnected {
    fn attach(self: Box<Self>, _: tokio::io::DuplexStream) {}
}

/// Accepts addresses; nothing is sent, since no deliveries run here.
#[derive(Debug)]
struct Unsent;

#[async_trait]
impl WebhookSender for Unsent {
    fn check(&self, url: &str) -> Result<Secret, String> {
        if url.starts_with("https://") { Ok(Secret::new(url)) } else { Err("must begin with https://".into()) }
    }

    async fn post(&self, _: &Secret, _: &[(&'static str, String)], _: Vec<u8>) -> Result<u16, String> {
        Err("nothing is sent".into())
    }
}

#[derive(Debug)]
struct OneKey;

impl SigningKeys for OneKey {
    fn published(&self) -> std::io::Result<PublishedKeys> {
        let mut keys = PublishedKeys::default();
        let made = Timestamp::from_second(1_750_000_000).unwrap();
        keys.promote(&SigningKey::from_secret([7; 32]).public(), made).map_err(std::io::Error::other)?;
        Ok(keys)
    }
}

/// Reports a difference in episode 0, and that it is busy for all others.
#[derive(Debug)]
struct Different;

#[async_trait]
impl Replayer for Different {
    async fn replay(&self, _job: JobRecord, episode: EpisodeResult) -> Result<ReplayReport, ReplayFailure> {
        if episode.episode > 0 {
            return Err(ReplayFailure::Unavailable("another replay is running; ask again".into()));
        }
        let difference = Difference {
            control_step: 3,
            time_s: 0.06,
            quantity: "action.0".into(),
            recorded: Some(1.0),
            replayed: None,
            cause: DifferenceCause::Policy,
        };
        Ok(ReplayReport {
            same: false,
            episode: 0,
            recorded_trace_hash: episode.trace_hash,
            replayed_trace_hash: None,
            fingerprint_differences: Vec::new(),
            comparison: Comparison { recorded_steps: 9, replayed_steps: 9, difference: Some(difference) },
        })
    }
}

/// Accepts any policy once it is released.
#[derive(Debug, Default)]
pub(crate) struct Gated {
    pub(crate) closed: Arc<(Mutex<bool>, Condvar)>,
}

impl Preflights for Gated {
    fn run(&self, request: &PreflightRequest) -> Result<Preflight, PreflightFailure> {
        let (closed, opened) = &*self.closed;
        drop(opened.wait_while(closed.lock().unwrap(), |closed| *closed).unwrap());
        if let Some(archive) = &request.archive
            && !std::fs::read(archive).unwrap().starts_with(b"PK")
        {
            let message = "this is not a zip archive".into();
            return Err(IntakeFailure::Refused { field: "policy", message }.into());
        }
        Ok(found(request))
    }
}

fn found(request: &PreflightRequest) -> Preflight {
    let term = |name: &str| ActionTerm {
        name: name.into(),
        unit: "N".into(),
        low: -1.0,
        high: 1.0,
        least: Some(-2.0),
        greatest: Some(0.5),
        clipped: 3,
    };
    let finding = |level, code: &str| Finding { level, code: code.into(), message: "m".into(), advice: "a".into() };
    let spread = LatencyMs { p50: 1.0, p95: 2.0, p99: 3.0, max: 4.0 };
    Preflight {
        holds: true,
        scenario: request.scenario.clone(),
        scenario_version: "1.0.0".into(),
        policy_name: request.policy_name.clone(),
        policy_sha256: None,
        policy_identity: PolicyIdentity::Declared,
        speaks: request.server.as_ref().map(|_| "a protocol".into()),
        instruction: Some("go".into()),
        control_hz: 50.0,
        time_limit_s: 10,
        images: None,
        observation: vec![ObservedTerm {
            name: "time".into(),
            dtype: "float64".into(),
            shape: vec![],
            unit: "s".into(),
            description: "Simulated time.".into(),
        }],
        action: vec![term("force")],
        budget: PolicyBudget { import_cpu_ms: 1e4, first_cpu_ms: 5e3, step_cpu_ms: 100.0, hard_cpu_ms: 1e3 },
        steps: 25,
        import_cpu_ms: Some(30.0),
        latency_ms: Some(spread),
        cpu_ms: None,
        first_latency_ms: Some(5.0),
        deterministic: Some(true),
        answers: Some(ServerAnswers { count: 4, shortest: 8, longest: 8, replan_steps: Some(6) }),
        error: None,
        findings: vec![finding(FindingLevel::Warning, "clipped"), finding(FindingLevel::Note, "chunk")],
        wall_time_s: 0.5,
    }
}

/// Accepts texts as archives: `<id> <version>` is the cart-pole with that id. Rejects the id `broken`, and is busy for
/// the id `busy`.
#[derive(Debug)]
struct Renamed;

impl Publisher for Renamed {
    fn open(&self, zip: &Path, account: &AccountId) -> Result<Draft, DraftFailure> {
        let text = std::fs::read_to_string(zip).unwrap();
        let (id, version) = text.split_once(' ').ok_or_else(|| DraftFailure::Archive("no archive".into()))?;
        let (mut scenario, work) = (cartpole(), tempfile::tempdir().unwrap());
        if id == "still" {
            (scenario.parameters, scenario.sets) = (Vec::new(), Vec::new());
        }
        let digest = Sha256Digest::of(&text);
        let scenario = Scenario { id: id.parse().unwrap(), version: version.to_owned(), digest, ..scenario };
        let scenario = scenario.published_by(account).map_err(|error| DraftFailure::Fault(error.fault()))?;
        Ok(Draft { scenario, work })
    }

    fn check(&self, draft: &Draft) -> Result<Option<Vec<u8>>, DraftFailure> {
        if draft.scenario.id.as_str().ends_with("busy") {
            return Err(DraftFailure::Busy);
        }
        if draft.scenario.id.as_str().ends_with("broken") {
            let (file, problem) = ("scenario.toml".into(), "must be 1 to 5".into());
            return Err(DraftFailure::Fault(ScenarioFault { file, key: Some("difficulty".into()), problem }));
        }
        Ok(Some(b"\x89PNG".to_vec()))
    }

    fn card(&self, id: &ScenarioId, digest: Sha256Digest) -> Result<ScenarioCard, String> {
        let card = |id: &ScenarioId, version: &str| {
            let (id, version) = (id.clone(), version.to_owned());
            ScenarioCard { id, version, digest, ..cartpole().card() }
        };
        // What was published was a text.
        let name = id.as_str().split_once('.').map_or(id.as_str(), |(_, name)| name);
        match digest {
            KEPT => Ok(card(&cartpole().id, "0.9.0")),
            _ if digest == Sha256Digest::of(format!("{name} 1.2.0")) => Ok(card(id, "1.2.0")),
            _ => Err(format!("{id} is gone")),
        }
    }

    fn spec(&self, id: &ScenarioId, _digest: Sha256Digest) -> Result<Spec, String> {
        Ok(Spec { id: id.to_string(), ..cartpole().spec() })
    }
}

fn cartpole() -> Scenario {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Scenario::load(&root.join("scenarios/cartpole_keepin"), &root.join("robots")).unwrap()
}

/// Two scenarios with short stories and the spec of a built-in one, in a collection.
fn catalog() -> StaticCatalog {
    let scenarios = ["cartpole_keepin", "tabletop_reach"].map(|id| (card(id), cartpole().spec()));
    let small = Collection {
        id: "small".into(),
        name: "Small".into(),
        description: "Two of them.".into(),
        scenarios: vec!["cartpole_keepin".into(), "tabletop_reach".into()],
    };
    let overall = Collection {
        id: "overall".into(),
        name: "Overall".into(),
        description: "What the overall board is the mean of.".into(),
        ..small.clone()
    };
    let clips = BTreeMap::from([("cartpole_keepin".parse().unwrap(), ["reference", "reckless"].map(clip).into())]);
    StaticCatalog::new(scenarios, vec![small, overall]).with_clips(clips)
}

/// Returns a clip of the repository, as if it was made with the catalog's version.
fn clip(policy: &'static str) -> ScenarioClip {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/clips/cartpole_keepin");
    let file = |end: &str| folder.join(policy).with_extension(end);
    let mut report: JobReport = serde_json::from_slice(&std::fs::read(file("json")).unwrap()).unwrap();
    report.scenario_digest = card("cartpole_keepin").digest;
    ScenarioClip { policy, report, video: file("mp4"), poster: file("webp") }
}

fn card(id: &str) -> ScenarioCard {
    ScenarioCard {
        id: id.parse().unwrap(),
        name: format!("The {id}"),
        description: "Something to do.".into(),
        difficulty: 2,
        time_limit: 10,
        max_score: 1000,
        long_description: "# A long story".into(),
        version: "1.0.0".into(),
        digest: Sha256Digest::new([0xab; 32]),
        max_violation_probability: 0.1,
        arena_episodes: 3,
        idle_progress: 0.0,
        replan_steps: (id == "tabletop_reach").then_some(8),
        archive_mib: (id == "tabletop_reach").then_some(1),
        render_profile: None,
        drawn_ranges: None,
    }
}
