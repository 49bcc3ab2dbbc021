//! `assay serve` under test.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::{Assay, Client, Run, Running, wait_for};

/// Time until a server listens.
const START_LIMIT: Duration = Duration::from_secs(30);
const LISTENING: &str = "listening on http://";

/// A server that runs. Dropping it kills it.
#[derive(Debug)]
pub struct Server {
    running: Running,
    address: String,
}

impl Assay {
    /// Starts `assay serve` on a free port and waits until it listens.
    ///
    /// # Panics
    /// When it ends instead.
    #[track_caller]
    pub fn serve(&self, data: &Path, more: &[&str]) -> Server {
        let mut running = self.begin_serving(data, more);
        let address = wait_for("a server that listens", START_LIMIT, || {
            let said = running.stderr();
            let address = said.lines().find_map(|line| Some(line.split_once(LISTENING)?.1.trim().to_owned()));
            assert!(address.is_some() || !running.has_ended(), "the server ended: {}", running.stderr());
            // The last line may be half written.
            address.filter(|_| said.ends_with('\n'))
        });
        Server { running, address }
    }

    /// Starts `assay serve` on a free port.
    #[must_use]
    pub fn begin_serving(&self, data: &Path, more: &[&str]) -> Running {
        let mut arguments = vec!["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        // Tests ask often. Whoever tests the limits sets them: the last one counts.
        arguments.extend([
            "--set",
            "limits.rate.get_per_minute=1000000",
            "--set",
            "limits.rate.write_per_minute=1000000",
        ]);
        arguments.extend(["--set", "limits.rate.verify_per_minute=1000000"]);
        arguments.extend(["--set", "limits.rate.submissions_per_minute=1000000"]);
        arguments.extend(more);
        self.start(&arguments)
    }
}

impl Server {
    /// A client with this key.
    #[must_use]
    pub fn client(&self, key: &str) -> Client {
        Client::new(&self.address, key)
    }

    /// The server's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Returns its log so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.running.stderr()
    }

    /// Where it listens: address and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its process.
    #[must_use]
    pub fn into_running(self) -> Running {
        self.running
    }

    /// Ends it with a signal and waits.
    #[must_use]
    #[track_caller]
    pub fn stop(self, signal: Signal, limit: Duration) -> Run {
        self.running.signal(signal);
        self.running.wait(limit)
    }
}
