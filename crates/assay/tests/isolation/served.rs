//! Machines that can't isolate, with `assay serve`.

use assay_model::{Isolation, Verdict};
use assay_testkit::{Assay, Client, PATIENCE, Server, archive, example, wait_for, zip_folder};

use crate::isolation::{CARTPOLE, LANDLOCK, without_namespaces};

fn serve(assay: &Assay, more: &[&str]) -> (Server, Client) {
    let server = assay.serve(&assay.path("data"), &[&["--lanes", "1"], more].concat());
    let key = std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap();
    let client = server.client(&key);
    (server, client)
}

/// Returns the findings of a policy that runs as the service's user and knows where to search; its decoy shows that the
/// search works.
fn findings(client: &Client, pid: u32, places: &[&str]) -> String {
    let source = format!("HOST_PID = {pid}\nHOST_PATHS = {places:?}\n{}", include_str!("../policies/searches.py"));
    let zip = archive(&[("policy.py", source.as_bytes()), ("decoy.txt", b"canary-decoy")]);
    let job = client.ended_job(&client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "1")]), PATIENCE);
    job.episode_details[0].error.clone().unwrap().message
}

#[test]
fn a_server_refuses_uploads_until_the_operator_accepts_landlock() {
    let assay = without_namespaces(&[]).with_variable("SECRET_OF_THE_HOST", "canary-0e1f2d3c4b");
    let policy = zip_folder(&example(CARTPOLE, "reference"));
    let parts = [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")];
    let (server, client) = serve(&assay, &[]);
    let refused = client.try_verify(&policy, &parts).unwrap();
    assert_eq!((refused.status, &refused.body["error"]["code"]), (503, &"UNAVAILABLE".into()), "{}", refused.body);
    let said = refused.body["error"]["message"].as_str().unwrap();
    assert!(said.contains("can't isolate policies") && said.contains("policy servers"), "{said}");
    let ready = client.get("/readyz");
    assert_eq!((ready.status, &ready.body["isolation"]), (200, &"landlock".into()));
    assert_eq!(ready.body["runs_uploads"], false);
    assert!(server.log().contains("uploaded policies are refused"), "{}", server.log());
    let _ = server.stop(rustix::process::Signal::TERM, PATIENCE);

    assay.write("data/secret", "canary-5a6978d2e1");
    let (server, client) = serve(&assay, &LANDLOCK);
    let job = client.ended_job(&client.verify(&policy, &parts), PATIENCE);
    assert_eq!(job.verdict, Some(Verdict::Safe), "{}", server.log());
    assert_eq!(job.fingerprint.as_ref().unwrap().isolation, Isolation::Landlock);
    assert!(job.warnings.iter().any(|warning| warning.contains("weaker isolation")), "{:?}", job.warnings);
    assert_eq!(client.get("/readyz").body["runs_uploads"], true);
    let findings = findings(&client, server.pid(), &[assay.path("data").to_str().unwrap()]);
    assert!(findings.contains("secrets: ['canary-decoy']; of the host: []"), "{findings}");
    assert!(server.log().contains("WARNING"), "{}", server.log());
    let _ = server.stop(rustix::process::Signal::TERM, PATIENCE);
    assay.assert_clean();
}

#[test]
fn leftovers_of_a_killed_server_are_removed_by_the_next() {
    let assay = without_namespaces(&[]);
    let (server, client) = serve(&assay, &LANDLOCK);
    let slow: &[u8] = b"import time\n\ndef policy(observation):\n    time.sleep(0.1)\n    return [0]\n";
    let id = client.verify(&archive(&[("policy.py", slow)]), &[("scenario", CARTPOLE), ("num_episodes", "1")]);
    wait_for("an episode that runs", PATIENCE, || {
        (client.get(&format!("/verify/{id}")).body["status"] == "RUNNING").then_some(())
    });
    let names = || std::fs::read_dir(assay.path("tmp")).unwrap().map(|entry| entry.unwrap().file_name());
    let _ = server.stop(rustix::process::Signal::KILL, PATIENCE);
    assert!(names().count() > 0, "a killed server can't clean up");
    let (server, client) = serve(&assay, &LANDLOCK);
    assert_eq!(client.post(&format!("/verify/{id}/cancel")).status, 200);
    let _ = server.stop(rustix::process::Signal::TERM, PATIENCE);
    assay.assert_clean();
}
