//! `GET /webhooks/deliveries`: the state of the messages to the account's webhooks.

use assay_model::JobId;
use assay_store::{Delivery, DeliveryAttempt, DeliveryFilter, DeliveryState};
use axum::Extension;
use axum::extract::{RawQuery, State};
use jiff::Timestamp;
use serde::Serialize;

use crate::http::{ApiError, Caller, Json};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::state::App;

/// A page of deliveries, those of the newest jobs first.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct WebhookDeliveryPage {
    deliveries: Vec<WebhookDeliveryView>,
    total: u64,
    limit: u32,
    offset: u32,
}

/// The message about the end of a job, and the attempts to deliver it.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "WebhookDelivery")]
struct WebhookDeliveryView {
    /// Id of the job or submission; also the message's `webhook-id`.
    job_id: JobId,
    /// Webhook URL without its query, which may contain a token.
    url: String,
    #[schemars(with = "WebhookDeliveryState")]
    state: &'static str,
    /// Number of attempts.
    attempts: u32,
    /// Time of the next attempt; `null` before the first attempt, and if there will be no further attempt.
    next_attempt_at: Option<Timestamp>,
    /// The last 20 attempts, oldest first.
    log: Vec<Attempt>,
}

/// The state of a delivery.
#[derive(schemars::JsonSchema, utoipa::ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(dead_code, reason = "only its schema is used")]
enum WebhookDeliveryState {
    /// The job has not ended, or the receiver has not confirmed the message.
    Pending,
    /// The receiver confirmed the message.
    Delivered,
    /// There will be no further attempt.
    GivenUp,
}

/// An attempt to deliver a message.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "WebhookAttempt")]
struct Attempt {
    at: Timestamp,
    /// HTTP status of the response; `null` if there was no response.
    status: Option<u16>,
    /// Reason for the failure; `null` if the message was confirmed (2xx).
    error: Option<String>,
}

/// List webhook deliveries
///
/// Returns a page of the messages to the account's webhooks, those of the newest jobs first: one for each job with a
/// `callback_url`, with its state and its last attempts. Failed deliveries are retried for a day with increasing
/// delays; a receiver that responds with 410 gets no further attempts.
#[utoipa::path(
    get, path = "/webhooks/deliveries", operation_id = "webhook_deliveries", tag = "webhooks",
    params(
        ("limit" = inline(Option<u32>), Query, description = "Maximum number of deliveries on the page; 20 if absent", minimum = 1, maximum = 100),
        ("offset" = inline(Option<u32>), Query, description = "Number of deliveries to skip", minimum = 0, maximum = 2_147_483_647),
        ("job_id" = Option<uuid::Uuid>, Query, description = "Only the delivery of this job or submission"),
        ("state" = inline(Option<WebhookDeliveryState>), Query, description = "Only deliveries in this state"),
    ),
    responses((status = 200, body = ref(schema_of::<WebhookDeliveryPage>())), (status = 400)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Result<Json<WebhookDeliveryPage>, ApiError> {
    let query = Query::parse(query.as_deref());
    let limit = query.number("limit", 20, 1, 100)?;
    let offset = query.number("offset", 0, 0, i32::MAX.unsigned_abs())?;
    let job = query.text("job_id")?.map(|text| {
        let message = "job_id must be the id of a job or submission";
        text.parse::<JobId>().map_err(|_| ApiError::invalid("job_id", Some(text), message))
    });
    let state = query.text("state")?.map(|text| {
        let message = "state must be PENDING, DELIVERED or GIVEN_UP";
        DeliveryState::parse(text).ok_or_else(|| ApiError::invalid("state", Some(text), message))
    });
    let filter = DeliveryFilter {
        account: Some(caller.key.account.clone()),
        job: job.transpose()?,
        state: state.transpose()?,
        limit,
        offset,
    };
    let (found, total) = app.records.deliveries(&filter).await?;
    Ok(Json(WebhookDeliveryPage {
        deliveries: found.iter().map(WebhookDeliveryView::from).collect(),
        total,
        limit,
        offset,
    }))
}

impl From<&Delivery> for WebhookDeliveryView {
    fn from(delivery: &Delivery) -> Self {
        let url = delivery.url.reveal();
        // Before the first attempt this time is not meaningful, and for a submission it must not reveal whether it has
        // ended.
        let is_tried_again = delivery.state == DeliveryState::Pending && delivery.attempts > 0;
        Self {
            job_id: delivery.job_id,
            url: url.split_once('?').map_or(url, |(address, _)| address).to_owned(),
            state: delivery.state.as_str(),
            attempts: delivery.attempts,
            next_attempt_at: is_tried_again.then_some(delivery.due_at),
            log: delivery.log.iter().map(Attempt::from).collect(),
        }
    }
}

impl From<&DeliveryAttempt> for Attempt {
    fn from(attempt: &DeliveryAttempt) -> Self {
        Self { at: attempt.at, status: attempt.status, error: attempt.error.clone() }
    }
}
