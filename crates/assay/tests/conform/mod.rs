//! The real service with independent programs: schemathesis sends generated requests, validators check the OpenAPI
//! document, and clients generated from the document complete a verification.
//!
//! The programs are in `vendor/dev-venv` and `vendor/node`; their configuration is in the files next to this one.

#![expect(clippy::unwrap_used, reason = "tests")]

mod clients;
mod document;
mod fuzz;
mod links;
mod page;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use assay_testkit::{Account, Assay, Client, PATIENCE, Server, SharedServer};

const CARTPOLE: &str = "cartpole_keepin";
/// Maximum time of a job of one or two episodes, beside those of other tests.
const JOB_LIMIT: Duration = PATIENCE;

fn assay() -> Assay {
    Assay::new(env!("CARGO_BIN_EXE_assay"))
}

/// Returns the server with the default settings that tests share, and an account of this test there.
#[track_caller]
fn shared_server() -> (SharedServer, Account) {
    let server = SharedServer::of("default", assay);
    let account = server.account(&["read", "verify", "submit", "publish"]);
    (server, account)
}

/// Starts a server. Returns it, a client with its first key, and that key.
#[track_caller]
fn serve(assay: &Assay, more: &[&str]) -> (Server, Client, String) {
    let server = assay.serve(&assay.path("data"), &[&["--lanes", "1"], more].concat());
    let key = std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap().trim().to_owned();
    let client = server.client(&key);
    (server, client, key)
}

/// Returns a program of the tests' Python, or the interpreter itself, which finds the files next to this one.
fn tool(name: &str) -> Command {
    let bin = assay_testkit::home().join("vendor/dev-venv/bin");
    assert!(bin.join(name).is_file(), "{name} is missing in vendor/dev-venv: run tools/setup --dev");
    let mut command = Command::new(bin.join(name));
    let path = [bin, "/usr/bin".into(), "/bin".into()];
    command.env("PATH", std::env::join_paths(path).unwrap()).env("PYTHONPATH", here());
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("NO_COLOR", "1").env("HOME", "/nonexistent");
    command
}

/// Returns one of the tests' Node programs.
fn node(name: &str) -> Command {
    let program = node_modules().join(".bin").join(name);
    assert!(program.exists(), "{name} is missing in vendor/node: run tools/setup --dev");
    let mut command = Command::new(program);
    command.env("NO_COLOR", "1").env("HOME", "/nonexistent");
    command
}

fn node_modules() -> PathBuf {
    assay_testkit::home().join("vendor/node/node_modules")
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conform")
}

/// Runs one of the scripts next to this file. Returns its output.
#[track_caller]
fn script<A: AsRef<OsStr>>(name: &str, arguments: &[A]) -> String {
    stdout_of(tool("python").arg(here().join(name)).args(arguments).output().unwrap())
}

#[track_caller]
fn stdout_of(output: Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    out.into_owned()
}
