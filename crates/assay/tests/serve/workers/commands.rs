//! `assay workers`, by the data folder and by the API.

use std::fs;

use assay_testkit::wait_for;
use serde_json::{Value, json};

use super::fixture::lanes_elsewhere;
use crate::serve::{JOB_LIMIT, assay};

#[test]
fn workers_are_managed_by_the_data_folder_and_by_the_api() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &[]);
    let (data, url) = (assay.path("data"), format!("http://{}", server.address()));
    let key = assay.write("key", fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let places = [
        ("near", vec!["--data".to_owned(), data.to_str().unwrap().to_owned()]),
        ("far", vec!["--server".to_owned(), url, "--key-file".to_owned(), key.to_str().unwrap().to_owned()]),
    ];
    for (name, place) in &places {
        let run = |command: &[&str]| {
            let place: Vec<&str> = place.iter().map(String::as_str).collect();
            assay.run(&[&["workers"], command, &place].concat())
        };
        let state = || {
            let listed = run(&["list", "--json"]);
            assert_eq!(listed.code, 0, "{}", listed.stderr);
            let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
            let workers = listed["workers"].as_array().unwrap().clone();
            workers.into_iter().find(|worker| worker["name"] == *name).unwrap()["state"].clone()
        };
        let created = run(&["create", name, "--expires-in", "7"]);
        let token = created.stdout.trim().to_owned();
        assert!(created.code == 0 && token.starts_with("assay_worker_"), "{}", created.stderr);
        assert!(!fs::read(data.join("assay.db")).is_ok_and(|db| contains(&db, &token)), "only its hash is stored");
        let again = run(&["create", name]);
        assert_eq!(again.code, 2, "{}", again.stderr);
        assert!(again.stderr.contains("another name"), "{}", again.stderr);
        assert_eq!(run(&["create", "No Name"]).code, 2);
        assert_eq!(state(), json!("ACTIVE"));

        let worker = assay.work(server.address(), (name, &token), &[]);
        assert_eq!(run(&["drain", name]).code, 0);
        // The server tells it, and it ends by itself.
        let drained = worker.wait(JOB_LIMIT);
        assert_eq!((drained.code, state()), (0, json!("DRAINING")), "{}", drained.stderr);
        assert_eq!((run(&["drain", name, "--undo"]).code, state()), (0, json!("ACTIVE")));

        assert_eq!((run(&["revoke", name]).code, state()), (0, json!("REVOKED")));
        assert_eq!(run(&["drain", name]).code, 2, "it is revoked");
        assert_eq!(run(&["revoke", "nobody"]).code, 2);
        let shown = run(&["list"]);
        assert!(shown.stdout.contains(name) && shown.stdout.contains("REVOKED"), "{}", shown.stdout);
    }
    wait_for("both in one list", JOB_LIMIT, || {
        (client.get("/v1/workers").body["workers"].as_array()?.len() == 2).then_some(())
    });
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
