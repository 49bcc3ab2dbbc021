//! The examples and links of the OpenAPI document work, on a service with at least one item of every kind: each example
//! of a request is sent unchanged, and schemathesis follows the links until it has reached every linked operation.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use assay_testkit::{Assay, Client, PATIENCE, PythonServer, Server, archive, example, home, wait_for, zip_folder};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::conform::fuzz::LIMITS;
use crate::conform::{CARTPOLE, assay, here, serve, stdout_of, tool};

/// Maximum number of rounds of requests along links. The first follows all links, each further one those that lead to
/// operations not reached before.
const ROUNDS: u32 = 8;
/// Number of request chains per round.
const CHAINS: &str = "40";
/// Number of episodes of a submission, fewer than the scenario's so that it is quick.
const EPISODES: u32 = 1;
/// Number of episodes that the example of a certification needs, in addition to those of other requests.
const MORE_LIMITS: [&str; 2] = ["limits.account.submissions_per_day=1000", "limits.job.max_episodes=60"];
/// Maximum time to prepare everything on one lane, including the grid of 15 s at which a submission's end is published.
const PREPARED_LIMIT: Duration = PATIENCE;

/// A service with an ended and a cancelled verification, a submission in an open season and some in a closed one, and
/// published scenarios.
struct Prepared {
    assay: Assay,
    server: Server,
    client: Client,
    key: String,
    archive: Vec<u8>,
    policy: PythonServer,
    /// COMPLETED verifications, oldest first.
    jobs: Vec<String>,
    /// A cancelled verification, newer than all of them.
    cancelled: String,
    /// Submissions of the closed season.
    released: Vec<String>,
    /// A COMPLETED submission of the open season.
    entry: String,
    scenarios: Vec<String>,
}

impl Prepared {
    fn new() -> Self {
        let assay = assay();
        let limits = LIMITS.iter().filter(|limit| !limit.contains("max_episodes")).chain(&MORE_LIMITS);
        let limits = limits.flat_map(|limit| ["--set", limit]);
        let options: Vec<_> = ["--policy-networks", "127.0.0.0/8"].into_iter().chain(limits).collect();
        let (server, client, key) = serve(&assay, &options);
        let source = example(CARTPOLE, "reference").join("policy.py");
        let policy =
            PythonServer::start(&here().with_file_name("verify/policy_server.py"), &[source.to_str().unwrap()]);
        let archive = zip_folder(&example(CARTPOLE, "reference"));
        open_season(&assay);
        let released: Vec<_> = (0..2).map(|_| submit(&client, &archive)).collect();
        let parts = [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")];
        let jobs: Vec<_> = (0..3).map(|_| client.verify(&archive, &parts)).collect();
        let scenarios = ["pole_one", "pole_two"].map(|id| publish(&client, id)).to_vec();
        for job in &jobs {
            assert!(client.ended_job(job, PREPARED_LIMIT).verdict.is_some());
        }
        released.iter().for_each(|id| completed(&client, id));
        season(&assay, "close", &["--top", "1"]);
        wait_for("a closed season", PREPARED_LIMIT, || {
            (client.get("/seasons").body["seasons"][0]["state"] == json!("CLOSED")).then_some(())
        });
        open_season(&assay);
        let entry = submit(&client, &archive);
        let cancelled = client.verify(&archive, &parts);
        assert_eq!(client.post(&format!("/verify/{cancelled}/cancel")).status, 200);
        completed(&client, &entry);
        Self { assay, server, client, key, archive, policy, jobs, cancelled, released, entry, scenarios }
    }
}

fn season(assay: &Assay, command: &str, more: &[&str]) {
    let data = assay.path("data");
    let done = assay.run(&[&["season", command, CARTPOLE, "--data", data.to_str().unwrap()], more].concat());
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
}

/// Opens a season of few episodes.
fn open_season(assay: &Assay) {
    season(assay, "open", &[]);
    let records = Connection::open(assay.path("data/assay.db")).unwrap();
    records.busy_timeout(Duration::from_secs(10)).unwrap();
    let sql = format!("UPDATE seasons SET pins = json_set(pins, '$.episodes', {EPISODES}) WHERE state = 'OPEN'");
    records.execute_batch(&sql).unwrap();
}

fn submit(client: &Client, archive: &[u8]) -> String {
    let answer = client.try_form("/submissions", Some(archive), &[("scenario_id", CARTPOLE)]).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["submission_id"].as_str().unwrap().to_owned()
}

fn completed(client: &Client, id: &str) {
    wait_for("a submission that is COMPLETED", PREPARED_LIMIT, || {
        (client.get(&format!("/submissions/{id}")).body["status"] == json!("COMPLETED")).then_some(())
    });
}

/// Returns the cart-pole under another id.
fn scenario(id: &str) -> Vec<u8> {
    let folder = home().join("scenarios").join(CARTPOLE);
    let files: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .map(|(name, bytes)| match name.as_str() {
            "scenario.toml" => {
                let text = String::from_utf8(bytes).unwrap();
                let named = text.replacen(&format!("id = \"{CARTPOLE}\""), &format!("id = \"{id}\""), 1);
                assert_ne!(text, named);
                (name, named.into_bytes())
            }
            _ => (name, bytes),
        })
        .collect();
    archive(&files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect::<Vec<_>>())
}

/// Publishes a scenario under this id. Returns its full id.
fn publish(client: &Client, id: &str) -> String {
    let answer = client.try_publish(&scenario(id), &[]).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["id"].as_str().unwrap().to_owned()
}

/// The name in the example of a worker.
const WORKER: &str = "gpu-07";

/// An operation of the document.
struct Operation<'a> {
    method: &'a str,
    path: &'a str,
    described: &'a Value,
}

