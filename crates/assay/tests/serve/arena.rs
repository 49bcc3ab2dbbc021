//! The arena from the view of competitors and its host: a season from the first submission to the released evidence.

use std::collections::BTreeSet;
use std::time::Duration;

use assay_model::{Clock, Generator, Grid, ScenarioId, SeasonSecret, Sha256Digest, SystemClock};
use assay_scenario::{Scenario, draw};
use assay_store::{JobRecords, SeasonRecords, SqliteRecords};
use assay_testkit::{Assay, Client, Server, archive, example, home, wait_for, zip_folder};
use jiff::Timestamp;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay, serve};

/// A season's episodes on two lanes of a busy machine.
const SEASON_LIMIT: Duration = Duration::from_secs(300);
/// Episodes of a submission that count.
const EPISODES: u32 = 20;

/// Reports its observations in all possible ways: its log, an exception's message, and the name of the exception's
/// type.
const SPY: &[u8] = b"import sys

count = 0

def policy(observation):
    global count
    count += 1
    saw = ' '.join(repr(float(x)) for x in observation['joint_position'])
    print(saw, file=sys.stderr)
    print(saw)
    if count == 30:
        raise type('Saw_' + saw.replace(' ', '_').replace('.', '_').replace('-', 'm'), (Exception,), {})(saw)
    return [0.0]
";

/// Leaves the marked zone, and then crashes.
const HIDER: &[u8] = b"def policy(observation):
    if observation['joint_position'][0] > 1.05:
        raise ValueError('nothing to see here')
    return [12.0]
";

/// Sleeps when an episode begins, so that a submission takes longer than a step of its grid.
const SLEEPER: &[u8] = b"import time

slept = False

def policy(observation):
    global slept
    if not slept:
        slept = True
        time.sleep(1.3)
    return [0.0]
";

/// Fork servers that wait for a policy.
const WARM: usize = 2;

pub(crate) fn member(server: &Server, admin: &Client, account: &str) -> Client {
    let wish = json!({ "name": account, "account": account, "scopes": ["read", "submit"] });
    let made = admin.post_json("/keys", &wish);
    assert_eq!(made.status, 201, "{}", made.body);
    server.client(made.body["key"].as_str().unwrap())
}

pub(crate) fn submit(client: &Client, zip: &[u8]) -> String {
    let answer = client.try_form("/submissions", Some(zip), &[("scenario_id", CARTPOLE), ("name", "entry")]).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["submission_id"].as_str().unwrap().to_owned()
}

pub(crate) fn ended(client: &Client, id: &str) -> Value {
    wait_for("the end of a submission", SEASON_LIMIT, || {
        let found = client.get(&format!("/submissions/{id}")).body;
        ["COMPLETED", "FAILED", "CANCELLED"].contains(&found["status"].as_str().unwrap()).then_some(found)
    })
}

/// Information about an open season that must stay secret.
struct Hidden {
    secret: SeasonSecret,
    texts: Vec<String>,
}

impl Hidden {
    fn of(assay: &Assay, submissions: &[&str]) -> Self {
        let records = SqliteRecords::open_beside(&assay.path("data"), "a test").unwrap();
        let runtime = Runtime::new().unwrap();
        let scenario: ScenarioId = CARTPOLE.parse().unwrap();
        let secret = runtime.block_on(records.season_secrets(&scenario, 1)).unwrap().unwrap().season;
        let loaded = Scenario::load(&home().join("scenarios").join(CARTPOLE), &home().join("robots")).unwrap();
        let mut texts = vec![secret.to_hex()];
        for episode in 0..EPISODES {
            let seeds = secret.episode(episode);
            texts.extend([seeds.world.to_string(), seeds.policy.to_string()]);
            let drawn = draw(&loaded, &mut Generator::new(seeds.world)).unwrap();
            // Nine digits identify a number. The limits of a distribution and its choices are public.
            let numbers =
                drawn.parameters.iter().filter(|(name, _)| name != "side").map(|(_, value)| format!("{value:.9}"));
            texts.extend(
                numbers.map(|text| text.trim_start_matches('-').to_owned()).filter(|text| !text.ends_with("0000")),
            );
        }
        for id in submissions {
            let results = runtime.block_on(records.episodes(id.parse().unwrap(), 0, EPISODES)).unwrap();
            assert_eq!(results.len(), EPISODES as usize);
            texts.extend(results.into_iter().filter_map(|result| Some(result.trace_hash?.to_string())));
        }
        Self { secret, texts }
    }

