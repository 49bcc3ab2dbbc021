//! Scenarios that accounts publish: the real program examines them in real jails.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use assay_model::{JobStatus, Verdict};
use assay_testkit::{Assay, Client, Jailed, archive, example, home, wait_for, zip_folder};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::hostile::{CASES, Case, SCENE, TOML, WORLD, files};
use crate::serve::{CARTPOLE, JOB_LIMIT, SLOW, STOP_LIMIT, assay, serve};

/// Maximum processor time of a publication: of its checks, their jails, and the server.
const CPU_LIMIT: Duration = Duration::from_secs(20 + 10);
const PATH: &str = "/community/scenarios";
/// Number of publications during which at least one checker is caught while it runs.
const CHECKER_TRIES: u32 = 5;

fn zip(files: &[(&str, String)]) -> Vec<u8> {
    archive(&files.iter().map(|(name, text)| (*name, text.as_bytes())).collect::<Vec<_>>())
}

/// The cart-pole under another id and version.
pub(crate) fn cartpole(id: &str, version: &str) -> Vec<u8> {
    let mut parts = files(&(TOML, "", "", "", None, ""));
    for (name, text) in &mut parts {
        if *name == TOML {
            let old = [format!("id = \"{CARTPOLE}\""), "version = \"1.0.0\"".to_owned()];
            assert!(old.iter().all(|old| text.contains(old)), "{text}");
            *text = text.replacen(&old[0], &format!("id = \"{id}\""), 1);
            *text = text.replacen(&old[1], &format!("version = \"{version}\""), 1);
        }
        if *name == "README.md" {
            text.push_str("\n<script>alert(1)</script> ![x](https://example.org/x.png)\n");
        }
    }
    zip(&parts)
}

#[track_caller]
pub(crate) fn publish(client: &Client, zip: &[u8]) -> Value {
    let answer = client.try_publish(zip, &[("tags", "mine")]).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body
}

/// Returns the files of unpublished scenarios in the data folder and in the engine's temporary folder.
fn leftovers(assay: &Assay, installed: &[String]) -> Vec<String> {
    let mut left = names(assay.path("data/uploads"));
    left.extend(names(assay.path("data/scenarios")).into_iter().filter(|name| !installed.contains(name)));
    for run in names(assay.path("tmp")) {
        let own = names(assay.path("tmp").join(run));
        left.extend(own.into_iter().filter(|name| ["publish", "check", "sheet"].iter().any(|x| name.starts_with(x))));
    }
    left.sort();
    left
}

fn names(folder: PathBuf) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns what is stored of the built-in scenarios: the folder of each, that of its robots, and its picture.
fn installed(assay: &Assay) -> Vec<String> {
    let folder = home().join("scenarios");
    let scenarios =
        names(folder.clone()).iter().filter(|name| folder.join(name).join("scenario.toml").is_file()).count();
    wait_for("the versions that are installed", JOB_LIMIT, || {
        let kept = names(assay.path("data/scenarios"));
        (kept.len() == 3 * scenarios && kept.iter().all(|name| !name.starts_with('.'))).then_some(kept)
    })
}

