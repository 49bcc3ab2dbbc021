//! Runs `assay worker` in tests.

use std::path::{Path, PathBuf};

use crate::{Assay, PATIENCE, Running, wait_for};

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
    pub fn work(&self, address: &str, worker: (&str, &str), more: &[&str]) -> Running {
        registered(self.begin_work(address, worker, more))
    }

    /// Like [`Self::work`], with additional environment variables.
    ///
    /// # Panics
    /// As [`Self::work`].
    #[track_caller]
    pub fn work_in(&self, address: &str, worker: (&str, &str), environment: &[(&str, &Path)]) -> Running {
        registered(self.start_in(&self.worker_arguments(address, worker), environment))
    }

    /// Starts `assay worker` with one lane and its own cache.
    #[must_use]
    pub fn begin_work(&self, address: &str, worker: (&str, &str), more: &[&str]) -> Running {
        let mut arguments = self.worker_arguments(address, worker);
        arguments.extend(more.iter().map(PathBuf::from));
        self.start(&arguments)
    }

    fn worker_arguments(&self, address: &str, (name, token): (&str, &str)) -> Vec<PathBuf> {
        let file = self.write(&format!("{name}.token"), token);
        let (server, cache) = (format!("http://{address}"), self.path(&format!("cache-{name}")));
        let mut arguments = ["worker", "--server", &server, "--lanes", "1"].map(PathBuf::from).to_vec();
        arguments.extend(["--token-file".into(), file, "--cache".into(), cache]);
        arguments
    }
}

/// Waits until a worker is registered.
#[track_caller]
fn registered(mut worker: Running) -> Running {
    wait_for("a worker that runs", PATIENCE, || {
        let log = worker.stderr();
        let runs = log.contains(" runs on 1 lanes\n");
        assert!(runs || !worker.has_ended(), "the worker ended: {}", worker.stderr());
        runs.then_some(())
    });
    worker
}