    #[track_caller]
    fn search(&self, place: &str, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        for needle in &self.texts {
            assert!(!text.contains(needle), "{needle} stands in {place}");
        }
        let raw = self.secret.reveal();
        assert!(!bytes.windows(raw.len()).any(|window| window == raw), "the secret stands in {place}");
    }
}

/// Returns the answers about a submission, without the signatures that differ each time.
fn answers_about(client: &Client, id: &str) -> String {
    let mut detail = client.get(&format!("/submissions/{id}")).body;
    for field in ["video_url", "showcase"] {
        detail[field] = json!(detail[field].is_null());
    }
    let paths = ["/attestation", "/episodes"].map(|below| format!("/submissions/{id}{below}"));
    let rest = paths.into_iter().chain(["/submissions", "/leaderboard"].map(str::to_owned)).map(|path| {
        let answer = client.get(&path);
        // Errors contain the id of their request.
        format!(
            "{} {}{}",
            answer.status,
            answer.body["error"]["message"],
            if answer.status == 200 { &answer.text } else { "" }
        )
    });
    format!("{detail}\n{}", rest.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_submission_changes_at_the_points_of_its_grid() {
    let assay = assay();
    let (server, admin) = serve(&assay);
    let client = member(&server, &admin, "sleeper");
    let id = submit(&client, &archive(&[("policy.py", SLEEPER)]));
    let created: Timestamp =
        client.get(&format!("/submissions/{id}")).body["created_at"].as_str().unwrap().parse().unwrap();
    let grid = Grid::of(created);
    let mut seen: Vec<(u32, String)> = Vec::new();
    let detail = wait_for("the end of a submission", SEASON_LIMIT, || {
        let (before, text, after) = (SystemClock.now(), answers_about(&client, &id), SystemClock.now());
        let point = grid.last_point(before);
        // Compares only answers between two points of the grid; forecasts of the board may be slightly older.
        if grid.last_point(after) == point {
            seen.push((point, text));
        }
        let found = client.get(&format!("/submissions/{id}")).body;
        (found["status"] == json!("COMPLETED")).then_some(found)
    });
    for pair in seen.windows(2) {
        let [(before, one), (after, other)] = pair else { continue };
        assert!(before < after || one == other, "changed between two points:\n{one}\n{other}");
    }
    let points = seen.last().unwrap().0;
    assert!(points >= 1 && seen.len() > 10, "{} answers up to point {points}", seen.len());
    let completed: Timestamp = detail["completed_at"].as_str().unwrap().parse().unwrap();
    assert_eq!(grid.time(grid.last_point(completed)), completed, "{detail}");
    assert_eq!(detail["progress"]["episodes_done"], Value::Null);

    let events = client.get(&format!("/submissions/{id}/events")).text;
    let data = events.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap();
    let last: Value = serde_json::from_str(data).unwrap();
    assert_eq!((&last["done"], &last["at"]), (&json!(true), &detail["completed_at"]), "{last}");
}

/// A fork server is started when an earlier one is taken. If secret episodes took fork servers that other jobs wait
/// for, the age of a fork server could reveal the times of these episodes, and thus information from an open season.
#[test]
fn secret_episodes_take_no_fork_server_of_public_ones() {
    let assay = assay();
    let (server, admin) = serve(&assay);
    let servers = || -> BTreeSet<i32> {
        assay.jailed().iter().filter(|process| process.is_interpreter()).map(|process| process.pid).collect()
    };
    let waiting = wait_for("warm fork servers", JOB_LIMIT, || Some(servers()).filter(|pids| pids.len() >= WARM));
    let competitor = member(&server, &admin, "competitor");
    let id = submit(&competitor, &zip_folder(&example(CARTPOLE, "reference")));
    assert_eq!(ended(&competitor, &id)["verdict"], json!("SAFE"));
    let left = servers();
    assert!(waiting.is_subset(&left), "secret episodes took {waiting:?}, there are {left:?}");
}

fn board(client: &Client) -> Vec<(String, Value, String)> {
    let answer = client.get(&format!("/leaderboard?scenario={CARTPOLE}"));
    let entries = answer.body["entries"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    entries.iter().map(|entry| (text(&entry["account"]), entry["rank"].clone(), text(&entry["verdict"]))).collect()
}

#[test]
fn a_season_from_the_first_submission_to_its_evidence() {
    let assay = assay();
    let (server, admin) = serve(&assay);
    let entries = [
        ("honest", zip_folder(&example(CARTPOLE, "reference"))),
        ("idle", zip_folder(&example(CARTPOLE, "idle"))),
        ("spy", archive(&[("policy.py", SPY)])),
        ("hider", archive(&[("policy.py", HIDER)])),
    ];
    let members: Vec<(&str, Client, String)> = entries
        .iter()
        .map(|(account, zip)| {
            let client = member(&server, &admin, account);
            let id = submit(&client, zip);
            (*account, client, id)
        })
        .collect();
    let found: Vec<Value> = members.iter().map(|(_, client, id)| ended(client, id)).collect();
    for (detail, verdict) in found.iter().zip(["SAFE", "SAFE", "INCONCLUSIVE", "UNSAFE"]) {
        assert_eq!((&detail["status"], &detail["verdict"]), (&json!("COMPLETED"), &json!(verdict)), "{detail}");
    }
    assert_eq!(
        (&found[2]["error_message"], &found[3]["error_message"]),
        (&json!("policy_error"), &json!("policy_error"))
    );
    let log = found[2]["showcase"]["error"]["log_tail"].as_str().unwrap_or_else(|| panic!("{}", found[2]));
    assert!(log.contains("line 12"), "the showcase's worlds are public: {log}");
    let ranks = board(&admin);
    assert_eq!(ranks[0], ("honest".to_owned(), json!(1), "SAFE".to_owned()), "{ranks:?}");
    assert_eq!(ranks.len(), 4);
    // None of the others reaches the first stage.
    assert!(ranks[1..].iter().all(|(_, rank, _)| rank.is_null()), "{ranks:?}");

    let ids: Vec<&str> = members.iter().map(|(_, _, id)| id.as_str()).collect();
    let hidden = Hidden::of(&assay, &ids);
    search_everything(&hidden, &server, &admin, &members);

    let statement = |client: &Client, id: &str| client.get(&format!("/submissions/{id}/attestation"));
    let (_, honest, id) = &members[0];
    let commitment = statement(honest, id).body;
    let data = assay.path("data");
    let data = data.to_str().unwrap();
    let closing = assay.run(&["season", "close", CARTPOLE, "--data", data, "--top", "1"]);
    assert_eq!(closing.code, 0, "{}{}", closing.stdout, closing.stderr);
    // Independent of the step that has been reached.
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    let server = assay.serve(&assay.path("data"), &["--lanes", "2"]);
    let admin = server.client(&std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let season = wait_for("a closed season", SEASON_LIMIT, || {
        let season = admin.get("/seasons").body["seasons"][0].clone();
        (season["state"] == json!("CLOSED")).then_some(season)
    });
    let secret = SeasonSecret::parse(season["secret"].as_str().unwrap()).unwrap();
    assert_eq!((&secret, &season["commitment"]), (&hidden.secret, &json!(secret.commitment())));
    assert_eq!(season["commitment"], commitment["season_commitment"]);
    assert_eq!(board(&admin)[0], ("honest".to_owned(), json!(1), "SAFE".to_owned()));
    released(&admin, id, &commitment, &secret);
    fetched_and_replayed(&assay, &server, &admin, id, &secret);
    let listed = assay.run(&["season", "list", "--data", data]);
    assert!(listed.stdout.contains("CLOSED"), "{}", listed.stdout);
    assert_eq!(assay.run(&["season", "open", CARTPOLE, "--data", data]).code, 0);
    assert_eq!(admin.get(&format!("/leaderboard?scenario={CARTPOLE}")).body["season"], json!(2));
}

/// Evidence, statement and replay of a submission whose season is closed.
fn released(client: &Client, id: &str, commitment: &Value, secret: &SeasonSecret) {
    let statement = client.get(&format!("/submissions/{id}/attestation")).text;
    let sha256 = Sha256Digest::of(&statement);
    assert_eq!(commitment["statement_sha256"], json!(sha256));
    let report = client.get(&format!("/submissions/{id}/report.json"));
    assert_eq!((report.status, &report.body["mode"]), (200, &json!("arena")));
    assert_eq!(report.body["episode_details"][3]["seed"], json!(secret.episode(3).policy));
    let page = client.get(&format!("/submissions/{id}/episodes?limit=100"));
    assert_eq!(page.body["total"], json!(EPISODES + 1));
    let replayed = client.post_json(&format!("/submissions/{id}/replay"), &json!({ "episode": 3 }));
    assert_eq!((replayed.status, &replayed.body["same"]), (200, &json!(true)), "{}", replayed.body);
}

/// The documented commands, with a key of another account, which has the policy from elsewhere.
fn fetched_and_replayed(assay: &Assay, server: &Server, admin: &Client, id: &str, secret: &SeasonSecret) {
    let made = admin.post_json("/keys", &json!({ "name": "auditor", "account": "auditor", "scopes": ["read"] }));
    let key = made.body["key"].as_str().unwrap();
    let (address, out) = (format!("http://{}", server.address()), assay.path("entry"));
    let out = out.to_str().unwrap();
    let fetched = assay.run(&["fetch", id, "--server", &address, "--key", key, "--out", out]);
    assert_eq!(fetched.code, 0, "{}{}", fetched.stdout, fetched.stderr);
    assert!(!assay.path("entry/policy.zip").exists(), "the policy is its owner's");
    assert!(fetched.stdout.contains("--policy POLICY --season-secret HEX"), "{}", fetched.stdout);
    let policy = assay.write("policy.zip", zip_folder(&example(CARTPOLE, "reference")));
    let (policy, secret) = (policy.to_str().unwrap(), secret.to_hex());
    let replayed = assay.run(&["replay", out, "--season-secret", &secret, "--policy", policy, "--episode", "3"]);
    assert_eq!(replayed.code, 0, "{}{}", replayed.stdout, replayed.stderr);
}

/// Searches every answer of every route that a competitor and the host can request, every linked artifact, and the
/// log.
fn search_everything(hidden: &Hidden, server: &Server, admin: &Client, members: &[(&str, Client, String)]) {
    let document = admin.get("/openapi.json").body;
    let ids: Vec<&str> = members.iter().map(|(_, _, id)| id.as_str()).collect();
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            // Rotation would revoke the client's key.
            let ends = ["/cancel", "/review", "/rotate"].iter().any(|end| path.ends_with(end));
            if ends || !["get", "post"].contains(&method.as_str()) || path.starts_with("/artifacts") {
                continue;
            }
            for id in &ids {
                let named = path
                    .replace("{job_id}", id)
                    .replace("{id}", if path.contains("scenarios") { CARTPOLE } else { id });
                for client in members.iter().map(|(_, client, _)| client).chain([admin]) {
                    let answer = if method == "get" { client.try_get(&named) } else { client.try_post(&named) };
                    let answer = answer.unwrap_or_else(|| panic!("no answer: {method} {named}"));
                    hidden.search(&format!("{method} {named}"), answer.text.as_bytes());
                    asked += usize::from(answer.status == 200);
                }
                if !path.contains('{') {
                    break;
                }
            }
        }
    }
    assert!(asked > 40, "only {asked} answers were searched");
    for (account, client, id) in members {
        let detail = client.get(&format!("/submissions/{id}"));
        let video = detail.body["video_url"].as_str().unwrap_or_else(|| panic!("{account} has no showcase"));
        let bytes = client.download(video);
        assert!(bytes.len() > 1000);
        hidden.search(&format!("the video of {account}"), &bytes);
        for path in ["report", "report.json", "episodes", "replay"] {
            assert!(client.get(&format!("/submissions/{id}/{path}")).status >= 400, "{path}");
            assert_eq!(client.get(&format!("/verify/{id}/{path}")).status, if path == "replay" { 405 } else { 404 });
        }
        for query in ["", "?scenario=cartpole_keepin", "?collection=control"] {
            hidden.search("a board", client.get(&format!("/leaderboard{query}")).text.as_bytes());
        }
        hidden.search("the list", client.get("/submissions?limit=100").text.as_bytes());
    }
    hidden.search("the server's log", server.log().as_bytes());
}
