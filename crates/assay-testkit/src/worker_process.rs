//! Runs `assay worker` in tests.

use std::path::Path;
use std::time::Duration;

use crate::{Assay, Running, wait_for};

/// Maximum time until a worker claims its first shard.
const START_LIMIT: Duration = Duration::from_secs(60);

impl Assay {
    /// Creates a worker in the records of the service with the folder `data`, and returns its token.
    ///
    /// # Panics
    /// Panics if there is, or was, a worker of that name.
    #[track_caller]
    pub fn worker_token(&self, data: &Path, name: &str) -> String {
        let created = self.run(&["workers", "create", name, "--data", data.to_str().unwrap()]);
        assert_eq!(created.code, 0, "{}", created.stderr);
        created.stdout.trim().to_owned()
    }

    /// Starts `assay worker` with one lane and its own cache, and waits until it is registered.
    ///
    /// # Panics
    /// Panics if it ends instead.
    #[track_caller]
    pub fn work(&self, address: &str, (name, token): (&str, &str), more: &[&str]) -> Running {
        let mut worker = self.begin_work(address, (name, token), more);
        wait_for("a worker that runs", START_LIMIT, || {
            let log = worker.stderr();
            let runs = log.contains(" runs on 1 lanes\n");
            assert!(runs || !worker.has_ended(), "the worker ended: {}", worker.stderr());
            runs.then_some(())
        });
        worker
    }

    /// Starts `assay worker` with one lane and its own cache.
    #[must_use]
    pub fn begin_work(&self, address: &str, (name, token): (&str, &str), more: &[&str]) -> Running {
        let file = self.write(&format!("{name}.token"), token);
        let (server, cache) = (format!("http://{address}"), self.path(&format!("cache-{name}")));
        let mut arguments = vec!["worker", "--server", &server, "--lanes", "1"];
        arguments.extend(["--token-file", file.to_str().unwrap(), "--cache", cache.to_str().unwrap()]);
        arguments.extend(more);
        self.start(&arguments)
    }
}
