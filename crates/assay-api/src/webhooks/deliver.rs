//! The loop that claims due deliveries and sends them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use assay_model::AccountId;
use assay_store::{Delivery, DeliveryAttempt, DeliveryState, StoreError};
use jiff::SignedDuration;
use tokio::task::JoinSet;

use super::message::WebhookMessage;
use super::retry::after_failure;
use super::secret::signatures;
use crate::AppState;
use crate::state::App;

/// Maximum number of deliveries in flight.
const MAX_IN_FLIGHT: usize = 16;
/// Maximum number of deliveries in flight per account, so that an unresponsive receiver delays only its own account.
const MAX_OF_ACCOUNT: usize = 2;
/// Interval between queries for due deliveries.
const TICK: Duration = Duration::from_secs(1);
/// Lease of a claimed delivery; longer than a receiver may take to respond ([`crate::WebhookSettings::answer_s`]).
const LEASE: SignedDuration = SignedDuration::from_secs(60);
/// Maximum length of a stored error of a failed attempt, in bytes.
const MAX_ERROR_BYTES: usize = 300;
/// HTTP status by which a receiver declines further deliveries.
const GONE: u16 = 410;

/// Sends due deliveries until `stopped` is ready. Deliveries in flight at that time are sent again after the next
/// start.
pub async fn deliver_webhooks(state: AppState, stopped: impl Future<Output = ()>) {
    let mut deliveries = Deliveries { app: Arc::new(state), in_flight: JoinSet::new(), of_account: BTreeMap::new() };
    tokio::select! {
        () = deliveries.run() => {}
        () = stopped => {}
    }
}

struct Deliveries {
    app: App,
    in_flight: JoinSet<AccountId>,
    of_account: BTreeMap<AccountId, usize>,
}

impl Deliveries {
    async fn run(&mut self) {
        let mut fails = false;
        loop {
            match self.start_due().await {
                Ok(()) => fails = false,
                Err(error) if !fails => {
                    fails = true;
                    tracing::warn!(%error, "webhooks are delayed: could not read due deliveries; retrying every second");
                }
                Err(_) => {}
            }
            tokio::select! {
                Some(ended) = self.in_flight.join_next() => self.finish(ended),
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    /// Starts due deliveries up to the limit.
    async fn start_due(&mut self) -> Result<(), StoreError> {
        // Of several servers, one delivers.
        while self.app.site.leads() && self.in_flight.len() < MAX_IN_FLIGHT {
            // Accounts without a delivery in flight come first: unresponsive receivers delay only themselves.
            let delivery = match self.claim(1).await? {
                Some(delivery) => delivery,
                None => match self.claim(MAX_OF_ACCOUNT).await? {
                    Some(delivery) => delivery,
                    None => break,
                },
            };
            *self.of_account.entry(delivery.account.clone()).or_default() += 1;
            let app = Arc::clone(&self.app);
            self.in_flight.spawn(async move {
                deliver(&app, &delivery).await;
                delivery.account
            });
        }
        Ok(())
    }

    /// Claims a delivery of an account with fewer than `most` in flight.
    async fn claim(&self, most: usize) -> Result<Option<Delivery>, StoreError> {
        let full = self.of_account.iter().filter(|(_, number)| **number >= most);
        let busy: Vec<AccountId> = full.map(|(account, _)| account.clone()).collect();
        self.app.records.claim_delivery(&busy, self.app.clock.now(), LEASE).await
    }

    fn finish(&mut self, account: Result<AccountId, tokio::task::JoinError>) {
        let Ok(account) = account else {
            tracing::error!("sending a webhook panicked");
            // The account is not known: reset the counts.
            self.of_account.clear();
            return;
        };
        if let Some(number) = self.of_account.get_mut(&account) {
            *number = number.saturating_sub(1);
        }
        self.of_account.retain(|_, number| *number > 0);
    }
}

/// Attempts a delivery once, and records the result.
async fn deliver(app: &App, delivery: &Delivery) {
    let (job, account) = (delivery.job_id, &delivery.account);
    let attempt = match attempt(app, delivery).await {
        Ok(Some(attempt)) => attempt,
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(job.id = %job, %account, %error, "could not send a webhook because of an internal error; retrying");
            return;
        }
    };
    let (state, due_at) = match (&attempt.error, attempt.status) {
        (None, _) => (DeliveryState::Delivered, attempt.at),
        (Some(_), Some(GONE)) => (DeliveryState::GivenUp, attempt.at),
        (Some(_), _) => {
            let (pause, retry_for) = (&app.settings.intervals.webhook_retry_s, &app.settings.webhooks.retry_for_s);
            after_failure(delivery.attempts, delivery.first_at, attempt.at, (pause.get(), retry_for.get()))
        }
    };
    let (attempts, error) = (delivery.attempts.saturating_add(1), attempt.error.clone().unwrap_or_default());
    match state {
        DeliveryState::Delivered => tracing::info!(job.id = %job, %account, attempts, "a webhook was delivered"),
        DeliveryState::Pending => {
            tracing::info!(job.id = %job, %account, attempts, error, next = %due_at, "a webhook failed")
        }
        DeliveryState::GivenUp => tracing::warn!(job.id = %job, %account, attempts, error, "a webhook was given up"),
    }
    if let Err(error) = app.records.record_delivery_attempt(job, attempt, state, due_at).await {
        tracing::warn!(job.id = %job, %account, %error, "could not record the result of a webhook; it is sent again");
    }
}

/// Sends the message. Returns `None` if its job no longer exists.
async fn attempt(
    app: &App,
    delivery: &Delivery,
) -> Result<Option<DeliveryAttempt>, Box<dyn std::error::Error + Send + Sync>> {
    let at = app.clock.now();
    let Some(message) = WebhookMessage::of(app, delivery).await.map_err(|_| "its job could not be read")? else {
        return Ok(None);
    };
    let body = serde_json::to_vec(&message)?;
    let secrets = app.records.webhook_secrets(&delivery.account).await?;
    let secrets = secrets.ok_or("the account has no webhook secret")?;
    let headers = [
        ("webhook-id", delivery.job_id.to_string()),
        ("webhook-timestamp", at.as_second().to_string()),
        ("webhook-signature", signatures(&secrets, delivery.job_id, at, &body)),
    ];
    let limit = app.settings.webhooks.answer_s;
    let answer = tokio::time::timeout(limit.get(), app.webhook_sender.post(&delivery.url, &headers, body)).await;
    let (status, error) = match answer {
        Ok(Ok(status)) if (200..300).contains(&status) => (Some(status), None),
        Ok(Ok(status)) if (300..400).contains(&status) => {
            (Some(status), Some(format!("answered {status}, a redirect, which is never followed")))
        }
        Ok(Ok(GONE)) => (Some(GONE), Some(format!("answered {GONE}, so there are no further attempts"))),
        Ok(Ok(status)) => (Some(status), Some(format!("answered {status}"))),
        Ok(Err(why)) => (None, Some(assay_model::sanitise(&why, MAX_ERROR_BYTES))),
        Err(_) => (None, Some(format!("no answer within {limit} s"))),
    };
    Ok(Some(DeliveryAttempt { at, status, error }))
}
