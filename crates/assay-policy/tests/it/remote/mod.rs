//! Policy servers, well-behaved and misbehaving: the public openpi server, and servers written with `websockets` and
//! FastAPI. The test plays the lane: it speaks frames over the socket pair and reads what comes back.

#![expect(clippy::unwrap_used, reason = "tests")]

mod dialogue;
mod http;
mod openpi;

use std::path::{Path, PathBuf};

use assay_testkit::PythonServer;

/// Starts `servers/SCRIPT` with the behaviour `mode`.
fn start(script: &str, mode: &str) -> PythonServer {
    PythonServer::start(&folder().join(script), &[mode])
}

/// Starts `servers/SCRIPT` with each of these behaviours. Returns their ports too; they end with the server.
fn start_each<'a>(script: &'a str, modes: impl IntoIterator<Item = &'a str>) -> (PythonServer, Vec<u16>) {
    let arguments: Vec<_> = [script].into_iter().chain(modes).collect();
    let server = PythonServer::start(&folder().join("each.py"), &arguments);
    let mut ports = vec![server.port()];
    ports.extend(arguments[2..].iter().map(|_| server.wait_for("port ").parse::<u16>().unwrap()));
    (server, ports)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/remote/servers")
}