#[test]
fn a_published_scenario_is_evaluated_in_the_version_of_its_job() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let first = publish(&client, &cartpole("pole", "1.0.0"));
    assert_eq!((&first["id"], &first["version"]), (&json!("admin.pole"), &json!("1.0.0")));
    let story = first["long_description"].as_str().unwrap();
    assert!(story.contains("&lt;script>") && !story.contains("example.org"), "{story}");
    let picture = client.download(first["thumbnail_url"].as_str().unwrap());
    assert!(picture.starts_with(b"\x89PNG"));
    assert_eq!(client.get("/scenarios/admin.pole/spec").body["id"], "admin.pole");

    // A job that waits behind two long ones while a new version is published.
    let slow = archive(&[("policy.py", SLOW)]);
    let blocking: Vec<String> =
        (0..2).map(|_| client.verify(&slow, &[("scenario", CARTPOLE), ("num_episodes", "1")])).collect();
    let reference = zip_folder(&example(CARTPOLE, "reference"));
    let parts = [("scenario", "admin.pole"), ("num_episodes", "2"), ("record", "none")];
    let pinned = client.verify(&reference, &parts);
    let second = publish(&client, &cartpole("pole", "1.1.0"));
    assert_ne!(first["digest"], second["digest"]);
    blocking.iter().for_each(|id| assert_eq!(client.post(&format!("/verify/{id}/cancel")).status, 200));
    let job = client.ended_job(&pinned, JOB_LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
    assert_eq!((json!(job.scenario_version), json!(job.scenario_digest)), (json!("1.0.0"), first["digest"].clone()));
    let own = client.verify(&reference, &[("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")]);
    let hashes = |id: &str| {
        let job = client.ended_job(id, JOB_LIMIT);
        job.episode_details.iter().map(|episode| episode.trace_hash).collect::<Vec<_>>()
    };
    assert_eq!(hashes(&pinned), hashes(&own), "the same world under another name");

    let same = client.try_publish(&cartpole("pole", "1.1.0"), &[]).unwrap();
    assert_eq!((same.status, &same.body["error"]["code"]), (409, &json!("CONFLICT")));
    let found = client.get(&format!("{PATH}?q=cart&tag=mine&author=admin")).body;
    assert_eq!((&found["total"], &found["scenarios"][0]["evaluations"]), (&json!(1), &json!(1)));

    // After a restart, the published scenarios exist and the results can be reproduced.
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    let server = assay.serve(&assay.path("data"), &["--lanes", "2"]);
    let client = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let replayed = client.post_json(&format!("/verify/{pinned}/replay"), &json!({ "episode": 0 }));
    assert_eq!((replayed.status, &replayed.body["same"]), (200, &json!(true)), "{}\n{}", replayed.body, server.log());
    let next = client.ended_job(&client.verify(&reference, &parts), JOB_LIMIT);
    assert_eq!((next.verdict, next.scenario_version.as_str()), (Some(Verdict::Safe), "1.1.0"));

    assert_eq!(client.delete(&format!("{PATH}/admin.pole")).status, 204);
    assert_eq!(client.get(PATH).body["total"], json!(0));
    assert_eq!(client.get(&format!("{PATH}/admin.pole")).status, 410);
    assert_eq!(client.try_verify(&reference, &parts).unwrap().status, 400);
    assert_eq!(client.try_publish(&cartpole("pole", "2.0.0"), &[]).unwrap().status, 409, "the name stays reserved");
    let replayed = client.post_json(&format!("/verify/{pinned}/replay"), &json!({ "episode": 0 }));
    assert_eq!(replayed.body["same"], json!(true), "what reports speak of stays: {}", replayed.body);
}

