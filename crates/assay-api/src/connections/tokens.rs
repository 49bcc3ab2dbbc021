//! Tokens for connections: one connection of one job each. Only their hashes are held. A restart of the server, or
//! a crash of the database, may lose them; then clients request new ones.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_model::{Entropy, JobId, Secret, to_hex};
use assay_store::{ConnectionTokenRecord, Site};
use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::http::{ApiError, Caller, ErrorCode};
use crate::keys::hashes_equal;

/// The time for which a token is valid.
const TOKEN_LIFETIME: Duration = Duration::from_secs(120);
/// Maximum number of valid tokens.
const MAX_TOKENS: u32 = 10_000;
/// Retry delay in seconds when there are too many.
const RETRY_S: u64 = 10;
/// The beginning of every token.
const PREFIX: &str = "assayc_";
/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// The valid tokens; shared by all its clones. Where several servers share the records, these hold the tokens;
/// otherwise this process does.
#[derive(Clone, Default)]
pub struct ConnectionTokens {
    site: Site,
    local: Arc<Mutex<HashMap<JobId, LocalToken>>>,
}

/// A token of this process; a new one replaces it.
struct LocalToken {
    record: ConnectionTokenRecord,
    expires_at: Timestamp,
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
    /// Creates the tokens of a server of `site`.
    #[must_use]
    pub fn of(site: Site) -> Self {
        Self { site, ..Self::default() }
    }

    /// Creates a token for a connection of `job`, and revokes the job's previous one.
    ///
    /// # Errors
    /// 503 if too many tokens are valid.
    pub(crate) async fn issue(
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
        let hash = TokenHash::of(&token).0;
        let record = ConnectionTokenRecord { hash, key: caller.key.id.clone(), session: caller.session };
        let is_kept = match self.site.records() {
            Some(records) => records.put_connection_token(job, &record, TOKEN_LIFETIME, MAX_TOKENS).await?,
            None => self.put_local(job, LocalToken { record, expires_at }, now),
        };
        if !is_kept {
            let message = "too many policies are about to connect; try again";
            return Err(ApiError::try_again(ErrorCode::Unavailable, message, RETRY_S));
        }
        Ok((Secret::new(token), expires_at))
    }

    /// Returns the job's token if `presented` is its hash and it is valid. It stays valid.
    pub(crate) async fn find(
        &self,
        job: JobId,
        presented: TokenHash,
        now: Timestamp,
    ) -> Result<Option<ConnectionTokenRecord>, ApiError> {
        let found = match self.site.records() {
            Some(records) => records.connection_token(job).await?,
            None => self.lock().get(&job).filter(|token| now < token.expires_at).map(|token| token.record.clone()),
        };
        Ok(found.filter(|token| hashes_equal(&token.hash, &presented.0)))
    }

    /// Consumes a token that was found. Returns false if it is no longer valid: another connection has consumed it.
    pub(crate) async fn redeem(&self, job: JobId, token: &ConnectionTokenRecord) -> Result<bool, ApiError> {
        if let Some(records) = self.site.records() {
            return Ok(records.redeem_connection_token(job, &token.hash).await?);
        }
        let mut tokens = self.lock();
        let is_valid = tokens.get(&job).is_some_and(|known| known.record == *token);
        if is_valid {
            tokens.remove(&job);
        }
        Ok(is_valid)
    }

    /// Returns false if too many tokens are valid.
    fn put_local(&self, job: JobId, token: LocalToken, now: Timestamp) -> bool {
        let mut tokens = self.lock();
        tokens.retain(|_, token| now < token.expires_at);
        let fits = tokens.len() < MAX_TOKENS as usize || tokens.contains_key(&job);
        if fits {
            tokens.insert(job, token);
        }
        fits
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, LocalToken>> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ConnectionTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionTokens({})", self.lock().len())
    }
}
