//! Webhooks: messages to the addresses that clients gave with their jobs, and the secrets that sign them.

use std::fmt;

use assay_model::{AccountId, JobId, Secret};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// Attempts of a delivery that are kept with it, the last ones.
pub const MAX_KEPT_ATTEMPTS: usize = 20;

/// What an account's messages are signed with.
#[derive(Debug, Clone)]
pub struct WebhookSecrets {
    /// The current secret.
    pub current: Secret,
    /// When it was made.
    pub created_at: Timestamp,
    /// The secret before it, and until when messages carry its signature too.
    pub previous: Option<(Secret, Timestamp)>,
}

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryState {
    /// The job has not ended, or the address has not confirmed the message yet.
    Pending,
    /// The address confirmed it.
    Delivered,
    /// It did not within the time that there was.
    GivenUp,
}

impl DeliveryState {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Delivered, Self::GivenUp];

    /// The state's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Delivered => "DELIVERED",
            Self::GivenUp => "GIVEN_UP",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// One attempt to deliver a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryAttempt {
    /// When it began.
    pub at: Timestamp,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// Why it failed; `None` when the message was confirmed.
    pub error: Option<String>,
}

/// The message about the end of a job.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The job; also the message's id.
    pub job_id: JobId,
    /// Whose job it is.
    pub account: AccountId,
    /// Where the message goes. Its query may hold a token.
    pub url: Secret,
    /// Where it stands.
    pub state: DeliveryState,
    /// When it is tried next, while [`DeliveryState::Pending`]. Of a submission that was not tried yet it is not for
    /// clients.
    pub due_at: Timestamp,
    /// Attempts so far.
    pub attempts: u32,
    /// When it was first tried.
    pub first_at: Option<Timestamp>,
    /// The last attempts, oldest first; at most [`MAX_KEPT_ATTEMPTS`].
    pub log: Vec<DeliveryAttempt>,
}

/// Which deliveries to list, those of the newest jobs first.
#[derive(Debug, Clone, Default)]
pub struct DeliveryFilter {
    /// Only this account's; `None` lists all accounts'.
    pub account: Option<AccountId>,
    /// Only that of this job.
    pub job: Option<JobId>,
    /// Only in this state.
    pub state: Option<DeliveryState>,
    /// At most this many.
    pub limit: u32,
    /// Skip this many.
    pub offset: u32,
}

/// The part of the records that keeps webhooks.
///
/// A delivery is made with its job ([`crate::NewJob::callback_url`]) and is due once the end of the job is published.
#[async_trait]
pub trait WebhookRecords: Send + Sync + fmt::Debug {
    /// Makes `secret` the account's current one. The one before it stays good until `previous_until`; older ones go.
    async fn set_webhook_secret(
        &self,
        account: &AccountId,
        secret: Secret,
        previous_until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The account's secrets, if it ever made one.
    async fn webhook_secrets(&self, account: &AccountId) -> Result<Option<WebhookSecrets>, StoreError>;

    /// Takes the delivery that has been due for the longest time, of an account that is none of `busy`: until
    /// `now + lease` nobody else gets it. `None` when none is due.
    async fn claim_delivery(
        &self,
        busy: &[AccountId],
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Delivery>, StoreError>;

    /// Notes an attempt, and what follows: the state, and when it is tried again if that is
    /// [`DeliveryState::Pending`]. Changes nothing that is not pending any more.
    async fn record_delivery_attempt(
        &self,
        job: JobId,
        attempt: DeliveryAttempt,
        state: DeliveryState,
        due_at: Timestamp,
    ) -> Result<(), StoreError>;

    /// A page of deliveries and the number of all that match.
    async fn deliveries(&self, filter: &DeliveryFilter) -> Result<(Vec<Delivery>, u64), StoreError>;
}
