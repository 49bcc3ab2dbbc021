//! A data folder that outgrows its machine: migrated to PostgreSQL and S3, and served from there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use assay_model::{JobStatus, Sha256Digest, Verdict};
use assay_testkit::{
    Assay, Client, HttpFault, HttpFaultProxy, PATIENCE, Postgres, S3Server, Server, example, wait_for, zip_folder,
};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serve::arena::{ended, submit};
use crate::serve::community::{cartpole, publish};
use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay, serve};

const BUCKET: &str = "s3://evidence/lab";
/// Maximum time of a migration on a busy machine.
const LIMIT: Duration = PATIENCE;
/// Pause before each piece of an answer of the bucket, so that a migration can be caught while it runs.
const SLOWLY: Duration = Duration::from_millis(30);
/// Numbers of objects in the bucket at which a migration is killed.
const KILLED_AT: [usize; 2] = [1, 8];

/// Returns the content of all files of a folder but its lock.
fn contents(folder: &Path) -> BTreeMap<String, Sha256Digest> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => drop(found.insert(path.display().to_string(), Sha256Digest::of(fs::read(&path).unwrap()))),
            }
        }
    }
    found.retain(|path, _| !path.ends_with("assay.lock"));
    found
}

fn verify(client: &Client, policy: &str, episodes: &str, record: &str) -> String {
    let zip = zip_folder(&example(CARTPOLE, policy));
    client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", episodes), ("record", record)])
}

fn migrate<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["migrate", "--from", "data", "--data", "site", "--store", url], more].concat()
}

/// A lab's site: its jobs and accounts, with what clients saw of them.
struct Site {
    safe: String,
    caught: String,
    unfinished: String,
    entry: String,
    admin: String,
    rival: String,
    /// Answers by path.
    answers: Vec<(String, String)>,
}

impl Site {
    /// Fills a new server.
    fn fill(assay: &Assay, server: &Server, admin: &Client) -> Self {
        let opened = assay.run(&["season", "open", CARTPOLE, "--data", "data"]);
        assert_eq!(opened.code, 0, "{opened:?}");
        let made = admin.post_json("/keys", &json!({ "name": "r", "account": "rival", "scopes": ["read", "submit"] }));
        let rival = made.body["key"].as_str().unwrap().to_owned();
        let entry = submit(&server.client(&rival), &zip_folder(&example(CARTPOLE, "reference")));
        assert_eq!(admin.post("/webhooks/secret").status, 201);
        publish(admin, &cartpole("pole", "1.0.0"));
        let (safe, caught) = (verify(admin, "reference", "2", "none"), verify(admin, "reckless", "2", "violations"));
        assert_eq!(ended(&server.client(&rival), &entry)["status"], "COMPLETED");
        for (id, verdict) in [(&safe, Verdict::Safe), (&caught, Verdict::Unsafe)] {
            assert_eq!(admin.ended_job(id, JOB_LIMIT).verdict, Some(verdict));
        }
        let admin_key = fs::read_to_string(assay.path("data/bootstrap-key")).unwrap();
        let unfinished = verify(admin, "reference", "20", "none");
        let mut site = Self { safe, caught, unfinished, entry, admin: admin_key, rival, answers: Vec::new() };
        site.answers = site.ask(server);
        site
    }

    /// Returns what clients see, as text.
    fn ask(&self, server: &Server) -> Vec<(String, String)> {
        let (admin, rival) = (server.client(&self.admin), server.client(&self.rival));
        let of_jobs = [&self.safe, &self.caught]
            .into_iter()
            .flat_map(|id| ["report.json", "attestation"].map(|part| format!("/verify/{id}/{part}")));
        let shared = ["/seasons", "/scenarios/admin.pole/spec", "/keys"].map(str::to_owned);
        let board = format!("/leaderboard?scenario={CARTPOLE}");
        let own = ["report.json", "attestation"].map(|part| format!("/submissions/{}/{part}", self.entry));
        let ask = |client: &Client, path: String| {
            let answer = client.get(&path);
            let status = answer.status;
            // Errors contain the id of their request, and keys the time of their last use.
            let text = match (status, path.as_str()) {
                (200, "/keys") => ids_of(&answer.body),
                (200, _) => answer.text,
                _ => answer.body["error"]["message"].to_string(),
            };
            (path, format!("{status} {text}"))
        };
        let of_admin = of_jobs.chain(shared).map(|path| ask(&admin, path)).collect::<Vec<_>>();
        of_admin.into_iter().chain(own.into_iter().chain([board]).map(|path| ask(&rival, path))).collect()
    }

