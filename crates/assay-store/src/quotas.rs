//! The repository of the usage of accounts.

use assay_model::AccountId;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::{AccountUsage, StoreError};

/// Repository of the usage of accounts, which [`crate::JobRecords::create_job`] and related methods check against
/// [`crate::NewJob::quota`].
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait QuotaRecords {
    /// Returns the usage of an account on the day of `now`.
    async fn account_usage(&self, account: &AccountId, now: Timestamp) -> Result<AccountUsage, StoreError>;
}