impl Operation<'_> {
    fn all(document: &Value) -> impl Iterator<Item = Operation<'_>> {
        let items = document["paths"].as_object().unwrap().iter();
        items.flat_map(|(path, item)| {
            let described = item.as_object().unwrap().iter();
            described.map(move |(method, described)| Operation { method, path, described })
        })
    }

    fn id(&self) -> &str {
        self.described["operationId"].as_str().unwrap()
    }

    /// Returns its label in schemathesis.
    fn label(&self) -> String {
        format!("{} {}", self.method.to_uppercase(), self.path)
    }

    /// Returns the operations to which its answers link.
    fn leads_to(&self) -> impl Iterator<Item = &str> {
        let answers = self.described["responses"].as_object().unwrap().values();
        let links = answers.filter_map(|answer| answer["links"].as_object()).flat_map(|links| links.values());
        links.map(|link| link["operationId"].as_str().unwrap())
    }

    /// Returns the examples of its request, with the content type.
    fn examples(&self) -> Vec<(&str, &Value)> {
        let contents = self.described["requestBody"]["content"].as_object().into_iter().flatten();
        let examples = contents.flat_map(|(kind, content)| {
            let named = content["examples"].as_object().into_iter().flat_map(|named| named.values());
            let examples = named.map(|example| &example["value"]).chain(content.get("example"));
            examples.map(move |example| (kind.as_str(), example))
        });
        examples.collect()
    }
}

impl Prepared {
    /// Sends an example with curl, which reads `@policy.zip` from the folder. Only values that no document can contain
    /// are inserted: ids, a valid key, the policy server's port.
    fn send(&self, operation: &Operation<'_>, (kind, example): (&str, &Value), turn: usize) {
        let path = operation.path.replace("{job_id}", &self.jobs[0]).replace("{id}", &self.released[0]);
        let path = path.replace("{name}", WORKER);
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-X", "POST", "-o", "answer.json", "-w", "%{http_code}"]).current_dir(self.assay.path(""));
        curl.args(["-H", &format!("Authorization: Bearer {}", self.key)]);
        let mut example = example.clone();
        if kind == "application/json" {
            if operation.id() == "sign_in" {
                example["key"] = json!(self.key);
            }
            curl.args(["-H", "Content-Type: application/json", "--data", &example.to_string()]);
        } else {
            if operation.id() == "publish_scenario" {
                self.assay.write("my_scenario.zip", scenario(&format!("example_{turn}")));
            }
            for (name, value) in example.as_object().unwrap() {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let text = match name.as_str() {
                    "policy_url" => format!("ws://127.0.0.1:{}", self.policy.port()),
                    _ => text,
                };
                curl.arg("-F").arg(format!("{name}={text}"));
            }
        }
        let status = stdout_of(curl.arg(format!("http://{}{path}", self.server.address())).output().unwrap());
        let text = std::fs::read_to_string(self.assay.path("answer.json")).unwrap();
        let promised = operation.described["responses"].as_object().unwrap().contains_key(&status);
        assert!(status.starts_with('2') && promised, "{}: {status} to {example}: {text}", operation.id());
        if operation.id() == "verify" {
            let job: Value = serde_json::from_str(&text).unwrap();
            let cancelled = self.client.post(&format!("/verify/{}/cancel", job["job_id"].as_str().unwrap()));
            // Errors are ignored, because the job may have ended.
            assert!([200, 409].contains(&cancelled.status), "{}", cancelled.body);
        }
    }

