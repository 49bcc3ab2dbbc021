//! The content of a webhook.

use assay_model::JobKind;
use assay_store::{Delivery, JobRecord};
use jiff::Timestamp;
use serde::Serialize;

use crate::http::ApiError;
use crate::published::PublishedSubmission;
use crate::routes::{SubmissionDetail, submission_object};
use crate::state::App;
use crate::views::JobView;

/// Body of a webhook message: a job that has ended, in the form of its own resource.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct WebhookMessage {
    /// Type of the event: `verification.completed`, `verification.failed`, `verification.cancelled`, and the same for
    /// `submission`.
    #[serde(rename = "type")]
    #[schemars(pattern("^(verification|submission)\\.(completed|failed|cancelled)$"))]
    kind: String,
    /// Time at which the event was published.
    timestamp: Timestamp,
    data: WebhookData,
}

/// A job object without its episodes, or a submission.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(crate) enum WebhookData {
    Verification(Box<JobView>),
    Submission(Box<SubmissionDetail>),
}

impl WebhookMessage {
    /// Creates the message of a delivery; `None` if its job no longer exists.
    pub(super) async fn of(app: &App, delivery: &Delivery) -> Result<Option<Self>, ApiError> {
        let Some(record) = app.records.job(None, delivery.job_id).await? else { return Ok(None) };
        if record.header.kind() != JobKind::Submission {
            let (status, ended_at) = status_and_end(&record);
            let data = WebhookData::Verification(Box::new(JobView::load(app, &record, Vec::new()).await?));
            return Ok(Some(Self { kind: format!("verification.{status}"), timestamp: ended_at, data }));
        }
        let published = PublishedSubmission::read(&*app.records, record, app.clock.now()).await?;
        let (status, ended_at) = status_and_end(published.record());
        let data = WebhookData::Submission(Box::new(submission_object(app, &published).await?));
        Ok(Some(Self { kind: format!("submission.{status}"), timestamp: ended_at, data }))
    }
}

fn status_and_end(record: &JobRecord) -> (String, Timestamp) {
    let report = record.report(&[]);
    (report.status.as_str().to_ascii_lowercase(), report.completed_at.unwrap_or(report.created_at))
}