#[test]
fn hostile_scenarios_are_refused_and_leave_nothing_behind() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let installed = installed(&assay);
    let more: [Case; 4] = [
        (TOML, "time_limit_s = 10", "time_limit_s = 121", TOML, Some("time_limit_s"), "1 to 120"),
        (TOML, "version = \"1.0.0\"", "version = \"../1\"", TOML, Some("version"), "use letters"),
        (TOML, "[budget]", "[budget]\nimport_cpu_ms = 20000", TOML, Some("budget.import_cpu_ms"), "at most 10000"),
        (SCENE, WORLD, "<worldbody><geom size='0.1'/><plugin plugin='x'/>", SCENE, None, "not allowed"),
    ];
    for case in CASES.iter().chain(&more) {
        let (_, _, new, at, key, words) = case;
        let archive = zip(&files(case));
        let before = server.cpu_time();
        let answer = client.try_publish(&archive, &[]).unwrap();
        let used = server.cpu_time() - before;
        assert!(used < CPU_LIMIT, "{new} took {used:?} of processor time");
        let error = &answer.body["error"];
        assert_eq!((answer.status, &error["code"]), (400, &json!("VALIDATION_ERROR")), "{new}: {error}");
        let details = &error["details"];
        assert_eq!(
            (&details["field"], &details["file"], &details["key"]),
            (&json!("scenario"), &json!(at), &json!(key)),
            "{new}: {error}"
        );
        assert!(error["message"].as_str().unwrap().contains(words), "{new}: {error}");
        assert!(!answer.body.to_string().contains("root:"), "{new} reads /etc/passwd: {error}");
        assert_eq!(leftovers(&assay, &installed), Vec::<String>::new(), "{new}");
    }
    let good: Vec<(&str, String)> = files(&(TOML, "", "", "", None, ""));
    let outside: Vec<_> = good.iter().cloned().chain([("../up.xml", String::new())]).collect();
    let bomb: Vec<_> = good.iter().cloned().chain([("bomb.stl", "\0".repeat(4 << 20))]).collect();
    for (archive, words) in
        [(zip(&outside), "'../up.xml'"), (zip(&bomb), "'bomb.stl'"), (b"x".to_vec(), "not a usable zip")]
    {
        let answer = client.try_publish(&archive, &[]).unwrap();
        assert!(
            answer.status == 400 && answer.body["error"]["message"].as_str().unwrap().contains(words),
            "{}",
            answer.body
        );
    }
    assert_eq!(leftovers(&assay, &installed), Vec::<String>::new());
    assert_eq!((client.get("/healthz").status, &client.get(PATH).body["total"]), (200, &json!(0)));
}

#[test]
fn a_busy_machine_does_not_cause_a_rejection() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let installed = installed(&assay);
    let other = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    // Starves a checker of CPU. It runs only briefly: if the test misses it, the next version is published.
    let (missed, before, answer) = (0..CHECKER_TRIES)
        .find_map(|patch| {
            let (other, version, before) = (other.clone(), format!("1.0.{patch}"), leftovers(&assay, &installed));
            let publishing = std::thread::spawn(move || other.try_publish(&cartpole("pole", &version), &[]).unwrap());
            let stopped = wait_for("a checker, or the end of the publication", JOB_LIMIT, || {
                let command = |jailed: &Jailed| jailed.command.starts_with("/assay/assay-lane check");
                let stopped = assay.jailed().into_iter().find(command).map(|checker| checker.stop());
                (stopped.is_some() || publishing.is_finished()).then_some(stopped.is_some())
            });
            let answer = publishing.join().unwrap();
            stopped.then_some((patch, before, answer))
        })
        .expect("a checker is stopped in one of the tries");
    let error = &answer.body["error"];
    assert_eq!((answer.status, &error["code"]), (503, &json!("UNAVAILABLE")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("too busy"), "{error}");
    let published = json!(u32::from(missed > 0));
    assert_eq!((client.get(PATH).body["total"].clone(), leftovers(&assay, &installed)), (published, before));
    publish(&client, &cartpole("pole", "1.1.0"));
}

