//! A season that closes while its server is killed at each step: it closes once, with one set of reruns.

use std::fs;
use std::time::Duration;

use assay_model::SeasonSecret;
use assay_testkit::{Assay, Client, PATIENCE, Server, archive, example, wait_for};
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serve::arena::{ended, member, submit};
use crate::serve::{CARTPOLE, STOP_LIMIT, VIDEO_LIMIT, assay};

/// Number of episodes of a submission, fewer than the scenario's so that it is quick.
const EPISODES: u32 = 3;
/// Number of entries that are rerun.
const ENTRIES: u32 = 2;
/// Maximum time of a step of the closing on a busy machine.
const STEP_LIMIT: Duration = PATIENCE;
/// Log message for a step that the records refused.
const REFUSED: &str = "could not close season";

/// The data folder, which is kept when its server is restarted.
struct Host {
    assay: Assay,
}

impl Host {
    /// Starts the server with this number of lanes.
    fn serve(&self, lanes: &str) -> (Server, Client) {
        // Erased files are removed at once.
        let more = ["--lanes", lanes, "--set", "retention.every_s=0.1"];
        let server = self.assay.serve(&self.assay.path("data"), &more);
        let client = server.client(&fs::read_to_string(self.assay.path("data/bootstrap-key")).unwrap());
        (server, client)
    }

    fn season(&self, command: &str, more: &[&str]) {
        let data = self.assay.path("data");
        let done = self.assay.run(&[&["season", command, CARTPOLE, "--data", data.to_str().unwrap()], more].concat());
        assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    }

    fn records(&self) -> Connection {
        let db = Connection::open(self.assay.path("data/assay.db")).unwrap();
        db.busy_timeout(Duration::from_secs(10)).unwrap();
        db
    }

