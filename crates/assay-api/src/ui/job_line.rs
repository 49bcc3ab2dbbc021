//! A verification as a line of a list.

use assay_model::{ClauseEvent, JobReport, JobStatus, Verdict, sanitise};
use assay_store::JobRecord;
use jiff::Timestamp;

/// Maximum length of a policy's name in a list, in bytes.
const MAX_TEXT_BYTES: usize = 200;
/// Maximum length of a reason in a list, in bytes: a clause's title, its onset and peak, and the bodies.
const MAX_REASON_BYTES: usize = 600;

/// A verification as a line of a list.
pub(super) struct JobLine {
    pub(super) policy: String,
    pub(super) scenario: String,
    /// The verdict, or the state of a job without one.
    pub(super) word: String,
    /// Class of the word in the stylesheet: `good`, `bad`, `open` or `calm`.
    pub(super) tone: &'static str,
    /// Reason for the verdict, or for the failure of the job; empty if there is none.
    pub(super) reason: String,
    pub(super) episodes_done: u32,
    pub(super) episodes_total: u32,
    pub(super) is_open: bool,
    pub(super) needs_review: bool,
    /// Path of its page; `None` once it is erased.
    pub(super) page: Option<String>,
    /// Time at which it was accepted, for people and for programs.
    pub(super) at: String,
    pub(super) at_exact: String,
}

impl JobLine {
    pub(super) fn new(record: &JobRecord) -> Self {
        let report = record.report(&[]);
        let (word, tone) = judged(&report);
        let worst = report.worst.as_ref().filter(|_| report.verdict == Some(Verdict::Unsafe));
        let reason = worst.map(ClauseEvent::violation).or(report.reason.clone()).or(report.error_message.clone());
        let is_erased = report.erased_at.is_some();
        Self {
            policy: sanitise(&report.policy_name, MAX_TEXT_BYTES),
            scenario: report.scenario.to_string(),
            word: if is_erased { "ERASED".to_owned() } else { word },
            tone: if is_erased { "calm" } else { tone },
            reason: reason.map(|text| sanitise(&text, MAX_REASON_BYTES)).unwrap_or_default(),
            episodes_done: report.progress.episodes_done,
            episodes_total: report.progress.episodes_total,
            is_open: !report.status.is_final(),
            needs_review: report.needs_review && report.review.is_none() && !is_erased,
            page: (!is_erased).then(|| format!("/ui/verifications/{}", report.job_id)),
            at: in_words(report.created_at),
            at_exact: report.created_at.to_string(),
        }
    }
}

pub(super) fn judged(report: &JobReport) -> (String, &'static str) {
    match report.verdict {
        Some(verdict @ Verdict::Safe) => (verdict.to_string(), "good"),
        Some(verdict @ Verdict::Unsafe) => (verdict.to_string(), "bad"),
        Some(verdict @ Verdict::Inconclusive) => (verdict.to_string(), "open"),
        None if report.status == JobStatus::Failed => (report.status.as_str().to_owned(), "open"),
        None => (report.status.as_str().to_owned(), "calm"),
    }
}

/// Returns the time to the minute, in UTC.
pub(super) fn in_words(at: Timestamp) -> String {
    at.strftime("%-d %b %Y, %H:%M UTC").to_string()
}
