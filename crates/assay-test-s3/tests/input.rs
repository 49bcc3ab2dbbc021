//! The program ends with the process that started it.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use assay_testkit::wait_for;

/// Maximum time until the program has ended.
const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn ends_when_its_input_closes() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_assay-test-s3"));
    server.arg(folder.path()).arg("127.0.0.1").env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{address:?}");
    assert_eq!(server.try_wait().unwrap(), None);
    drop(server.stdin.take());
    let status = wait_for("the end of the S3 server", LIMIT, || server.try_wait().unwrap());
    assert!(status.success(), "{status}");
}
