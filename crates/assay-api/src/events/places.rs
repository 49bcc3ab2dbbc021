//! Who follows: how many streams there are, of which account, opened with which key.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::AccountId;
use assay_store::KeyId;

use crate::http::{ApiError, Caller, Code};

/// When to ask again for a stream that there was no room for, in s.
const RETRY_S: u64 = 10;

/// Shared by all its clones.
#[derive(Debug, Clone, Default)]
pub(super) struct Places(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    total: usize,
    accounts: HashMap<AccountId, usize>,
    keys: HashMap<KeyId, OfKey>,
}

#[derive(Debug, Default)]
struct OfKey {
    streams: usize,
    ended: Arc<AtomicBool>,
}

/// A stream's place; free again when dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    account: AccountId,
    key: KeyId,
    ended: Arc<AtomicBool>,
}

impl Place {
    /// The key that opened the stream is good no more.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

impl Places {
    /// A place for the caller, or why there is none.
    pub(super) fn enter(&self, caller: &Caller, of_account: usize, in_all: usize) -> Result<Place, ApiError> {
        let mut open = self.lock();
        if open.total >= in_all {
            let message = "too many streams are open; ask for the job itself, or try again";
            return Err(ApiError::try_again(Code::Unavailable, message, RETRY_S));
        }
        let streams = open.accounts.entry(caller.account.clone()).or_default();
        if *streams >= of_account {
            let message = format!("your account has {of_account} streams open, which is the most; close one");
            return Err(ApiError::try_again(Code::RateLimited, &message, RETRY_S));
        }
        *streams += 1;
        open.total += 1;
        let of_key = open.keys.entry(caller.key.clone()).or_default();
        of_key.streams += 1;
        let ended = Arc::clone(&of_key.ended);
        Ok(Place { places: self.clone(), account: caller.account.clone(), key: caller.key.clone(), ended })
    }

    /// The keys with open streams.
    pub(super) fn keys(&self) -> Vec<KeyId> {
        self.lock().keys.keys().cloned().collect()
    }

    /// Streams opened with `key` are to end. Those that are opened later are not meant.
    pub(super) fn end(&self, key: &KeyId) {
        if let Some(of_key) = self.lock().keys.get(key) {
            of_key.ended.store(true, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.places.lock();
        open.total -= 1;
        let left = open.accounts.get_mut(&self.account).map(|streams| {
            *streams -= 1;
            *streams
        });
        if left == Some(0) {
            open.accounts.remove(&self.account);
        }
        let left = open.keys.get_mut(&self.key).map(|of_key| {
            of_key.streams -= 1;
            of_key.streams
        });
        if left == Some(0) {
            open.keys.remove(&self.key);
        }
    }
}
