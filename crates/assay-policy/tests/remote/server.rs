//! A Python server as a child process, and how to reach it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// A server that says nothing for this long does not run.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A running server; dropping it ends it.
pub(crate) struct Server {
    child: Child,
    lines: Receiver<String>,
    pub(crate) port: u16,
}

impl Server {
    /// Starts `servers/SCRIPT` with `mode` and waits for its port.
    pub(crate) fn start(script: &str, mode: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = root.join("../../vendor/dev-venv/bin/python");
        assert!(python.is_file(), "vendor/dev-venv is missing: run tools/setup --dev");
        let mut child = Command::new(python)
            .args(["-B", "-s"])
            .arg(root.join("tests/remote/servers").join(script))
            .arg(mode)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut server = Self { child, lines, port: 0 };
        server.port = server.wait_for("port ").parse().unwrap();
        server
    }

    /// Waits for a line of the server that begins with `start`; returns the rest of it.
    pub(crate) fn wait_for(&self, start: &str) -> String {
        let line = self.lines.recv_timeout(START_LIMIT);
        let line = line.unwrap_or_else(|_| {
            panic!("the server ended, or did not print {start:?} in {START_LIMIT:?}: start it by hand to see why")
        });
        line.strip_prefix(start).unwrap_or_else(|| panic!("the server printed {line:?}, not {start:?}")).to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
