//! Limits on concurrent preflights and publications: one per account, a few per server. These run while the
//! client waits, so there is no queue. A slot is taken once the body has been received, so a slow upload holds none.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::AccountId;
use assay_store::{Bulletin, Site};

use crate::http::{ApiError, ErrorCode, OverLimit};

/// Number of slots of a server.
const MAX_AT_ONCE: usize = 2;
/// Retry delay of a preflight in seconds: about the duration of one.
pub(crate) const PREFLIGHT_RETRY_S: u64 = 3;
/// Retry delay of a publication in seconds.
pub(crate) const PUBLISH_RETRY_S: u64 = 10;

/// Slots of which an account can hold one at a time; shared by all its clones.
#[derive(Debug, Clone)]
pub struct AccountSlots {
    running: Arc<Mutex<BTreeSet<AccountId>>>,
    what: &'static str,
    /// The name of the limit in errors.
    limit: &'static str,
    retry_s: u64,
    site: Site,
    /// Selects the accounts with a slot of the same kind at another server.
    elsewhere: fn(&Bulletin) -> &BTreeSet<AccountId>,
}

/// A slot; released when dropped.
#[derive(Debug)]
pub(crate) struct AccountSlot {
    slots: AccountSlots,
    account: AccountId,
}

impl AccountSlots {
    /// Creates the slots for preflights.
    #[must_use]
    pub fn preflights(site: Site) -> Self {
        let (what, limit, retry_s) = ("preflight", "preflights", PREFLIGHT_RETRY_S);
        Self { running: Arc::default(), what, limit, retry_s, site, elsewhere: |server| &server.preflights }
    }

    /// Creates the slots for publications of scenarios.
    #[must_use]
    pub fn publications(site: Site) -> Self {
        let (what, limit, retry_s) = ("publication", "publications", PUBLISH_RETRY_S);
        Self { running: Arc::default(), what, limit, retry_s, site, elsewhere: |server| &server.publications }
    }

    /// Returns the accounts that hold a slot at this server.
    pub(crate) fn holders(&self) -> BTreeSet<AccountId> {
        self.lock().clone()
    }

    /// Checks whether a slot is available for `account` without taking it. Called before the body is received, so that
    /// no body is sent in vain. Receiving a body may take long, so no slot is held meanwhile.
    ///
    /// # Errors
    /// Like [`Self::acquire`].
    pub(crate) fn precheck(&self, account: &AccountId) -> Result<(), ApiError> {
        self.admit(&self.lock(), account)
    }

    /// Takes a slot for `account`; to be called once the body has been received.
    ///
    /// # Errors
    /// 429: the account holds one; 503: all are taken. Both have a retry delay.
    pub(crate) fn acquire(&self, account: &AccountId) -> Result<AccountSlot, ApiError> {
        let mut running = self.lock();
        self.admit(&running, account)?;
        running.insert(account.clone());
        Ok(AccountSlot { slots: self.clone(), account: account.clone() })
    }

    fn admit(&self, running: &BTreeSet<AccountId>, account: &AccountId) -> Result<(), ApiError> {
        let what = self.what;
        let elsewhere = self.site.others().iter().any(|server| (self.elsewhere)(server).contains(account));
        if elsewhere || running.contains(account) {
            let over = OverLimit::when(self.limit, 1, 1, "when your account's running request ends");
            let message = format!("your account already has a running {what}; only one at a time is allowed");
            return Err(ApiError::over_limit(&over, message, self.retry_s));
        }
        if running.len() >= MAX_AT_ONCE {
            let message = format!("other {what}s are running; try again later");
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
