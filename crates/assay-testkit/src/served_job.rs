//! Job object of the service.

use std::ops::Deref;

use assay_model::{Artifact, JobReport};
use serde_json::Value;

/// A job object: the report, and the addresses that the service issued.
#[derive(Debug, Clone)]
pub struct ServedJob {
    /// The report. Its paths are addresses; use [`ServedJob::url`] for them.
    pub report: JobReport,
    /// The complete answer.
    pub body: Value,
}

impl ServedJob {
    pub(crate) fn new(body: Value) -> Self {
        Self { report: serde_json::from_value(body.clone()).unwrap(), body }
    }

    /// Returns the address at a JSON pointer, such as `/episode_details/0/log_url`; `None` if it is `null`.
    ///
    /// # Panics
    /// Panics if there is no such field.
    #[must_use]
    #[track_caller]
    pub fn url(&self, pointer: &str) -> Option<&str> {
        self.body.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {}", self.body)).as_str()
    }

    /// Returns the address of a field of an episode, such as `log_url`.
    #[must_use]
    #[track_caller]
    pub fn episode_url(&self, episode: usize, field: &str) -> Option<&str> {
        self.url(&format!("/episode_details/{episode}/{field}"))
    }

    /// Returns the address of a file of evidence.
    ///
    /// # Panics
    /// Panics if the job has no such file.
    #[must_use]
    #[track_caller]
    pub fn evidence_url(&self, file: &Artifact) -> Option<&str> {
        let episodes = self.body["episode_details"].as_array().into_iter().flatten();
        let mut files = episodes.flat_map(|episode| episode["evidence"].as_array().into_iter().flatten());
        let found = files.find(|found| found["name"] == file.name.as_str());
        found.unwrap_or_else(|| panic!("no {} in {}", file.name, self.body))["url"].as_str()
    }
}

impl Deref for ServedJob {
    type Target = JobReport;

    fn deref(&self) -> &JobReport {
        &self.report
    }
}
