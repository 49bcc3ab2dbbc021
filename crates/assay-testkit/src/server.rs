//! Runs `assay serve` in tests.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::{Assay, Client, PATIENCE, Run, Running, wait_for};

/// A clock tick of `/proc/PID/stat` on every Linux (`USER_HZ`).
const TICK_MS: u64 = 10;
const LISTENING: &str = "listening on http://";

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub struct Server {
    running: Running,
    address: String,
}

impl Assay {
    /// Starts `assay serve` on a free port and waits until it listens.
    ///
    /// # Panics
    /// Panics if it ends instead.
    #[track_caller]
    pub fn serve(&self, data: &Path, more: &[&str]) -> Server {
        self.serve_at("127.0.0.1:0", data, more)
    }

    /// Starts `assay serve` at this address and port, and waits until it listens.
    ///
    /// # Panics
    /// Panics if it ends instead.
    #[track_caller]
    pub fn serve_at(&self, listen: &str, data: &Path, more: &[&str]) -> Server {
        Self::listening(self.begin_serving_at(listen, data, more))
    }

    /// Waits until a server listens.
    ///
    /// # Panics
    /// Panics if it ends instead.
    #[track_caller]
    pub(crate) fn listening(mut running: Running) -> Server {
        let address = wait_for("a server that listens", PATIENCE, || {
            let log = running.stderr();
            let address = log.lines().find_map(|line| {
                // In a JSON log, the message ends with a quotation mark.
                Some(line.split_once(LISTENING)?.1.split('"').next()?.trim().to_owned())
            });
            assert!(address.is_some() || !running.has_ended(), "the server ended: {}", running.stderr());
            // The last line may be incomplete.
            address.filter(|_| log.ends_with('\n'))
        });
        Server { running, address }
    }

    /// Starts `assay serve` on a free port.
    #[must_use]
    pub fn begin_serving(&self, data: &Path, more: &[&str]) -> Running {
        self.begin_serving_at("127.0.0.1:0", data, more)
    }

    fn begin_serving_at(&self, listen: &str, data: &Path, more: &[&str]) -> Running {
        let mut arguments = vec!["serve", "--listen", listen, "--data", data.to_str().unwrap()];
        // Tests send many requests. A test of the limits overrides these settings: the last value applies.
        arguments.extend([
            "--set",
            "limits.rate.get_per_minute=1000000",
            "--set",
            "limits.rate.write_per_minute=1000000",
        ]);
        arguments.extend(["--set", "limits.rate.verify_per_minute=1000000"]);
        arguments.extend(["--set", "limits.rate.submissions_per_minute=1000000"]);
        arguments.extend(["--set", "limits.rate.models_per_minute=1000000"]);
        arguments.extend(["--set", "limits.rate.sessions_per_minute=1000000"]);
        // Servers of other tests run at the same time.
        arguments.extend(["--set", "server.metrics_listen=127.0.0.1:0"]);
        arguments.extend(more);
        self.start(&arguments)
    }
}

impl Server {
    /// Creates a client with this key.
    #[must_use]
    pub fn client(&self, key: &str) -> Client {
        Client::new(&self.address, key)
    }

    /// Returns the id of the server's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Returns its log so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.running.stderr()
    }

    /// Returns the processor time that it and its descendants that have ended have used.
    #[must_use]
    pub fn cpu_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        // After the name: state is field 3, and 14 to 17 are clock ticks of itself and of its descendants.
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let ticks: u64 = fields.split(' ').skip(11).take(4).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        Duration::from_millis(ticks * TICK_MS)
    }

    /// Returns the address and port on which it listens.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns its process.
    #[must_use]
    pub fn into_running(self) -> Running {
        self.running
    }

    /// Ends it with a signal and waits for its end.
    #[must_use]
    #[track_caller]
    pub fn stop(self, signal: Signal, limit: Duration) -> Run {
        self.running.signal(signal);
        self.running.wait(limit)
    }
}
