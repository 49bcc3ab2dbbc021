//! `assay fetch`: everything about a job, downloaded, checked and replayed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use assay_testkit::{Assay, Run, TamperingProxy, example, zip_folder};
use serde_json::json;

use crate::serve::{CARTPOLE, JOB_LIMIT, assay, drawn_job, shared_server};

/// Downloads a job from the service at `server` to `out`.
fn fetch(assay: &Assay, (server, key): (&str, &str), job: &str, out: &Path) -> Run {
    let server = format!("http://{server}");
    assay.run(&["fetch", job, "--server", &server, "--key", key, "--out", out.to_str().unwrap()])
}

#[test]
fn a_fetched_job_is_replayed_and_fetched_again() {
    let (server, account) = shared_server("default");
    let (assay, client, key) = (assay(), &account.client, account.key.as_str());
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2")]);
    let early = fetch(&assay, (server.address(), key), &id, &assay.path("early"));
    drawn_job(client, &id);
    let service = (server.address(), key);
    let out = assay.path("run");
    let first = fetch(&assay, service, &id, &out);
    assert_eq!(first.code, 0, "{}{}", first.stdout, first.stderr);
    let page = client.get(&format!("/verify/{id}/episodes")).body;
    let evidence: Vec<String> = page["episodes"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|episode| episode["evidence"].as_array().unwrap())
        .map(|file| file["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(evidence.iter().any(|name| name.ends_with("video.mp4")), "{evidence:?}");
    for name in
        evidence.iter().map(String::as_str).chain(["report.json", "report.intoto.json", "report.html", "policy.zip"])
    {
        assert!(out.join(name).is_file(), "{name}");
    }
    assert_eq!(fs::read(out.join("policy.zip")).unwrap(), zip);
    let place = out.to_str().unwrap();
    let all = format!("{} files of evidence", evidence.len());
    assert!(first.stdout.contains(&format!("{all}, {} of them new", evidence.len())), "{}", first.stdout);
    let replayed = assay.run(&["replay", place, "--episode", "1"]);
    assert_eq!(replayed.code, 0, "{}{}", replayed.stdout, replayed.stderr);

    // Only what is missing or wrong is downloaded again, and a link is replaced, not followed.
    let (trace, log) = (out.join("episodes/000/trace.parquet"), out.join("episodes/001/trace.parquet"));
    let outside = assay.write("outside", "the user's");
    fs::write(&trace, "something else").unwrap();
    fs::remove_file(&log).unwrap();
    symlink(&outside, &log).unwrap();
    let again = fetch(&assay, service, &id, &out);
    assert_eq!(again.code, 0, "{}{}", again.stdout, again.stderr);
    assert!(again.stdout.contains(&format!("{all}, 2 of them new")), "{}", again.stdout);
    assert_eq!(fs::read(&outside).unwrap(), b"the user's");
    assert!(log.symlink_metadata().unwrap().is_file());
    assert_eq!(assay.run(&["replay", place]).code, 0);

    let mut refused = vec![(early, 2, "once the job is COMPLETED")];
    let nothing = "00000000-0000-7000-8000-000000000000";
    refused.push((fetch(&assay, service, nothing, &assay.path("none")), 2, "there is no such"));
    fs::write(assay.path("run/mine.txt"), "x").unwrap();
    refused.push((fetch(&assay, service, &id, &out), 2, "mine.txt, which assay did not write"));
    let other = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")]);
    client.ended_job(&other, JOB_LIMIT);
    fs::remove_file(assay.path("run/mine.txt")).unwrap();
    refused.push((fetch(&assay, service, &other, &out), 2, "report of another job"));
    for (run, code, message) in refused {
        assert!(run.code == code && run.stderr.contains(message), "{} {}", run.code, run.stderr);
    }
    assert!(!assay.path("none").exists() && !assay.path("early").exists());
    tampered_files_are_refused(&assay, service, &id);
}

/// Downloads the job through a proxy that answers one kind of request itself.
fn tampered_files_are_refused(assay: &Assay, (server, key): (&str, &str), id: &str) {
    let episodes = |name: &str| {
        let file = json!({ "name": name, "sha256": "00".repeat(32), "size_bytes": 2, "url": "/artifacts/x" });
        json!({ "episodes": [{ "evidence": [file] }], "total": 1 }).to_string()
    };
    for (number, (place, answer, message)) in [
        ("/artifacts/", "{}".to_owned(), "does not have its SHA-256"),
        ("/archive", "{}".to_owned(), "the archive from the service"),
        ("/episodes", episodes("../escaped"), "is not evidence of an episode"),
        ("/episodes", episodes("episodes/../../escaped"), "is not a plain path"),
        ("/episodes", episodes("episodes/000/trace.parquet"), "is not the file that the report lists"),
        ("/episodes", "{}".to_owned(), "a list of episodes"),
    ]
    .into_iter()
    .enumerate()
    {
        let proxy = TamperingProxy::start(server, move |request| {
            request.path.contains(place).then(|| answer.clone().into_bytes())
        });
        let out = assay.path(&format!("tampered-{number}"));
        let run = fetch(assay, (proxy.address(), key), id, &out);
        assert!(run.code == 4 && run.stderr.contains(message), "{number} {place}: {} {}", run.code, run.stderr);
        assert!(!out.join("episodes/000/trace.parquet").exists(), "{number} {place}: nothing wrong is kept");
        assert!(!assay.path("escaped").exists(), "{number} {place}");
    }
}
