//! The open streams: their number per account, and the credentials that they were opened with.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::AccountId;
use assay_store::{KeyId, SessionHash, Site};

use crate::http::{ApiError, Caller, ErrorCode, OverLimit};

/// Retry delay in seconds after the limit of streams was reached.
const RETRY_S: u64 = 10;

/// The limited slots for open streams; shared by all its clones.
#[derive(Debug, Clone, Default)]
pub(super) struct StreamSlots {
    open: Arc<Mutex<OpenStreams>>,
    site: Site,
}

#[derive(Debug, Default)]
struct OpenStreams {
    total: usize,
    accounts: HashMap<AccountId, usize>,
    credentials: HashMap<StreamCredential, CredentialStreams>,
}

/// The credential that a stream was opened with: a key, or a session of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct StreamCredential {
    pub(super) key: KeyId,
    pub(super) session: Option<SessionHash>,
}

#[derive(Debug, Default)]
struct CredentialStreams {
    streams: usize,
    ended: Arc<AtomicBool>,
}

/// The slot of an open stream; released when dropped.
#[derive(Debug)]
pub(super) struct StreamSlot {
    slots: StreamSlots,
    account: AccountId,
    credential: StreamCredential,
    ended: Arc<AtomicBool>,
}

impl StreamSlot {
    /// Returns whether the stream's credential has become invalid.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

impl StreamSlots {
    /// Creates the slots of a server of the site.
    pub(super) fn new(site: Site) -> Self {
        Self { open: Arc::default(), site }
    }

    /// Returns the number of open streams of this server by account.
    pub(super) fn by_account(&self) -> BTreeMap<AccountId, usize> {
        self.lock().accounts.iter().map(|(account, streams)| (account.clone(), *streams)).collect()
    }

    /// Acquires a slot for the caller.
    ///
    /// # Errors
    /// 429 if the account has `of_account` streams open, here or elsewhere; 503 if there are `in_all` here.
    pub(super) fn acquire(&self, caller: &Caller, of_account: usize, in_all: usize) -> Result<StreamSlot, ApiError> {
        let mut open = self.lock();
        if open.total >= in_all {
            let message = "too many streams are open; poll the job instead, or try again";
            return Err(ApiError::try_again(ErrorCode::Unavailable, message, RETRY_S));
        }
        let account = &caller.key.account;
        let elsewhere: usize = self.site.others().iter().filter_map(|server| server.streams.get(account)).sum();
        let streams = open.accounts.entry(account.clone()).or_default();
        if *streams + elsewhere >= of_account {
            let (here, all) = (*streams, *streams + elsewhere);
            if here == 0 {
                open.accounts.remove(account);
            }
            return Err(too_many_streams(all, of_account));
        }
        *streams += 1;
        open.total += 1;
        let credential = StreamCredential { key: caller.key.id.clone(), session: caller.session };
        let opened = open.credentials.entry(credential.clone()).or_default();
        opened.streams += 1;
        let ended = Arc::clone(&opened.ended);
        Ok(StreamSlot { slots: self.clone(), account: caller.key.account.clone(), credential, ended })
    }

    /// Returns the credentials of all open streams.
    pub(super) fn credentials(&self) -> Vec<StreamCredential> {
        self.lock().credentials.keys().cloned().collect()
    }

    /// Marks the streams of this credential to end.
    pub(super) fn end(&self, credential: &StreamCredential) {
        if let Some(opened) = self.lock().credentials.get(credential) {
            opened.ended.store(true, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, OpenStreams> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the error for an account at its limit of streams.
fn too_many_streams(open: usize, most: usize) -> ApiError {
    let count = |streams: usize| u64::try_from(streams).unwrap_or(u64::MAX);
    let over = OverLimit::when("streams", count(most), count(open), "when one of your account's streams is closed");
    let message = format!("your account has {open} of {most} streams open; close one");
    ApiError::over_limit(&over, message, RETRY_S)
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut open = self.slots.lock();
        open.total -= 1;
        let left = open.accounts.get_mut(&self.account).map(|streams| {
            *streams -= 1;
            *streams
        });
        if left == Some(0) {
            open.accounts.remove(&self.account);
        }
        let left = open.credentials.get_mut(&self.credential).map(|opened| {
            opened.streams -= 1;
            opened.streams
        });
        if left == Some(0) {
            open.credentials.remove(&self.credential);
        }
    }
}
