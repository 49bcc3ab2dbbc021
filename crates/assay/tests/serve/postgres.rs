//! Records on a PostgreSQL server.

use std::fs;
use std::time::Duration;

use assay_model::{JobStatus, Verdict};
use assay_testkit::{Assay, Client, PATIENCE, Postgres, Server, example, wait_for, zip_folder};
use rustix::process::Signal;
use serde_json::Value;

use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay};

/// Maximum time of a job that meets an outage.
const LIMIT: Duration = PATIENCE;
/// Time within which a key that another program revoked is refused, on a busy machine.
const REVOKED: Duration = Duration::from_millis(1500);

fn serve(assay: &Assay, url: &str) -> (Server, Client) {
    let server = assay.serve(&assay.path("data"), &["--store", url, "--lanes", "2", "--log-level", "info"]);
    let client = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    (server, client)
}

fn verify(client: &Client, episodes: &str) -> String {
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", episodes), ("record", "none")])
}

#[test]
fn a_job_runs_with_its_records_on_postgresql() {
    let (assay, url) = (assay(), Postgres::shared().database());
    let (server, client) = serve(&assay, &url);
    let id = verify(&client, "4");
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
    assert!(!assay.path("data/assay.db").exists(), "the records are elsewhere");
    let list = client.get("/verify");
    assert_eq!((list.status, list.body["total"].as_u64()), (200, Some(1)), "{}", list.text);
    let replay = client.post(&format!("/verify/{id}/replay"));
    assert_eq!((replay.status, &replay.body["same"]), (200, &Value::Bool(true)), "{}", replay.text);

    // Keys of another program are valid at once, and refused within a second.
    let of_keys =
        |more: &[&str]| assay.run(&[&["keys", more[0], "--data", "data", "--store", &url], &more[1..]].concat());
    let made = of_keys(&["create", "--account", "lab", "--scopes", "read"]);
    assert_eq!(made.code, 0, "{made:?}");
    let text = made.stdout.trim();
    let reader = server.client(text);
    assert_eq!(reader.get("/verify").status, 200);
    assert_eq!(of_keys(&["revoke", text.split('_').nth(1).unwrap()]).code, 0);
    wait_for("the refusal of a revoked key", REVOKED, || (reader.get("/verify").status == 401).then_some(()));

    // So are other commands that need no folder; a backup of the folder alone would be useless.
    for command in [&["render", &id][..], &["workers", "create", "first"], &["season", "list"]] {
        let done = assay.run(&[command, &["--store", &url]].concat());
        assert_eq!(done.code, 0, "{command:?}: {done:?}");
    }
    let backup = assay.run(&["backup", "copy", "--data", "data"]);
    assert!(backup.code == 2 && backup.stderr.contains("pg_dump"), "{backup:?}");

    // A server with its records in the folder is refused, and the records are the same after a restart.
    let second = assay.begin_serving(&assay.path("data"), &[]).wait(STOP_LIMIT);
    assert!(second.code != 0 && second.stderr.contains("set store.url"), "{second:?}");
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    let (server, client) = serve(&assay, &url);
    assert_eq!(client.job(&id).verdict, Some(Verdict::Safe));
    assert_eq!(client.delete(&format!("/verify/{id}")).status, 204);
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}

#[test]
fn an_outage_of_the_database_delays_jobs_and_fails_none() {
    let database = Postgres::start(&[("fsync", "on")]);
    let (assay, url) = (assay(), database.database());
    let (server, client) = serve(&assay, &url);
    let id = verify(&client, "40");
    wait_for("results", JOB_LIMIT, || (client.job(&id).progress.episodes_done > 2).then_some(()));
    database.stop_immediately();
    let refused = wait_for("a refusal", LIMIT, || {
        let answer = client.try_verify(&zip_folder(&example(CARTPOLE, "idle")), &[("scenario", CARTPOLE)]).unwrap();
        (answer.status == 503).then_some(answer)
    });
    assert_eq!(refused.body["error"]["code"], "UNAVAILABLE", "{}", refused.text);
    database.start_again();
    let job = client.ended_job(&id, LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
    assert_eq!(job.progress.episodes_done, 40);
    let log = server.log();
    let outages = log.lines().filter(|line| line.contains("the database cannot be written")).count();
    assert_eq!(outages, 1, "an outage is logged once, with its remedy: {log}");
    assert!(log.contains("store.url") && log.contains("the database can be written again"), "{log}");
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}

#[test]
fn a_check_tries_the_database() {
    let (assay, url) = (assay(), Postgres::shared().database());
    let secret = url.replace("assay@", "assay:hunter2@");
    let check = |url: &str| assay.run(&["serve", "--check", "--connect", "--data", "data", "--store", url]);
    let works = check(&secret);
    assert!(works.code == 0 && works.stdout.contains(&format!("store.url = {url}: works")), "{works:?}");
    let fails = check(&format!("{secret}_absent"));
    assert!(fails.code == 1 && fails.stdout.contains("FAILED") && fails.stdout.contains("in store.url"), "{fails:?}");
    for run in [works, fails] {
        assert!(!run.stdout.contains("hunter2") && !run.stderr.contains("hunter2"), "{run:?}");
    }
    let tables = Postgres::shared()
        .sql(url.rsplit('/').next().unwrap(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'");
    assert_eq!(tables, "0", "a check changes nothing");
    assert!(!assay.path("data").exists());
}