    /// Checks that a server of the new places has everything, and goes on.
    fn goes_on(&self, server: &Server) {
        for (before, now) in self.answers.iter().zip(self.ask(server)) {
            assert_eq!(*before, now);
        }
        let admin = server.client(&self.admin);
        let job = admin.job(&self.caught);
        for file in job.episode_details.iter().flat_map(|episode| &episode.evidence) {
            assert_eq!(Sha256Digest::of(admin.download(job.evidence_url(file).unwrap())), file.sha256, "{}", file.name);
        }
        let replay = admin.post(&format!("/verify/{}/replay", self.caught));
        assert_eq!((replay.status, &replay.body["same"]), (200, &json!(true)), "{}", replay.text);
        // A new job, and one that had not ended.
        let new = verify(&admin, "reference", "2", "none");
        for id in [&new, &self.unfinished] {
            let job = admin.ended_job(id, JOB_LIMIT);
            assert_eq!(
                (job.status, job.verdict),
                (JobStatus::Completed, Some(Verdict::Safe)),
                "{:?}",
                job.error_message
            );
        }
    }
}

fn ids_of(keys: &Value) -> String {
    let mut ids: Vec<_> = keys["keys"].as_array().unwrap().iter().map(|key| key["id"].to_string()).collect();
    ids.sort();
    ids.join(" ")
}

#[test]
fn a_site_goes_on_in_postgresql_and_s3() {
    let (s3, url) = (S3Server::start(), Postgres::shared().database());
    let proxy = HttpFaultProxy::start(s3.address());
    let variables = S3Server::variables(proxy.address());
    let assay = variables.iter().fold(assay(), |assay, (name, value)| assay.with_variable(name, value));
    let (server, admin) = serve(&assay);
    let site = Site::fill(&assay, &server, &admin);
    let command = migrate(&url, &["--blobs", BUCKET, "--json"]);
    let refused = assay.run(&command);
    assert!(refused.code == 2 && refused.stderr.contains("in use by assay serve"), "{refused:?}");
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    let sql = format!("SELECT status FROM jobs WHERE job_id = '{}'", site.unfinished);
    let records = rusqlite::Connection::open(assay.path("data/assay.db")).unwrap();
    let status: String = records.query_row(&sql, [], |row| row.get(0)).unwrap();
    assert!(["QUEUED", "RUNNING"].contains(&status.as_str()), "{status}: it goes on elsewhere");
    drop(records);
    let before = contents(&assay.path("data"));

    // Killed in the middle, it leaves no folder that a server would start on, and no records.
    proxy.set(HttpFault::Slow(SLOWLY));
    for objects in KILLED_AT {
        let running = assay.start(&command);
        wait_for("objects", LIMIT, || (s3.keys().len() >= objects).then_some(()));
        running.signal(Signal::KILL);
        assert_ne!(running.wait(LIMIT).code, 0);
        assert!(assay.path("site.partial").exists() && !assay.path("site").exists());
        let keys = Postgres::shared().sql(url.rsplit('/').next().unwrap(), "SELECT count(*) FROM keys");
        assert_eq!(keys, "0");
    }
    // Interrupted, it says how to continue.
    let (running, stored) = (assay.start(&command), s3.keys().len());
    wait_for("another object", LIMIT, || (s3.keys().len() > stored).then_some(()));
    running.interrupt();
    let ended = running.wait(LIMIT);
    assert!(ended.code == 130 && ended.stderr.contains("repeat the command"), "{ended:?}");
    proxy.set(HttpFault::None);
    let plan = fs::read(assay.path("site.partial/migration.json")).unwrap();
    let done = assay.run(&command);
    assert_eq!(done.code, 0, "{done:?}");
    let about: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&about["replay"]["same"], &about["problems"]), (&json!(true), &json!([])), "{about}");
    assert_eq!((&about["tables"]["signed"]["rows"], &about["tables"]["seasons"]["rows"]), (&json!(3), &json!(1)));

    // Killed after the records were committed, it finds them.
    fs::rename(assay.path("site"), assay.path("site.partial")).unwrap();
    fs::write(assay.path("site.partial/migration.json"), plan).unwrap();
    let again = assay.run(&command);
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap()["tables"], about["tables"]);
    let finished = assay.run(&command);
    assert!(finished.code == 2 && finished.stderr.contains("is not empty"), "{finished:?}");
    let elsewhere: Vec<&str> = command.iter().map(|word| if *word == "site" { "site2" } else { *word }).collect();
    for _ in 0..2 {
        let second = assay.run(&elsewhere);
        assert!(second.code == 2 && second.stderr.contains("has these records already"), "{second:?}");
        assert!(!assay.path("site2").exists() && !assay.path("site2.partial").exists());
    }
    assert_eq!(before, contents(&assay.path("data")), "the old folder is untouched");

    let server = assay.serve(&assay.path("site"), &["--store", &url, "--blobs", BUCKET, "--lanes", "2"]);
    site.goes_on(&server);
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    fs::remove_dir_all(assay.path("site")).unwrap();
    let other = assay.run(&command);
    assert!(
        other.code == 2 && other.stderr.contains("--store: ") && other.stderr.contains("other records"),
        "{other:?}"
    );
    assay.assert_clean();
}

