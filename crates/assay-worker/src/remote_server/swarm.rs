//! A swarm of workers against one real server with its records in PostgreSQL: the real client, with canned results
//! instead of lanes. All results arrive, and idle workers cost little.
//!
//! `ASSAY_SWARM` is the number of workers. The figures are printed as JSON; `bench/measure/swarm.py` reads them, and
//! names the server's program in `ASSAY_SWARM_SERVER`.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{Assignment, EpisodeResult, RegisterAnswer, RegisterRequest, Secret, Sha256Digest};
use assay_store::{Blobs, RecordOutcome, ScenarioFiles, ShardKind};
use assay_testkit::{Assay, Client, PassingRequest, Postgres, Server, TamperingProxy, example, wait_for, zip_folder};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::cache::InputCache;
use super::client::ProtocolClient;
use super::http_dispatch::HttpDispatch;
use crate::shards::dispatch::Dispatch;
use crate::shards::intervals::CLAIM_WAIT;
use crate::{Cancel, Engine};

const SCENARIO: &str = "cartpole_keepin";
/// Number of workers in `make test`.
const DEFAULT_WORKERS: u32 = 40;
/// Number of jobs, of two episodes each, whose results the swarm sends.
const JOBS: usize = 20;
/// Time over which the server's use of the processor is measured: in a swarm a multiple of [`CLAIM_WAIT`], as idle
/// workers began to wait at about the same time.
const MEASURED: Duration = Duration::from_secs(2 * 45);
const MEASURED_SHORTLY: Duration = Duration::from_secs(3);
/// Interval of the pollers that idle workers are compared with.
const POLL: Duration = Duration::from_secs(1);
const LIMIT: Duration = Duration::from_secs(600);
/// Maximum share of the processor time of as many pollers, and memory of the server for each worker, in KiB, with
/// programs of the tests on a busy machine; the targets are in `docs/benchmarks.md`. The fixed costs of few workers are
/// larger.
const MAX_SHARE: f64 = 0.1;
const MAX_KIB: f64 = 96.0;
const SWARM: u32 = 1000;
/// Unit of times in `/proc`: the same on all Linux systems.
const TICKS_PER_S: f64 = 100.0;

/// The requests of a real worker for a job of two episodes with the test's seed.
struct Canned {
    registration: Value,
    results: BTreeMap<u32, EpisodeResult>,
    files: BTreeMap<Sha256Digest, PathBuf>,
    _folder: TempDir,
}

impl Canned {
    /// Records a real worker behind a proxy.
    fn record(assay: &Assay, server: &Server, client: &Client) -> Self {
        let seen: Arc<Mutex<Vec<PassingRequest>>> = Arc::default();
        let passing = Arc::clone(&seen);
        let proxy = TamperingProxy::start(server.address(), move |request| {
            passing.lock().unwrap().push(request.clone());
            None
        });
        let worker = assay.work(proxy.address(), ("real", &token(client, "real")), &[]);
        let job = client.ended_job(&submit(client), LIMIT);
        assert_eq!(job.episode_details.len(), 2, "{:?}", job.error_message);
        worker.signal(Signal::TERM);
        assert_eq!(worker.wait(LIMIT).code, 0);
        let (requests, folder) = (seen.lock().unwrap(), tempfile::tempdir().unwrap());
        let of = |path: &'static str| requests.iter().filter(move |request| request.path.ends_with(path));
        let json = |request: &PassingRequest| serde_json::from_slice::<Value>(&request.body).unwrap();
        let result = |request: &PassingRequest| -> EpisodeResult {
            serde_json::from_value(json(request)["results"][0]["result"].take()).unwrap()
        };
        let file = |request: &PassingRequest| {
            let digest: Sha256Digest = request.path.rsplit('/').next().unwrap().parse().unwrap();
            let path = folder.path().join(digest.to_string());
            fs::write(&path, &request.body).unwrap();
            // Most files were sent packed.
            if let Ok(unpacked) = Blobs::unpack_file(&path) {
                fs::write(&path, unpacked).unwrap();
            }
            (digest, path)
        };
        Self {
            registration: of("/register").map(json).next().unwrap()["registration"].take(),
            results: of("/results").map(result).map(|result| (result.episode, result)).collect(),
            files: requests.iter().filter(|request| request.method == "PUT").map(file).collect(),
            _folder: folder,
        }
    }
}

