//! Who may have something tried now: one thing of each account, a few of the whole instance. They are answered while the
//! client waits, so nobody is put into a queue. A place is taken when the body is in: an account that only drips keeps nobody out.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::AccountId;

use crate::http::{ApiError, ErrorCode, OverLimit};

/// Things of one kind that are tried at the same time.
const MAX_AT_ONCE: usize = 2;
/// When to try a preflight again, in s: about the length of one.
pub(crate) const PREFLIGHT_RETRY_S: u64 = 3;
/// When to try to publish again, in s.
pub(crate) const PUBLISH_RETRY_S: u64 = 10;

/// The accounts whose things are tried; shared by all its clones.
#[derive(Debug, Clone)]
pub struct AccountSlots {
    running: Arc<Mutex<BTreeSet<AccountId>>>,
    what: &'static str,
    /// Its name where it is used up.
    limit: &'static str,
    retry_s: u64,
}

/// A place; free again when dropped.
#[derive(Debug)]
pub(crate) struct AccountSlot {
    slots: AccountSlots,
    account: AccountId,
}

impl AccountSlots {
    /// For preflights.
    #[must_use]
    pub fn preflights() -> Self {
        Self { running: Arc::default(), what: "preflight", limit: "preflights", retry_s: PREFLIGHT_RETRY_S }
    }

    /// For scenarios that are to be published.
    #[must_use]
    pub fn publications() -> Self {
        Self { running: Arc::default(), what: "publication", limit: "publications", retry_s: PUBLISH_RETRY_S }
    }

    /// Checks whether there is a place for `account` now, without taking it: for the time before the body, so that nobody
    /// sends one for nothing. A body takes as long as its client likes, so no place is held for one.
    ///
    /// # Errors
    /// As [`Self::acquire`].
    pub(crate) fn precheck(&self, account: &AccountId) -> Result<(), ApiError> {
        self.admit(&self.lock(), account)
    }

    /// Takes a place for `account`; to be called once the body is in.
    ///
    /// # Errors
    /// 429: the account has one; 503: all are taken. Both say when to try again.
    pub(crate) fn acquire(&self, account: &AccountId) -> Result<AccountSlot, ApiError> {
        let mut running = self.lock();
        self.admit(&running, account)?;
        running.insert(account.clone());
        Ok(AccountSlot { slots: self.clone(), account: account.clone() })
    }

    fn admit(&self, running: &BTreeSet<AccountId>, account: &AccountId) -> Result<(), ApiError> {
        let what = self.what;
        if running.contains(account) {
            let over = OverLimit::when(self.limit, 1, 1, "when your account's other one ends");
            let message = format!("your account's other {what} has not ended; one at a time");
            return Err(ApiError::over_limit(&over, message, self.retry_s));
        }
        if running.len() >= MAX_AT_ONCE {
            let message = format!("other {what}s are running; try again");
            return Err(ApiError::try_again(ErrorCode::Unavailable, &message, self.retry_s));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<AccountId>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AccountSlot {
    fn drop(&mut self) {
        self.slots.lock().remove(&self.account);
    }
}
