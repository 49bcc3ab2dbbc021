//! The data folder: one server, no newer schema.

use std::time::Duration;

use assay_testkit::PATIENCE;
use rusqlite::Connection;
use rustix::process::Signal;

use crate::serve::{STOP_LIMIT, assay, serve};

const START_LIMIT: Duration = PATIENCE;

#[test]
fn one_server_per_folder() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let data = assay.path("data");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
    let second = assay.start(&arguments).wait(START_LIMIT);
    assert_eq!(second.code, 4);
    assert!(second.stderr.contains("in use by assay serve"), "{}", second.stderr);
    assert!(second.stderr.contains(&server.pid().to_string()), "{}", second.stderr);
    assert_eq!(client.get("/readyz").status, 200, "the first one is not disturbed");

    let taken = server.address().to_owned();
    let other = assay.path("other");
    let arguments = ["serve", "--listen", &taken, "--data", other.to_str().unwrap()];
    let third = assay.start(&arguments).wait(START_LIMIT);
    assert_eq!(third.code, 4);
    assert!(third.stderr.contains(&taken), "{}", third.stderr);
}

#[test]
fn a_newer_schema_is_refused() {
    let assay = assay();
    let (server, _client) = serve(&assay);
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    let file = assay.path("data/assay.db");
    let found: u32 = {
        let db = Connection::open(&file).unwrap();
        let version: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        db.pragma_update(None, "user_version", version + 1).unwrap();
        version
    };
    let data = assay.path("data");
    for arguments in [["serve", "--listen", "127.0.0.1:0", "--data"].as_slice(), &["keys", "list", "--data"]] {
        let run = assay.start(&[arguments, &[data.to_str().unwrap()]].concat()).wait(START_LIMIT);
        assert_eq!(run.code, 4, "{}", run.stderr);
        let schema = format!("schema {}", found + 1);
        assert!(run.stderr.contains(&schema) && run.stderr.contains("assay.db"), "{}", run.stderr);
    }
    assay.assert_clean();
}