#[test]
fn a_published_scenario_has_its_own_seasons_and_leaderboard() {
    let assay = assay();
    let (_server, client) = serve(&assay);
    let mut parts = files(&(TOML, "[arena]", "[arena]\nepisodes = 2", TOML, None, ""));
    let (_, toml) = parts.iter_mut().find(|(name, _)| *name == TOML).unwrap();
    *toml = toml.replacen(&format!("id = \"{CARTPOLE}\""), "id = \"pole\"", 1);
    let published = publish(&client, &zip(&parts));
    let data = assay.path("data");
    let data = data.to_str().unwrap();
    let season = |arguments: &[&str]| assay.run(&[&["season"], arguments, &["--data", data, "--json"]].concat());
    assert_eq!(season(&["open", "admin.nothing"]).code, 2);
    let opened = season(&["open", "admin.pole"]);
    assert_eq!(opened.code, 0, "{}", opened.stderr);
    let opened: Value = serde_json::from_str(&opened.stdout).unwrap();
    assert_eq!((&opened["scenario_digest"], &opened["episodes"]), (&published["digest"], &json!(2)));

    let reference = zip_folder(&example(CARTPOLE, "reference"));
    let parts = [("scenario_id", "admin.pole"), ("name", "entry")];
    let made = client.try_form("/submissions", Some(&reference), &parts).unwrap();
    assert_eq!(made.status, 201, "{}", made.body);
    let id = made.body["submission_id"].as_str().unwrap().to_owned();
    let ended = wait_for("the end of a submission", JOB_LIMIT, || {
        let found = client.get(&format!("/submissions/{id}")).body;
        (found["status"] == "COMPLETED").then_some(found)
    });
    assert_eq!((&ended["verdict"], &ended["scenario_id"]), (&json!("SAFE"), &json!("admin.pole")));
    let board = |query: &str| client.get(&format!("/leaderboard{query}")).body;
    let own = board("?scenario=admin.pole");
    assert_eq!((&own["total"], &own["season"]), (&json!(1), &json!(1)));
    assert_eq!((&own["entries"][0]["submission_id"], &own["entries"][0]["rank"]), (&json!(id), &json!(1)));
    let collections = client.get("/collections").body;
    let collections = collections["collections"].as_array().unwrap();
    assert!(!collections.is_empty());
    let together = collections.iter().map(|collection| format!("?collection={}", collection["id"].as_str().unwrap()));
    for query in together.chain([String::new(), format!("?scenario={CARTPOLE}")]) {
        assert_eq!(board(&query)["total"], json!(0), "{query}");
    }

    // It closes like others, even if its scenario has been deleted.
    assert_eq!(client.delete(&format!("{PATH}/admin.pole")).status, 204);
    assert_eq!(season(&["close", "admin.pole", "--top", "1"]).code, 0);
    wait_for("a closed season", JOB_LIMIT, || {
        (client.get("/seasons").body["seasons"][0]["state"] == "CLOSED").then_some(())
    });
    assert_eq!(board("?scenario=admin.pole")["entries"][0]["submission_id"], json!(id));
    assert_eq!(season(&["open", "admin.pole"]).code, 2, "it was deleted");
}

#[test]
fn a_server_killed_during_a_check_publishes_nothing() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let installed = installed(&assay);
    // Compiles until it is stopped.
    let endless = "<worldbody><replicate count='100000000' offset='1 0 0'><geom size='0.1'/></replicate>";
    let archive = zip(&files(&(SCENE, WORLD, endless, "", None, "")));
    let other = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let publishing = std::thread::spawn(move || other.try_publish(&archive, &[]).is_none());
    wait_for("a checker", JOB_LIMIT, || {
        assay.jailed().iter().any(|jailed| jailed.command.starts_with("/assay/assay-lane check")).then_some(())
    });
    let second = client.try_publish(&cartpole("pole", "1.0.0"), &[]).unwrap();
    assert_eq!((second.status, &second.body["error"]["code"]), (429, &json!("RATE_LIMITED")), "one at a time");
    // The state after a kill between storing the files and recording the version.
    fs::create_dir_all(assay.path("data/scenarios").join("ab".repeat(32))).unwrap();
    drop(server.stop(Signal::KILL, STOP_LIMIT));
    assert!(publishing.join().unwrap(), "the client hears nothing");
    let server = assay.serve(&assay.path("data"), &["--lanes", "2"]);
    let client = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    assert_eq!((client.get(PATH).body["total"].clone(), leftovers(&assay, &installed)), (json!(0), Vec::new()));
    publish(&client, &cartpole("pole", "1.0.0"));
    assert_eq!(client.get(PATH).body["total"], json!(1));
}
