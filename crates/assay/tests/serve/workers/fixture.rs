//! A server without lanes, and a recording of all that a real worker sends for a job.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use assay_model::{JobStatus, Sha256Digest, Verdict};
use assay_store::Blobs;
use assay_testkit::{Assay, Client, PassingRequest, ProtocolWorker, Server, TamperingProxy, example, home, zip_folder};
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serve::{CARTPOLE, JOB_LIMIT, assay, serve, set};

/// The id of the published scenario.
pub(super) const POLE: &str = "admin.pole";

/// File of a recording with all but the evidence.
const ABOUT: &str = "recording.json";

/// Starts a server that has no lanes, with these settings.
#[track_caller]
pub(super) fn lanes_elsewhere(assay: &Assay, settings: &[&str]) -> (Server, Client) {
    let server = assay.serve(&assay.path("data"), &[&["--lanes", "0"][..], &set(settings)].concat());
    let client = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    (server, client)
}

/// Submits a job of a known-answer policy without videos.
#[track_caller]
pub(super) fn submit(client: &Client, policy: &str, episodes: &str) -> String {
    let parts = [("scenario", CARTPOLE), ("num_episodes", episodes), ("record", "none")];
    client.verify(&zip_folder(&example(CARTPOLE, policy)), &parts)
}

