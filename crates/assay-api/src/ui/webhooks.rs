//! `/ui/webhooks`: the messages to the account's webhooks, and the secret that signs them.

use askama::Template;
use assay_model::{Scope, sanitise};
use assay_store::{Delivery, DeliveryFilter, DeliveryState};
use axum::extract::{RawQuery, Request, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::job_line::in_words;
use super::page::{PageFrame, failure, page, to_sign_in};
use super::posted;
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::routes::{Query, RateClass, rotate_webhook_secret};
use crate::state::App;

/// Number of messages on a page.
const SHOWN: u32 = 50;

#[derive(Template)]
#[template(path = "ui/webhooks.html")]
struct WebhooksPage {
    frame: PageFrame,
    lines: Vec<DeliveryLine>,
    total: u64,
    older: Option<u32>,
    has_secret: bool,
    /// A secret that was just made, shown once, and the time until which the previous one still signs.
    secret: Option<(String, Option<String>)>,
}

/// A message as a line of the list.
struct DeliveryLine {
    job: String,
    url: String,
    word: &'static str,
    tone: &'static str,
    attempts: u32,
    /// The last attempt in words.
    last: String,
}

/// Shows the list.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = async {
        let offset = Query::parse(query.as_deref()).number("offset", 0, 0, i32::MAX.unsigned_abs())?;
        list(&app, &viewer, StatusCode::OK, offset, None).await
    };
    shown.await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Creates a secret, and shows it once.
pub(crate) async fn create(State(app): State<App>, request: Request) -> Response {
    let (viewer, _) = match posted::receive(&app, request, RateClass::Write).await {
        Ok(sent) => sent,
        Err(error) => return failure(&app, None, &error),
    };
    let made = async {
        let (secret, until) = rotate_webhook_secret(&app, &viewer.caller).await?;
        let secret = Some((secret.reveal().to_owned(), until.map(in_words)));
        list(&app, &viewer, StatusCode::CREATED, 0, secret).await
    };
    made.await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn list(
    app: &App,
    viewer: &Viewer,
    status: StatusCode,
    offset: u32,
    secret: Option<(String, Option<String>)>,
) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let account = &viewer.caller.key.account;
    let filter = DeliveryFilter { account: Some(account.clone()), job: None, state: None, limit: SHOWN, offset };
    let (found, total) = app.records.deliveries(&filter).await?;
    let next = offset.saturating_add(SHOWN);
    Ok(page(
        status,
        &WebhooksPage {
            frame: PageFrame::new(&app.settings, Some(viewer), "webhooks"),
            lines: found.iter().map(DeliveryLine::from).collect(),
            total,
            older: (u64::from(next) < total).then_some(next),
            has_secret: app.records.webhook_secrets(account).await?.is_some(),
            secret,
        },
    ))
}

impl From<&Delivery> for DeliveryLine {
    fn from(delivery: &Delivery) -> Self {
        let (word, tone) = match delivery.state {
            DeliveryState::Pending => ("PENDING", "open"),
            DeliveryState::Delivered => ("DELIVERED", "good"),
            DeliveryState::GivenUp => ("GIVEN UP", "bad"),
        };
        let last = delivery.log.last().map(|attempt| {
            let outcome = match &attempt.error {
                Some(error) => sanitise(error, usize::MAX),
                None => "confirmed".to_owned(),
            };
            format!("{}: {outcome}", in_words(attempt.at))
        });
        // What follows the question mark may be a token.
        let url = delivery.url.reveal();
        let url = url.split_once('?').map_or(url, |(address, _)| address);
        Self {
            job: delivery.job_id.to_string(),
            url: sanitise(url, usize::MAX),
            word,
            tone,
            attempts: delivery.attempts,
            last: last.unwrap_or_default(),
        }
    }
}
