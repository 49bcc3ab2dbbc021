//! Keys from the command line, while the server runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use assay_testkit::wait_for;

use crate::serve::{assay, serve};

/// Time within which a key that another program revoked is refused, on a quiet machine.
const REVOKED: Duration = Duration::from_secs(3);

#[test]
fn the_first_key_is_in_a_file_of_its_owner() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let file = assay.path("data/bootstrap-key");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let key = fs::read_to_string(&file).unwrap();
    assert!(!server.log().contains(key.trim()) && server.log().contains("bootstrap-key"), "{}", server.log());
    assert_eq!(client.get("/scenarios").status, 200);
    assert_eq!(server.client("assay_0011223344556677_00").get("/scenarios").status, 401);
}

#[test]
fn keys_are_made_listed_and_revoked() {
    let assay = assay();
    let (server, _admin) = serve(&assay);
    let data = assay.path("data");
    let data = data.to_str().unwrap();
    let made = assay.run(&["keys", "create", "--data", data, "--account", "lab", "--scopes", "read"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let key = made.stdout.trim().to_owned();
    let id = key.split('_').nth(1).unwrap().to_owned();
    let client = server.client(&key);
    assert_eq!(client.get("/scenarios").status, 200);
    let refused = client.try_verify(b"", &[("scenario", "x")]).unwrap();
    assert_eq!((refused.status, refused.body["error"]["code"].as_str()), (403, Some("FORBIDDEN")));

    let list = assay.run(&["keys", "list", "--data", data]);
    let line = list.stdout.lines().find(|line| line.starts_with(&id)).unwrap().to_owned();
    assert!(line.contains("lab") && line.contains("valid") && line.contains("read"), "{line}");
    let secret = key.split('_').nth(2).unwrap();
    let json = assay.run(&["keys", "list", "--data", data, "--json"]).stdout;
    assert!(!list.stdout.contains(secret) && !json.contains(secret), "a list shows a secret");

    let revoked = assay.run(&["keys", "revoke", "--data", data, &id]);
    assert_eq!(revoked.code, 0, "{}", revoked.stderr);
    // The server caches keys for up to a second.
    wait_for("the refusal of a revoked key", REVOKED, || (client.get("/scenarios").status == 401).then_some(()));
    let again = assay.run(&["keys", "revoke", "--data", data, &id]);
    assert!(again.code == 2 && again.stderr.contains("keys list"), "{}", again.stderr);
    for (arguments, part) in [(["--scopes", "fly"], "--scopes"), (["--account", "A B"], "--account")] {
        let wrong = assay.run(&[&["keys", "create", "--data", data][..], &arguments].concat());
        assert!(wrong.code == 2 && wrong.stderr.contains(part), "{}", wrong.stderr);
    }
}
