//! Webhooks: messages to the addresses that clients give with their jobs, and the secrets that sign them.

use assay_model::{AccountId, JobId, Secret};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// Maximum number of attempts listed with a delivery; only the last ones are kept.
pub const MAX_KEPT_ATTEMPTS: usize = 20;

/// The secrets that sign an account's messages.
#[derive(Debug, Clone)]
pub struct WebhookSecrets {
    /// The current secret.
    pub current: Secret,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// The previous secret, and the time until which messages also carry its signature.
    pub previous: Option<(Secret, Timestamp)>,
}

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryState {
    /// The job has not ended, or the address has not confirmed the message yet.
    Pending,
    /// The address confirmed it.
    Delivered,
    /// The address did not confirm it in time.
    GivenUp,
}

impl DeliveryState {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Delivered, Self::GivenUp];

    /// Returns the state's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Delivered => "DELIVERED",
            Self::GivenUp => "GIVEN_UP",
        }
    }

    /// Parses the name of a state.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// One attempt to deliver a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryAttempt {
    /// Time of its start.
    pub at: Timestamp,
    /// HTTP status of the response, if there was one.
    pub status: Option<u16>,
    /// The error; `None` if the message was confirmed.
    pub error: Option<String>,
}

/// The message about the end of a job.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The job; also the message's id.
    pub job_id: JobId,
    /// The job's account.
    pub account: AccountId,
    /// Address of the message. Its query may contain a token.
    pub url: Secret,
    /// Its state.
    pub state: DeliveryState,
    /// Time of the next attempt, while [`DeliveryState::Pending`]. Must not be published for a submission without an
    /// attempt.
    pub due_at: Timestamp,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Time of the first attempt.
    pub first_at: Option<Timestamp>,
    /// The last attempts, oldest first; at most [`MAX_KEPT_ATTEMPTS`].
    pub log: Vec<DeliveryAttempt>,
}

/// Filter of a list of deliveries, those of the newest jobs first.
#[derive(Debug, Clone, Default)]
pub struct DeliveryFilter {
    /// Only this account's; `None` lists all accounts'.
    pub account: Option<AccountId>,
    /// Only the delivery of this job.
    pub job: Option<JobId>,
    /// Only in this state.
    pub state: Option<DeliveryState>,
    /// Maximum number of deliveries.
    pub limit: u32,
    /// Number of deliveries to skip.
    pub offset: u32,
}

/// Repository of webhooks.
///
/// A delivery is created with its job ([`crate::NewJob::callback_url`]) and is due once the end of the job is
/// published.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait WebhookRecords {
    /// Sets the account's current secret. The previous one stays valid until `previous_until`; older ones are
    /// deleted.
    async fn set_webhook_secret(
        &self,
        account: &AccountId,
        secret: Secret,
        previous_until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Returns the account's secrets, if it ever set one.
    async fn webhook_secrets(&self, account: &AccountId) -> Result<Option<WebhookSecrets>, StoreError>;

    /// Claims the delivery that has been due longest, excluding the accounts `busy`, until `now + lease`. Returns
    /// `None` if none is due.
    async fn claim_delivery(
        &self,
        busy: &[AccountId],
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Delivery>, StoreError>;

    /// Records an attempt, the resulting state and, if that is [`DeliveryState::Pending`], the time of the next
    /// attempt. Does nothing if the delivery is no longer pending.
    async fn record_delivery_attempt(
        &self,
        job: JobId,
        attempt: DeliveryAttempt,
        state: DeliveryState,
        due_at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Lists a page of deliveries. The number is that of all matching deliveries.
    async fn deliveries(&self, filter: &DeliveryFilter) -> Result<(Vec<Delivery>, u64), StoreError>;
}
