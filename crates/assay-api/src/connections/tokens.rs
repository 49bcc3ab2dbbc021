//! Tokens for connections: one connection of one job each. They are held in memory, as hashes; after a restart, clients
//! request new ones.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::{Entropy, JobId, Secret, to_hex};
use axum::http::{HeaderMap, header};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use crate::http::{ApiError, Caller, ErrorCode};
use crate::keys::hashes_equal;

/// The time for which a token is valid.
const TOKEN_LIFETIME: SignedDuration = SignedDuration::from_secs(120);
/// Maximum number of valid tokens.
const MAX_TOKENS: usize = 10_000;
/// Retry delay in seconds when there are too many.
const RETRY_S: u64 = 10;
/// The beginning of every token.
const PREFIX: &str = "assayc_";
/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// The valid tokens; shared by all its clones.
#[derive(Clone, Default)]
pub struct ConnectionTokens(Arc<Mutex<HashMap<JobId, IssuedToken>>>);

/// A token of a job; a new one replaces it.
struct IssuedToken {
    hash: TokenHash,
    expires_at: Timestamp,
    /// The caller that requested it, with whose key the connection ends.
    caller: Caller,
}

/// The hash of a token.
#[derive(Clone, Copy)]
pub(crate) struct TokenHash([u8; 32]);

impl TokenHash {
    fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Returns the hash of the token in the `Authorization` header, if there is a single one.
    pub(crate) fn of_headers(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let (value, None) = (values.next()?, values.next()) else { return None };
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        let token = token.trim();
        (scheme.eq_ignore_ascii_case("bearer") && token.starts_with(PREFIX)).then(|| Self::of(token))
    }
}

impl ConnectionTokens {
    /// Creates a token for a connection of `job`, and revokes the job's previous one.
    ///
    /// # Errors
    /// 503 if too many tokens are valid.
    pub(crate) fn issue(
        &self,
        job: JobId,
        caller: &Caller,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<(Secret, Timestamp), ApiError> {
        let mut bytes = [0; TOKEN_BYTES];
        entropy.fill(&mut bytes);
        let token = format!("{PREFIX}{}", to_hex(&bytes));
        let end = now.saturating_add(TOKEN_LIFETIME).unwrap_or(now);
        let expires_at = Timestamp::from_millisecond(end.as_millisecond()).unwrap_or(end);
        let mut tokens = self.lock();
        tokens.retain(|_, token| now < token.expires_at);
        if tokens.len() >= MAX_TOKENS && !tokens.contains_key(&job) {
            let message = "too many policies are about to connect; try again";
            return Err(ApiError::try_again(ErrorCode::Unavailable, message, RETRY_S));
        }
        tokens.insert(job, IssuedToken { hash: TokenHash::of(&token), expires_at, caller: caller.clone() });
        Ok((Secret::new(token), expires_at))
    }

    /// Returns whether this is the hash of a valid token of the job.
    pub(crate) fn is_valid(&self, job: JobId, presented: TokenHash, now: Timestamp) -> bool {
        self.lock().get(&job).is_some_and(|token| token.is(presented, now))
    }

    /// Consumes the job's token. Returns the caller that requested it; `None` if this is not the hash of a valid token,
    /// and then the valid one remains.
    pub(crate) fn redeem(&self, job: JobId, presented: TokenHash, now: Timestamp) -> Option<Caller> {
        let mut tokens = self.lock();
        if !tokens.get(&job)?.is(presented, now) {
            return None;
        }
        tokens.remove(&job).map(|token| token.caller)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, IssuedToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IssuedToken {
    fn is(&self, presented: TokenHash, now: Timestamp) -> bool {
        hashes_equal(&self.hash.0, &presented.0) && now < self.expires_at
    }
}

impl fmt::Debug for ConnectionTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionTokens({})", self.lock().len())
    }
}
