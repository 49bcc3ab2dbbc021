//! Removes the credentials of policy servers when their jobs have ended.

use std::time::SystemTime;

use assay_model::{JobId, JobStatus};

use super::shared::WorkerShared;

impl WorkerShared {
    /// Removes the credentials of a job's policy server, including the key, and ends its connection: they are no longer
    /// needed.
    pub(super) fn forget_server(&self, job: JobId) {
        if let Err(error) = self.options.servers.remove(job) {
            tracing::error!(job.id = %job, %error, "could not remove policy server credentials");
        }
        // After the file, without which no connection is accepted.
        self.options.engine.remote().connected().end(job);
    }

    /// Removes the credentials of all jobs that have ended, and of requests from before `start` that never became a
    /// job.
    pub(super) fn forget_servers(&self, start: SystemTime) {
        let kept = self.options.servers.list().unwrap_or_else(|error| {
            tracing::error!(%error, "could not list policy server credentials");
            Vec::new()
        });
        for (job, since) in kept {
            match self.wait(self.options.records.job(None, job)) {
                Ok(Some(record)) if !is_needed(record.state.status()) => self.forget_server(job),
                Ok(None) if since < start => self.forget_server(job),
                Ok(_) => {}
                Err(error) => error.log("could not read records"),
            }
        }
    }
}

/// Returns true if episodes may still have to be run.
fn is_needed(status: JobStatus) -> bool {
    matches!(status, JobStatus::Queued | JobStatus::Running)
}