#[test]
fn evidence_stays_in_a_folder_unless_a_bucket_is_named() {
    let (assay, url) = (assay(), Postgres::shared().database());
    let (server, admin) = serve(&assay);
    let id = verify(&admin, "reference", "2", "none");
    assert_eq!(admin.ended_job(&id, JOB_LIMIT).verdict, Some(Verdict::Safe));
    let file = admin.job(&id).episode_details[0].evidence[0].clone();
    let key = fs::read_to_string(assay.path("data/bootstrap-key")).unwrap();
    assert_eq!(server.stop(Signal::KILL, STOP_LIMIT).code, 128 + 9);

    for (arguments, expected) in [
        (&["--from", "none", "--data", "site"][..], "--from none"),
        (&["--from", "data", "--data", "site"], "--store: name the database"),
        (&["--from", "data", "--data", "data/site", "--store", &url], "in the old data folder"),
        (&["--from", "data", "--data", "site", "--store", "mysql://db/assay"], "--store: store.url"),
        (
            &["--from", "data", "--data", "site", "--store", "postgres://lab@127.0.0.1:1/assay"],
            "--store: could not reach",
        ),
    ] {
        let refused = assay.run(&[&["migrate"], arguments].concat());
        assert!(refused.code == 2 && refused.stderr.contains(expected), "{arguments:?}: {refused:?}");
        assert!(!assay.path("site").exists(), "{arguments:?}");
    }
    fs::remove_dir_all(assay.path("site.partial")).unwrap();

    // A lost file is named, and everything else migrated.
    let folder = fs::read_dir(assay.path(&format!("data/blobs/jobs/{id}"))).unwrap();
    let mut files = folder.map(|entry| entry.unwrap().path());
    let lost = files.find(|path| !path.display().to_string().contains(&file.sha256.to_string())).unwrap();
    let (name, kept) = (lost.file_stem().unwrap().to_string_lossy().into_owned(), assay.path("kept"));
    fs::rename(&lost, &kept).unwrap();
    let done = assay.run(&migrate(&url, &[]));
    assert!(done.code == 1 && done.stdout.contains(&name) && done.stdout.contains("not found"), "{done:?}");
    fs::remove_dir_all(assay.path("site")).unwrap();
    fs::rename(&kept, &lost).unwrap();
    // The records are in the first database already.
    let url = Postgres::shared().database();
    let done = assay.run(&migrate(&url, &[]));
    assert!(done.code == 0 && done.stdout.contains("bit-identical") && done.stdout.contains("next"), "{done:?}");

    let server = assay.serve(&assay.path("site"), &["--store", &url, "--lanes", "1"]);
    let admin = server.client(&key);
    let job = admin.job(&id);
    assert_eq!(Sha256Digest::of(admin.download(job.evidence_url(&file).unwrap())), file.sha256);
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}
