//! Limits on concurrent preflights, publications and downloads: one per account, a few per server. These run while the
//! client waits, so there is no queue. A slot is taken once the body has been received, so a slow upload holds none.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::AccountId;
use assay_store::{Bulletin, Site};

use crate::http::{ApiError, ErrorCode, OverLimit};

/// Number of slots of a server.
const MAX_AT_ONCE: usize = 2;
/// Number of slots for downloads, which mostly wait for their clients.
const MAX_DOWNLOADS: usize = 8;
/// Retry delay of a preflight in seconds: about the duration of one.
pub(crate) const PREFLIGHT_RETRY_S: u64 = 3;
/// Retry delay of a publication in seconds.
pub(crate) const PUBLISH_RETRY_S: u64 = 10;

/// Retry delay of a download in seconds.
pub(crate) const DOWNLOAD_RETRY_S: u64 = 10;

/// Slots of which an account can hold one at a time; shared by all its clones.
#[derive(Debug, Clone)]
pub struct AccountSlots {
    running: Arc<Mutex<BTreeSet<AccountId>>>,
    what: &'static str,
    /// The name of the limit in errors.
    limit: &'static str,
    retry_s: u64,
    maximum: usize,
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
        Self::new((what, limit, retry_s), MAX_AT_ONCE, site, |server| &server.preflights)
    }

    /// Creates the slots for publications of scenarios.
    #[must_use]
    pub fn publications(site: Site) -> Self {
        let (what, limit, retry_s) = ("publication", "publications", PUBLISH_RETRY_S);
        Self::new((what, limit, retry_s), MAX_AT_ONCE, site, |server| &server.publications)
    }

    /// Creates the slots for downloads of archives.
    #[must_use]
    pub fn downloads(site: Site) -> Self {
        let (what, limit, retry_s) = ("download", "downloads", DOWNLOAD_RETRY_S);
        Self::new((what, limit, retry_s), MAX_DOWNLOADS, site, |server| &server.downloads)
    }

    fn new(
        (what, limit, retry_s): (&'static str, &'static str, u64),
        maximum: usize,
        site: Site,
        elsewhere: fn(&Bulletin) -> &BTreeSet<AccountId>,
    ) -> Self {
        Self { running: Arc::default(), what, limit, retry_s, maximum, site, elsewhere }
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
        if running.len() >= self.maximum {
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