    /// Returns the number of erased items in a list of prepared ones, all of which are older than `newer`.
    fn erased(&self, path: &str, field: &str, newer: &str) -> usize {
        let page = self.client.get(&format!("{path}?status=COMPLETED&before={newer}")).body;
        page[field].as_array().unwrap().iter().filter(|one| !one["erased_at"].is_null()).count()
    }

    /// Returns the facts for `hooks.py` and `links.py`.
    fn facts(&self) -> Value {
        let ended: Vec<_> = self.jobs.iter().chain(&self.released).chain([&self.entry]).collect();
        json!({
            "archive": BASE64_STANDARD.encode(&self.archive),
            "scenarios": [CARTPOLE],
            "jobs": [],
            "server": format!("ws://127.0.0.1:{}", self.policy.port()),
            "own_key": self.key.split('_').nth(1).unwrap(),
            "prepared": {
                "lists": {
                    "/verify": [{ "status": "COMPLETED", "before": self.cancelled, "erased_of": "/verify/{job_id}" }],
                    "/submissions": [
                        { "status": "COMPLETED" },
                        { "before": self.entry, "erased_of": "/submissions/{id}" },
                    ],
                    "/community/scenarios": [{}],
                },
                "ended": ended,
                "erased": {
                    "/verify/{job_id}": self.erased("/verify", "jobs", &self.cancelled),
                    "/submissions/{id}": self.erased("/submissions", "submissions", &self.entry),
                },
                "erasable": {
                    "/verify/{job_id}": self.jobs.len() - 1,
                    "/submissions/{id}": self.released.len() - 1,
                    "/community/scenarios/{id}": self.scenarios.len() - 1,
                },
            },
        })
    }

    /// Runs a round of requests along links between these operations. Returns the number of calls of each that followed
    /// a link and were answered successfully (`reached`) or not (`refused`).
    fn follow(&self, round: u32, among: &BTreeSet<&str>) -> Value {
        let base = format!("http://{}", self.server.address());
        // Links that schemathesis infers by itself are tested elsewhere.
        let config = self.assay.write("links.toml", "[phases.stateful.inference]\nalgorithms = []\n");
        let report = self.assay.path("links.json");
        let mut command = tool("schemathesis");
        command.arg("--config-file").arg(config).args(["run", &format!("{base}/openapi.json"), "--url", &base]);
        command.args(["--phases", "stateful", "--mode", "positive", "--checks", "all", "--continue-on-failure"]);
        command.args(["--max-examples", CHAINS, "--seed", &round.to_string()]);
        command.args(among.iter().flat_map(|id| ["--include-operation-id", id]));
        command.args(["--header", &format!("Authorization: Bearer {}", self.key)]);
        command.env("SCHEMATHESIS_HOOKS", "links").env("ASSAY_FUZZ_FACTS", self.facts().to_string());
        command.env("ASSAY_LINKS_REPORT", &report).current_dir(self.assay.path(""));
        stdout_of(command.output().unwrap());
        serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap()
    }
}

/// Returns the operations that are linked, each with the operations that link to it.
fn linked<'a>(operations: &'a [Operation<'a>]) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut sources: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for operation in operations {
        for target in operation.leads_to() {
            sources.entry(target).or_default().insert(operation.id());
        }
    }
    sources
}

#[test]
fn examples_can_be_sent_and_links_followed() {
    let prepared = Prepared::new();
    let document = prepared.client.get("/openapi.json").body;
    let operations: Vec<_> = Operation::all(&document).collect();
    prepared.assay.write("policy.zip", &prepared.archive);
    let examples = operations.iter().flat_map(|one| one.examples().into_iter().map(move |example| (one, example)));
    let sent = examples.enumerate().map(|(turn, (one, example))| prepared.send(one, example, turn)).count();
    assert!(sent > 10, "only {sent} examples");

    let sources = linked(&operations);
    assert!(sources.len() > 20, "only {} operations are linked", sources.len());
    let mut left: BTreeSet<&str> = sources.keys().copied().collect();
    let mut report = Value::Null;
    for round in 1..=ROUNDS {
        let among = left.iter().flat_map(|id| &sources[id]).chain(&left).copied().collect();
        report = prepared.follow(round, &among);
        left.retain(|id| {
            let operation = operations.iter().find(|operation| operation.id() == *id).unwrap();
            report["reached"][operation.label()].is_null()
        });
        if left.is_empty() {
            return;
        }
    }
    panic!("no link led to an answer of {left:?}; in the last round: {report}");
}