    fn count(&self, sql: &str) -> u32 {
        self.records().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn state(&self) -> String {
        self.records().query_row("SELECT state FROM seasons", [], |row| row.get(0)).unwrap()
    }

    /// Returns the number of reruns and of their episodes.
    fn reruns(&self) -> (u32, u32) {
        let episodes = "SELECT count(*) FROM episodes JOIN jobs USING (job_id) WHERE kind = 'rerun'";
        (self.count("SELECT count(*) FROM jobs WHERE kind = 'rerun'"), self.count(episodes))
    }

    /// Makes the records refuse the step that writes this column, so that a server never gets beyond it.
    fn hold(&self, column: &str) {
        let sql = format!(
            "CREATE TRIGGER held BEFORE UPDATE OF {column} ON seasons BEGIN SELECT raise(ABORT, 'held by a test'); END"
        );
        self.records().execute_batch(&sql).unwrap();
    }

    fn let_go(&self) {
        self.records().execute_batch("DROP TRIGGER held").unwrap();
    }
}

fn wait_until_refused(server: &Server) {
    wait_for("a step that is refused", STEP_LIMIT, || server.log().contains(REFUSED).then_some(()));
}

fn kill(server: Server) {
    let ended = server.stop(Signal::KILL, STOP_LIMIT);
    assert_eq!(ended.code, 128 + 9, "{}", ended.stderr);
}

/// Returns a policy that fails after reaching a stage or two, because rendering a complete episode takes long.
fn balancing_until(end_s: f64) -> Vec<u8> {
    let reference = fs::read(example(CARTPOLE, "reference").join("policy.py")).unwrap();
    let policy = format!(
        "import time\nimport reference\n\n# So that a server can be killed between two episodes.\ntime.sleep(0.3)\n\nclass Policy(reference.Policy):\n    def act(self, observation):\n        \
         if observation['time'] > {end_s}:\n            raise RuntimeError\n        return super().act(observation)\n"
    );
    archive(&[("policy.py", policy.as_bytes()), ("reference.py", &reference)])
}

/// Creates a season of few episodes with a completed entry of each of two accounts. Returns the submissions.
fn entries(host: &Host, server: &Server, admin: &Client) -> Vec<(Client, String)> {
    host.season("open", &[]);
    let sql = format!("UPDATE seasons SET pins = json_set(pins, '$.episodes', {EPISODES})");
    host.records().execute_batch(&sql).unwrap();
    let enter = |(account, end_s): (&str, f64)| {
        let client = member(server, admin, account);
        let id = submit(&client, &balancing_until(end_s));
        (client, id)
    };
    let entries: Vec<_> = [("patient", 6.0), ("hasty", 3.0)].into_iter().map(enter).collect();
    for (client, id) in &entries {
        assert_eq!(ended(client, id)["status"], "COMPLETED");
    }
    entries
}

#[test]
fn a_server_that_is_killed_at_each_step_closes_its_season_once() {
    let host = Host { assay: assay() };
    let (server, admin) = host.serve("2");
    let entries = entries(&host, &server, &admin);

    // Before the reruns.
    host.hold("reruns_at");
    host.season("close", &["--top", "2"]);
    wait_until_refused(&server);
    kill(server);
    assert_eq!((host.state().as_str(), host.reruns()), ("CLOSING", (0, 0)), "all or nothing");
    host.let_go();

    // During the reruns, one episode after the other. From here on nothing is released.
    host.hold("closed_at");
    let (server, _) = host.serve("1");
    wait_for("an episode that ran again", STEP_LIMIT, || (host.reruns().1 > 0).then_some(()));
    kill(server);
    let (runs, done) = host.reruns();
    assert_eq!(runs, ENTRIES);
    assert!(done < ENTRIES * EPISODES, "all {done} episodes had ended");

    // After the reruns, before the release.
    let (server, admin) = host.serve("2");
    wait_until_refused(&server);
    let season = admin.get("/seasons").body["seasons"][0].clone();
    assert_eq!((&season["state"], &season["secret"]), (&json!("CLOSING"), &Value::Null));
    let early = admin.get(&format!("/submissions/{}/episodes?run=closing", entries[0].1));
    assert_eq!(early.status, 403, "{}", early.body);
    kill(server);
    assert_eq!((host.state().as_str(), host.reruns()), ("CLOSING", (ENTRIES, ENTRIES * EPISODES)));
    host.let_go();

    let (server, admin) = host.serve("2");
    let season = wait_for("a closed season", STEP_LIMIT, || {
        let season = admin.get("/seasons").body["seasons"][0].clone();
        (season["state"] == json!("CLOSED")).then_some(season)
    });
    for (_, id) in &entries {
        runs_again_are_shown(&admin, id, &season);
    }
    let board = admin.get(&format!("/leaderboard?scenario={CARTPOLE}")).body;
    assert_eq!((&board["total"], &board["entries"][0]["account"]), (&json!(ENTRIES), &json!("patient")), "{board}");
    erased_with_both_runs(&host, &admin, &entries[1].1);
    assert_eq!(admin.get(&format!("/leaderboard?scenario={CARTPOLE}")).body, board, "what it reached stays");
    kill(server);

    // It is closed once, and another start changes nothing.
    let (server, admin) = host.serve("2");
    assert_eq!(admin.get("/seasons").body["seasons"], json!([season]));
    let stopped = server.stop(Signal::TERM, STOP_LIMIT);
    assert_eq!(stopped.code, 0, "{}", stopped.stderr);
    assert_eq!(host.reruns(), (ENTRIES, ENTRIES * EPISODES), "one set of runs");
    assert_eq!(host.count("SELECT count(DISTINCT rerun_of) FROM jobs WHERE kind = 'rerun'"), ENTRIES);
    host.assay.assert_clean();
}

/// Checks that erasing a submission also erases its rerun.
fn erased_with_both_runs(host: &Host, client: &Client, id: &str) {
    let run = client.get(&format!("/submissions/{id}/report.json?run=closing")).body["job_id"].clone();
    let evidence = [id, run.as_str().unwrap()].map(|job| host.assay.path("data/blobs/jobs").join(job));
    assert!(evidence.iter().all(|folder| folder.is_dir()), "{evidence:?}");
    assert_eq!(client.delete(&format!("/submissions/{id}")).status, 204);
    wait_for("evidence that is gone", STEP_LIMIT, || (!evidence.iter().any(|folder| folder.exists())).then_some(()));
    for below in ["", "/episodes", "/episodes?run=closing", "/report", "/report.json?run=closing", "/attestation"] {
        let answer = client.get(&format!("/submissions/{id}{below}"));
        assert_eq!((answer.status, &answer.body["error"]["code"]), (410, &json!("GONE")), "{below}");
    }
    let listed = client.get(&format!("/leaderboard?scenario={CARTPOLE}")).body;
    assert!(listed["entries"].as_array().unwrap().iter().any(|entry| entry["submission_id"] == json!(id)), "{listed}");
}

/// Checks that the reruns are public.
fn runs_again_are_shown(client: &Client, id: &str, season: &Value) {
    let secret = SeasonSecret::parse(season["rerun_secret"].as_str().unwrap()).unwrap();
    let get = |below: &str| client.get(&format!("/submissions/{id}/{below}?run=closing"));
    // Logs and videos follow.
    let page = wait_for("the video of a run at the season's end", VIDEO_LIMIT, || {
        let page = get("episodes");
        assert_eq!((page.status, &page.body["total"]), (200, &json!(EPISODES)), "{}", page.body);
        page.body["episodes"][0]["video_url"].is_string().then_some(page)
    });
    for (index, episode) in (0..).zip(page.body["episodes"].as_array().unwrap()) {
        assert_eq!(episode["seed"], json!(secret.episode(index).policy));
        // Without violations, only the first episode has a log and a video.
        for name in ["trace.parquet", "log.mcap", "video.mp4"].into_iter().take(if index == 0 { 3 } else { 1 }) {
            let files = episode["evidence"].as_array().unwrap();
            let file = files.iter().find(|file| file["name"].as_str().unwrap().ends_with(name));
            let file = file.unwrap_or_else(|| panic!("no {name} of episode {index}"));
            let bytes = client.download(file["url"].as_str().unwrap());
            assert_eq!(json!(bytes.len()), file["size_bytes"], "{name}");
        }
    }
    let report = get("report.json");
    assert_eq!((report.status, &report.body["num_episodes"]), (200, &json!(EPISODES)), "{}", report.body);
    assert_ne!(report.body["job_id"], json!(id));
    assert!(client.text(&format!("/submissions/{id}/report?run=closing")).contains("<html"));
    assert_eq!(get("attestation").status, 200);
    let replayed = client.post(&format!("/submissions/{id}/replay?run=closing"));
    assert_eq!((replayed.status, &replayed.body["same"]), (200, &json!(true)), "{}", replayed.body);
}
