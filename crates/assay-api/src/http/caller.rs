//! The authenticated caller of a request.

use std::sync::Arc;

use assay_model::{AccountId, Scope};
use assay_store::{KeyRecord, SessionHash};

use super::error::{ApiError, ErrorCode};

/// The authenticated caller. Handlers receive it as an `Extension`.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) key: Arc<KeyRecord>,
    /// The session, if a browser is signed in with the key.
    pub(crate) session: Option<SessionHash>,
}

impl Caller {
    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.key.scopes.has(scope)
    }

    pub(crate) fn require(&self, scope: Scope) -> Result<(), ApiError> {
        if self.has(scope) {
            return Ok(());
        }
        Err(ApiError::new(ErrorCode::Forbidden, format!("the key lacks the scope {scope}")))
    }

    /// Returns the account whose jobs the caller may read; `None` means all accounts.
    pub(crate) fn read_scope(&self) -> Option<&AccountId> {
        let all = self.key.scopes.has(Scope::Review) || self.key.scopes.has(Scope::Admin);
        (!all).then_some(&self.key.account)
    }

    /// Returns the account whose jobs the caller may change; `None` means all accounts.
    pub(crate) fn write_scope(&self) -> Option<&AccountId> {
        (!self.key.scopes.has(Scope::Admin)).then_some(&self.key.account)
    }
}
