//! Runs a Python server as a child process: a policy server for tests.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::PATIENCE;

/// A running server; dropping it ends it.
#[derive(Debug)]
pub struct PythonServer {
    child: Child,
    lines: Receiver<String>,
    port: u16,
}

impl PythonServer {
    /// Starts `script` in the Python of tests and waits until it prints its port (`port 1234`).
    ///
    /// # Panics
    /// Panics if it does not start.
    #[must_use]
    pub fn start(script: &Path, arguments: &[&str]) -> Self {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vendor/dev-venv/bin/python");
        assert!(python.is_file(), "vendor/dev-venv is missing: run tools/setup --dev");
        let child = Command::new(python)
            .args(["-B", "-s"])
            .arg(script)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.unwrap_or_else(|e| panic!("{} does not start: {e}", script.display()));
        let output = BufReader::new(child.stdout.take().unwrap_or_else(|| panic!("no pipe")));
        let (sender, lines) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut server = Self { child, lines, port: 0 };
        let port = server.wait_for("port ");
        server.port = port.parse().unwrap_or_else(|_| panic!("{port:?} is not a port"));
        server
    }

    /// Returns its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for its next line, which must begin with `start`; returns the rest of it.
    ///
    /// # Panics
    /// Panics if it prints another line or none within [`PATIENCE`], or has ended.
    #[must_use]
    pub fn wait_for(&self, start: &str) -> String {
        let line = self.lines.recv_timeout(PATIENCE);
        let line = line.unwrap_or_else(|_| {
            panic!("the server ended, or did not print {start:?} in {PATIENCE:?}: start it by hand to see why")
        });
        line.strip_prefix(start).unwrap_or_else(|| panic!("the server printed {line:?}, not {start:?}")).to_owned()
    }
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
