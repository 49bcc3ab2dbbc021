//! The documentation in a browser that can connect to this machine only.

use std::process::Command;

use assay_model::Verdict;
use assay_testkit::Account;
use serde_json::Value;

use crate::conform::{JOB_LIMIT, assay, here, shared_server, stdout_of, tool};

/// The first headings of the page.
const FIRST: [&str; 5] = ["Authentication", "A first request", "Limits", "Errors", "Events"];

#[test]
fn a_browser_shows_the_documentation_without_another_host() {
    let assay = assay();
    let (server, _) = shared_server();
    for (turn, path) in ["/docs", "/v1/docs/"].into_iter().enumerate() {
        let mut page = tool("python");
        page.arg(here().join("page.py")).arg(format!("http://{}{path}", server.address()));
        page.arg(assay.path(&format!("chromium-{turn}"))).env("HOME", assay.path(""));
        let seen: Value = serde_json::from_str(&stdout_of(page.output().unwrap())).unwrap();
        let texts = |name: &str| -> Vec<&str> {
            seen[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
        };
        let headings = texts("headings");
        let places = FIRST.map(|heading| headings.iter().position(|shown| *shown == heading));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{headings:?}");
        let operation = headings.iter().position(|shown| *shown == "Verify a policy");
        assert!(operation > places[FIRST.len() - 1], "the operations follow: {headings:?}");
        let own = format!("http://{}/", server.address());
        let command = texts("code").into_iter().find(|code| code.contains("policy.zip policy.py"));
        assert!(command.is_some_and(|code| code.contains(&format!("{own}verify"))), "{command:?}");
        let requests = texts("requests");
        let is_own =
            |address: &&str| address.starts_with(&own) || address.starts_with("data:") || *address == "about:blank";
        let foreign: Vec<_> = requests.iter().filter(|address| !is_own(address)).collect();
        assert!(foreign.is_empty() && requests.len() > 3, "{foreign:?} of {requests:?}");
        assert_eq!(texts("errors"), [""; 0]);
    }
}

/// The commands of the document's introduction, with the address of this server and its key.
#[test]
fn the_first_requests_of_the_introduction_work() {
    let assay = assay();
    let (server, Account { client, key, .. }) = shared_server();
    let document = client.get("/openapi.json").body;
    let text = document["info"]["description"].as_str().unwrap();
    let commands: Vec<_> = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [list, verify] = commands[..] else { panic!("{commands:?}") };
    let run = |command: &str| -> Value {
        let command = command.replace("127.0.0.1:8080", server.address());
        let mut shell = Command::new("sh");
        shell.args(["-ec", &command]).env("ASSAY_KEY", &key).current_dir(assay.path(""));
        serde_json::from_str(&stdout_of(shell.output().unwrap())).unwrap()
    };
    assert!(run(list)["scenarios"].as_array().unwrap().len() > 10);
    let job = client.ended_job(run(verify)["job_id"].as_str().unwrap(), JOB_LIMIT);
    assert_eq!((job.verdict, job.report.error_message), (Some(Verdict::Safe), None));
}