/// Returns a worker's row of `GET /v1/workers`.
#[track_caller]
pub(super) fn worker_row(client: &Client, name: &str) -> Value {
    let answer = client.get("/v1/workers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let found = answer.body["workers"].as_array().unwrap().iter().find(|worker| worker["name"] == name).cloned();
    found.unwrap_or_else(|| panic!("no worker {name} in {}", answer.body))
}

/// Publishes the cart-pole as [`POLE`], on a server with lanes that has ended afterwards. Returns its digest.
#[track_caller]
pub(super) fn publish_pole(assay: &Assay) -> Value {
    let renamed = |_: &str, text: String| text.replacen(&format!("id = \"{CARTPOLE}\""), "id = \"pole\"", 1);
    let folder = assay.copy_scenario(CARTPOLE, "copy", renamed);
    let (_server, client) = serve(assay);
    let made = client.try_publish(&zip_folder(&folder), &[("tags", "mine")]).unwrap();
    assert_eq!((made.status, made.body["id"].as_str()), (201, Some(POLE)), "{}", made.body);
    made.body["digest"].clone()
}

/// Evidence by SHA-256.
pub(super) type Files = BTreeMap<Sha256Digest, Vec<u8>>;

/// The requests of an honest worker.
#[derive(Debug)]
pub(super) struct HonestRun {
    /// The body of its registration.
    pub(super) registration: Value,
    /// The result of each episode.
    pub(super) results: Vec<Value>,
    pub(super) files: Files,
}

impl HonestRun {
    /// Returns two episodes of a known-answer policy on a real worker. They are recorded once for each build of the
    /// programs: nothing in them depends on the server, and every job with the same seed has the same worlds.
    #[track_caller]
    pub(super) fn of(policy: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (kind, name) = (format!("honest-{policy}-"), format!("honest-{policy}-{}", Self::made_from(policy)));
        let lock = File::create(folder.join(format!("honest-{policy}.lock"))).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let kept = folder.join(&name);
        if !kept.is_dir() {
            let run = Self::record(policy);
            // Those of earlier builds.
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.file_name().to_string_lossy().starts_with(&kind) {
                    fs::remove_dir_all(entry.path()).unwrap();
                }
            }
            run.keep(&kept);
        }
        Self::kept(&kept)
    }

    /// Returns the digest of all that a recording depends on.
    fn made_from(policy: &str) -> Sha256Digest {
        let program = Path::new(env!("CARGO_BIN_EXE_assay"));
        let built = [program.to_owned(), program.with_file_name("assay-lane")].map(|program| {
            let about = fs::metadata(program).unwrap();
            format!("{} {} {}", about.len(), about.mtime(), about.mtime_nsec())
        });
        let inputs = [example(CARTPOLE, policy), home().join("scenarios").join(CARTPOLE)];
        let inputs = inputs.map(|folder| Sha256Digest::of(zip_folder(&folder)).to_string());
        let runtime = fs::read_to_string(home().join("vendor/runtimes/base/manifest.json")).unwrap();
        Sha256Digest::of([built.join(" "), inputs.join(" "), runtime].join("\n"))
    }

    fn keep(&self, kept: &Path) {
        let folder = tempfile::tempdir_in(kept.parent().unwrap()).unwrap().keep();
        let about = json!({ "registration": self.registration, "results": self.results });
        fs::write(folder.join(ABOUT), about.to_string()).unwrap();
        for (sha256, file) in &self.files {
            fs::write(folder.join(sha256.to_string()), file).unwrap();
        }
        fs::rename(folder, kept).unwrap();
    }

    fn kept(kept: &Path) -> Self {
        let mut about: Value = serde_json::from_slice(&fs::read(kept.join(ABOUT)).unwrap()).unwrap();
        let files =
            fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with(ABOUT));
        let files = files.map(|path| fs::read(path).unwrap()).map(|file| (Sha256Digest::of(&file), file)).collect();
        let results = about["results"].as_array().unwrap().clone();
        Self { registration: about["registration"].take(), results, files }
    }

    /// Records the requests of a real worker behind a proxy.
    #[track_caller]
    fn record(policy: &str) -> Self {
        let assay = assay();
        let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0"]);
        let seen: Arc<Mutex<Vec<PassingRequest>>> = Arc::default();
        let passing = Arc::clone(&seen);
        let proxy = TamperingProxy::start(server.address(), move |request| {
            passing.lock().unwrap().push(request.clone());
            None
        });
        let token = assay.worker_token(&assay.path("data"), "honest");
        let worker = assay.work(proxy.address(), ("honest", &token), &[]);
        let job = client.ended_job(&submit(&client, policy, "2"), JOB_LIMIT);
        let verdict = if policy == "reckless" { Verdict::Unsafe } else { Verdict::Safe };
        assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(verdict)), "{:?}", job.error_message);
        worker.signal(Signal::TERM);
        assert_eq!(worker.wait(JOB_LIMIT).code, 0);
        Self::read(&seen.lock().unwrap())
    }

    fn read(requests: &[PassingRequest]) -> Self {
        let json = |request: &PassingRequest| serde_json::from_slice::<Value>(&request.body).unwrap();
        let of = |path: &'static str| requests.iter().filter(move |request| request.path.ends_with(path));
        let mut results: Vec<Value> =
            of("/results").map(|request| json(request)["results"][0]["result"].take()).collect();
        results.sort_by_key(|result| result["episode"].as_u64());
        let uploads = || requests.iter().filter(|request| request.method == "PUT");
        assert!(uploads().any(|request| request.body.starts_with(b"assaypk1")), "a worker packs what it sends");
        let files =
            uploads().map(|request| unpacked(&request.body)).map(|file| (Sha256Digest::of(&file), file)).collect();
        Self { registration: of("/register").map(json).next().unwrap(), results, files }
    }

    /// Returns the content of an episode's file.
    pub(super) fn file(&self, episode: usize, name: &str) -> &[u8] {
        let listed = self.results[episode]["evidence"].as_array().unwrap();
        let file = listed.iter().find(|file| file["name"].as_str().unwrap().ends_with(name)).unwrap();
        &self.files[&file["sha256"].as_str().unwrap().parse::<Sha256Digest>().unwrap()]
    }

    /// Creates a worker and registers it like the honest one.
    #[track_caller]
    pub(super) fn impostor(&self, assay: &Assay, server: &Server, name: &str) -> ProtocolWorker {
        let token = assay.worker_token(&assay.path("data"), name);
        ProtocolWorker::register(server.address(), &token, &self.registration)
    }

    /// Stores the evidence that a result lists, as far as it was recorded.
    #[track_caller]
    pub(super) fn store(&self, worker: &ProtocolWorker, lease: &str, result: &Value) {
        let listed = result["evidence"].as_array().into_iter().flatten();
        let digests = listed.filter_map(|file| file["sha256"].as_str()?.parse::<Sha256Digest>().ok());
        for file in digests.filter_map(|digest| self.files.get(&digest)) {
            let stored = worker.upload(lease, file);
            assert_eq!(stored.status, 204, "{}", stored.body);
        }
    }
}

/// Returns the file in the body of an upload, packed or not.
fn unpacked(body: &[u8]) -> Vec<u8> {
    let form = tempfile::NamedTempFile::new().unwrap();
    fs::write(form.path(), body).unwrap();
    Blobs::unpack_file(form.path()).unwrap_or_else(|_| body.to_vec())
}

/// Replaces a file that a result lists.
pub(super) fn replace_file(result: &mut Value, name: &str, content: &[u8]) {
    let listed = result["evidence"].as_array_mut().unwrap();
    let file = listed.iter_mut().find(|file| file["name"].as_str().unwrap().ends_with(name)).unwrap();
    file["sha256"] = Sha256Digest::of(content).to_string().into();
    file["size_bytes"] = content.len().into();
}