/// A worker without lanes.
struct SimulatedWorker {
    dispatch: HttpDispatch,
    _cache: TempDir,
}

impl SimulatedWorker {
    fn register(engine: &Arc<Engine>, address: &str, token: String, registration: &Value) -> Self {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let client = Arc::new(ProtocolClient::new(agent, &format!("http://{address}"), Secret::new(token)));
        let registration = serde_json::from_value(registration.clone()).unwrap();
        let request = RegisterRequest { protocol: assay_model::WORKER_PROTOCOL, registration };
        let answer: RegisterAnswer = client.post("/register", &request, LIMIT).unwrap();
        client.begin_registration(&answer);
        let folder = tempfile::tempdir().unwrap();
        let cache = InputCache::open(folder.path(), 0).unwrap();
        let scenarios = ScenarioFiles::folder(&folder.path().join("scenarios")).unwrap();
        let dispatch = HttpDispatch::new(Arc::clone(engine), client, (cache, scenarios), Cancel::new());
        Self { dispatch, _cache: folder }
    }

    /// Sends the results of a shard.
    fn run(&self, shard: &Assignment, canned: &Canned) -> u32 {
        assert_eq!(self.dispatch.renew(&[shard.fence]).unwrap(), []);
        let mut sent = 0;
        for episode in shard.indices() {
            let result = &canned.results[&episode];
            for file in &result.evidence {
                self.dispatch.keep(shard.fence, file, &canned.files[&file.sha256]).unwrap();
            }
            let outcome = self.dispatch.record(shard.fence, result).unwrap();
            assert!(matches!(outcome, RecordOutcome::New { .. }), "{outcome:?}");
            sent += 1;
        }
        self.dispatch.released(shard.fence);
        sent
    }
}

fn token(client: &Client, name: &str) -> String {
    let created = client.post_json("/v1/workers", &json!({ "name": name }));
    assert_eq!(created.status, 201, "{}", created.body);
    created.body["token"].as_str().unwrap().to_owned()
}

fn submit(client: &Client) -> String {
    let parts = [("scenario", SCENARIO), ("num_episodes", "2"), ("record", "none")];
    client.verify(&zip_folder(&example(SCENARIO, "reference")), &parts)
}

/// Returns the processor time of a process so far, in seconds.
fn cpu_s(pid: u32) -> f64 {
    let about = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = about.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u32 = fields[11..13].iter().map(|field| field.parse::<u32>().unwrap()).sum();
    f64::from(ticks) / TICKS_PER_S
}

