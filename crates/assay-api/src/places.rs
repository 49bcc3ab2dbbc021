//! Who may run a preflight now: one of each account, a few of the whole instance. They are answered while the client
//! waits, so nobody is put into a queue.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use assay_model::AccountId;

use crate::http::{ApiError, Code};

/// Preflights at the same time.
const MAX_AT_ONCE: usize = 2;
/// When to try again, in s: about the length of a preflight.
pub(crate) const RETRY_S: u64 = 3;

/// The accounts whose preflights run; shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct PreflightPlaces(Arc<Mutex<BTreeSet<AccountId>>>);

/// A place; free again when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: PreflightPlaces,
    account: AccountId,
}

impl PreflightPlaces {
    /// A place for `account`, or when to try again.
    pub(crate) fn enter(&self, account: &AccountId) -> Result<Place, ApiError> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if running.contains(account) {
            let message = "your account's other preflight has not ended; one at a time";
            return Err(ApiError::try_again(Code::RateLimited, message, RETRY_S));
        }
        if running.len() >= MAX_AT_ONCE {
            return Err(ApiError::try_again(Code::Unavailable, "other preflights are running; try again", RETRY_S));
        }
        running.insert(account.clone());
        Ok(Place { places: self.clone(), account: account.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.account);
    }
}
