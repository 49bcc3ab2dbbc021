//! Records of accesses to what belongs to other accounts, which only administrators and reviewers have.

use std::fmt::Display;

use assay_model::{AccountId, sanitise};
use assay_store::{AccessRecord, MAX_ACCESS_TARGET_BYTES};

use super::caller::Caller;
use super::error::ApiError;
use crate::state::AppState;

impl Caller {
    /// Records that the caller accesses something of the account `owner`, unless it is the caller's own.
    ///
    /// # Errors
    /// The access could not be recorded, and must not take place.
    pub(crate) async fn record_access(
        &self,
        app: &AppState,
        (owner, target): (&AccountId, &(dyn Display + Sync)),
        action: &str,
    ) -> Result<(), ApiError> {
        let accesses = self.foreign(app, (owner, target), action).into_iter().collect();
        Ok(app.records.record_accesses(accesses).await?)
    }

    /// Returns the record of an access; `None` if the thing is the caller's own.
    pub(crate) fn foreign(
        &self,
        app: &AppState,
        (owner, target): (&AccountId, &(dyn Display + Sync)),
        action: &str,
    ) -> Option<AccessRecord> {
        (*owner != self.key.account).then(|| AccessRecord {
            at: app.clock.now(),
            key: self.key.id.clone(),
            account: self.key.account.clone(),
            owner: owner.clone(),
            action: action.to_owned(),
            target: sanitise(&target.to_string(), MAX_ACCESS_TARGET_BYTES),
        })
    }
}
