//! Commands of an operator whose service is elsewhere.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serve::{CARTPOLE, STOP_LIMIT, assay, serve};

#[test]
fn keys_and_seasons_are_managed_through_the_api() {
    // The address counts, although the environment names a data folder.
    let assay = assay().with_variable("ASSAY_DATA", "elsewhere");
    let (server, admin) = serve(&assay);
    assay.write("admin-key", fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let address = format!("http://{}", server.address());
    let run = |command: &[&str]| assay.run(&[command, &["--server", &address, "--key-file", "admin-key"]].concat());
    let json_of = |command: &[&str]| -> Value {
        let done = run(&[command, &["--json"]].concat());
        assert_eq!(done.code, 0, "{done:?}");
        serde_json::from_str(&done.stdout).unwrap()
    };

    let made = run(&["keys", "create", "--account", "lab", "--scopes", "read", "--expires-in", "1"]);
    assert_eq!(made.code, 0, "{made:?}");
    let (text, id) = (made.stdout.trim(), made.stdout.trim().split('_').nth(1).unwrap());
    assert_eq!(server.client(text).get("/verify").status, 200);
    let listed = json_of(&["keys", "list"])["keys"].clone();
    let found = listed.as_array().unwrap().iter().find(|key| key["id"] == id).unwrap().clone();
    assert_eq!((&found["account"], &found["state"]), (&json!("lab"), &json!("valid")));
    assert!(run(&["keys", "list"]).stdout.contains("valid"));
    assert_eq!(run(&["keys", "revoke", id]).code, 0);
    assert_eq!(server.client(text).get("/verify").status, 401);
    let unknown = run(&["keys", "revoke", "nosuchkey"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("HTTP 404"), "{unknown:?}");

    let opened = run(&["season", "open", CARTPOLE]);
    assert!(
        opened.code == 0 && opened.stdout.contains("opened season 1 of cartpole_keepin: 20 episodes"),
        "{opened:?}"
    );
    let again = run(&["season", "open", CARTPOLE]);
    assert!(again.code == 2 && again.stderr.contains("close it first"), "{again:?}");
    let listed = json_of(&["season", "list", CARTPOLE]);
    assert_eq!(listed, admin.get(&format!("/seasons?scenario={CARTPOLE}")).body);
    assert!(run(&["season", "list"]).stdout.contains("OPEN"));
    assert_eq!(json_of(&["season", "close", CARTPOLE, "--top", "2"])["state"], "CLOSING");

    let refused = assay.run(&["season", "list", "--server", &address, "--key", text]);
    assert!(refused.code == 2 && refused.stderr.contains("HTTP 401"), "{refused:?}");
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
}
