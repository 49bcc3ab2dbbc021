//! Policy servers, well-behaved and misbehaving: the public openpi server, and servers written with `websockets` and
//! FastAPI. The test plays the lane: it speaks frames over the socket pair and reads what comes back.

#![expect(clippy::unwrap_used, reason = "tests")]

mod dialogue;
mod http;
mod openpi;

use std::path::Path;

use assay_testkit::PythonServer;

/// Starts `servers/SCRIPT` with the behaviour `mode`.
fn start(script: &str, mode: &str) -> PythonServer {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/remote/servers");
    PythonServer::start(&folder.join(script), &[mode])
}