/// Returns the memory of a process, in KiB.
fn memory_kib(pid: u32) -> f64 {
    let about = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = about.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Returns the processor time of a process per second, over the next `time`.
fn load(pid: u32, time: Duration) -> f64 {
    let (before, began) = (cpu_s(pid), Instant::now());
    wait_for("the end of a measurement", LIMIT, || (began.elapsed() > time).then_some(()));
    (cpu_s(pid) - before) / began.elapsed().as_secs_f64()
}

fn program() -> PathBuf {
    let built = || std::env::current_exe().unwrap().parent().unwrap().with_file_name("assay");
    std::env::var_os("ASSAY_SWARM_SERVER").map_or_else(built, PathBuf::from)
}

#[test]
fn a_swarm_of_workers_is_served_and_costs_little_while_idle() {
    let count: u32 = std::env::var("ASSAY_SWARM").map_or(DEFAULT_WORKERS, |count| count.parse().unwrap());
    let (assay, database) = (Assay::new(program().to_str().unwrap()), Postgres::shared().database());
    let arguments = [
        "--store",
        &database,
        "--lanes",
        "0",
        "--set",
        "limits.account.active_jobs=1000",
        "--set",
        "workers.restep_one_in=0",
    ];
    let server = assay.serve(&assay.path("data"), &arguments);
    let client = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let canned = Canned::record(&assay, &server, &client);
    let engine = Arc::new(Engine::without_programs());
    let (brief, long) = if count < SWARM { (MEASURED_SHORTLY, MEASURED_SHORTLY) } else { (MEASURED / 3, MEASURED) };
    let (pid, rest) = (server.pid(), load(server.pid(), brief));
    let before_kib = memory_kib(pid);
    let register = |number: u32| {
        let token = token(&client, &format!("w{number}"));
        SimulatedWorker::register(&engine, server.address(), token, &canned.registration)
    };
    let workers: Vec<_> = (0..count).map(register).collect();
    let (polling, stopping) = (AtomicBool::new(true), AtomicBool::new(false));
    let (polls, sent) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for worker in &workers {
            // A connection that the server closed meanwhile is opened again by the next claim.
            let claim = |kind, wait| worker.dispatch.claim(kind, &[], wait).unwrap_or_default();
            let (polling, stopping, polls, sent, canned) = (&polling, &stopping, &polls, &sent, &canned);
            scope.spawn(move || {
                while polling.load(Ordering::SeqCst) {
                    let next = Instant::now() + POLL;
                    assert!(claim(ShardKind::Policy, Duration::ZERO).is_none());
                    polls.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(next.saturating_duration_since(Instant::now()));
                }
                while !stopping.load(Ordering::SeqCst) {
                    if let Some(shard) = claim(ShardKind::Policy, CLAIM_WAIT) {
                        sent.fetch_add(worker.run(&shard, canned), Ordering::SeqCst);
                    }
                }
            });
            scope.spawn(move || {
                while !stopping.load(Ordering::SeqCst) {
                    if !polling.load(Ordering::SeqCst) {
                        assert!(claim(ShardKind::Server, CLAIM_WAIT).is_none());
                    } else {
                        thread::sleep(POLL);
                    }
                }
            });
        }
        let (polls_before, begun) = (polls.load(Ordering::SeqCst), Instant::now());
        let polled = load(pid, brief) - rest;
        // On a busy machine they poll less often than they should.
        let per_s = f64::from(polls.load(Ordering::SeqCst) - polls_before) / begun.elapsed().as_secs_f64();
        let polled = polled * f64::from(count) / per_s;
        polling.store(false, Ordering::SeqCst);
        let begun = Instant::now();
        wait_for("workers that wait", LIMIT, || (begun.elapsed() > 2 * POLL).then_some(()));
        let (idle, kib) = (load(pid, long) - rest, (memory_kib(pid) - before_kib) / f64::from(count));
        let jobs: Vec<_> = (0..JOBS).map(|_| submit(&client)).collect();
        for job in jobs {
            assert_eq!(client.ended_job(&job, LIMIT).episode_details.len(), 2);
        }
        stopping.store(true, Ordering::SeqCst);
        workers.iter().for_each(|worker| worker.dispatch.stop());
        let figures =
            json!({ "workers": count, "rest": rest, "polled": polled, "polls_per_s": per_s, "idle": idle, "kib": kib });
        eprintln!("swarm {figures}");
        if count >= SWARM {
            assert!(idle <= MAX_SHARE * polled && kib <= MAX_KIB, "{figures}");
        }
    });
    assert_eq!(sent.load(Ordering::SeqCst) as usize, 2 * JOBS, "each result once");
    assert_eq!(server.stop(Signal::TERM, LIMIT).code, 0);
    assay.assert_clean();
}
