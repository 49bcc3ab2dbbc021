//! URLs of the evidence of a job.

use std::collections::BTreeMap;

use assay_model::{Artifact, EpisodeResult, JobId};
use assay_store::JobRecord;
use jiff::Timestamp;

use crate::links;
use crate::signed_urls;
use crate::state::App;

/// Creates signed URLs for a job's evidence. Evidence that was removed has none.
#[derive(Clone, Copy)]
pub(crate) struct EvidenceUrls<'a> {
    kept: Option<KeptEvidence<'a>>,
}

/// A job whose evidence is available, and the time from which URLs are valid.
#[derive(Clone, Copy)]
struct KeptEvidence<'a> {
    app: &'a App,
    job: JobId,
    now: Timestamp,
}

impl<'a> EvidenceUrls<'a> {
    /// Creates the URLs for the evidence of this job.
    pub(crate) fn of(app: &'a App, record: &JobRecord) -> Self {
        let kept = KeptEvidence { app, job: record.header.job_id, now: app.clock.now() };
        Self { kept: record.removed.evidence_at.is_none().then_some(kept) }
    }

    /// Returns the URL of a file.
    pub(super) fn url(&self, file: &Artifact) -> Option<String> {
        let KeptEvidence { app, job, now } = self.kept?;
        let name = signed_urls::file_name(&file.name);
        Some(links::address(&app.settings, &app.signer.sign(job, file.sha256, &name, now)))
    }

    /// Returns the URLs of all files of an episode by path.
    pub(crate) fn of_episode(&self, result: &EpisodeResult) -> BTreeMap<String, String> {
        result.evidence.iter().filter_map(|file| Some((file.name.clone(), self.url(file)?))).collect()
    }

    /// Returns the URLs of the videos and logs by path, for a page that links them.
    pub(crate) fn linked(&self, results: &[EpisodeResult]) -> BTreeMap<String, String> {
        let files = results.iter().flat_map(|result| {
            let linked = [result.video_path.as_ref(), result.log_path.as_ref()];
            result.evidence.iter().filter(move |file| linked.contains(&Some(&file.name)))
        });
        files.filter_map(|file| Some((file.name.clone(), self.url(file)?))).collect()
    }
}

#[cfg(test)]
impl EvidenceUrls<'_> {
    /// The URLs of evidence that was removed.
    pub(super) const NONE: Self = Self { kept: None };
}
