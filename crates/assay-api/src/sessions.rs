//! Browser sessions: a secret in a cookie that scripts cannot read, and a CSRF token that a page sends with each
//! change, so that a page of another site, for which the browser sends the cookie too, cannot change anything.

use assay_model::{Entropy, from_hex, to_hex};
use assay_store::SessionHash;
use axum::http::{HeaderMap, HeaderValue, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::ApiSettings;

/// The header with the CSRF token.
pub(crate) const CSRF_HEADER: &str = "x-csrf-token";
const COOKIE: &str = "assay_session";
const SECRET_BYTES: usize = 32;
// Domain separation: the two values derived from the secret reveal nothing about each other or about the secret.
const KEPT: &[u8] = b"assay session, as it is kept\0";
const TOKEN: &[u8] = b"assay session, against forged requests\0";

/// The value of a session cookie: a string of hexadecimal digits, never printed.
pub(crate) struct SessionSecret(String);

impl SessionSecret {
    pub(crate) fn new(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; SECRET_BYTES];
        entropy.fill(&mut bytes);
        Self(to_hex(&bytes))
    }

    /// Returns the secret in a request's cookies, if there is one; if there are several, the first.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, secret) = pairs.find(|(name, _)| *name == COOKIE)?;
        from_hex::<SECRET_BYTES>(secret).map(|_| Self(secret.to_owned()))
    }

    /// Returns the hash that the records store.
    pub(crate) fn hash(&self) -> SessionHash {
        Sha256::new().chain_update(KEPT).chain_update(&self.0).finalize().into()
    }

    /// Returns the CSRF token.
    pub(crate) fn token(&self) -> String {
        to_hex(&Sha256::new().chain_update(TOKEN).chain_update(&self.0).finalize())
    }

    /// Returns whether the request carries the CSRF token.
    pub(crate) fn has_token(&self, headers: &HeaderMap) -> bool {
        self.is_token(headers.get(CSRF_HEADER).map(HeaderValue::as_bytes).unwrap_or_default())
    }

    /// Returns true if `shown` is the CSRF token.
    pub(crate) fn is_token(&self, shown: &[u8]) -> bool {
        shown.ct_eq(self.token().as_bytes()).into()
    }

    /// Returns a `Set-Cookie` value that a browser keeps for `seconds`.
    pub(crate) fn cookie(&self, settings: &ApiSettings, seconds: u64) -> Option<HeaderValue> {
        cookie(&self.0, settings, seconds)
    }
}

/// Returns a `Set-Cookie` value that deletes the cookie.
pub(crate) fn expired_cookie(settings: &ApiSettings) -> Option<HeaderValue> {
    cookie("", settings, 0)
}

fn cookie(value: &str, settings: &ApiSettings, seconds: u64) -> Option<HeaderValue> {
    let https = settings.public_url.as_ref().is_some_and(|url| url.starts_with("https://"));
    let secure = if https { "; Secure" } else { "" };
    let text = format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn of(cookies: &[&str]) -> Option<String> {
        let line = |text: &&str| (header::COOKIE, HeaderValue::from_str(text).unwrap());
        SessionSecret::of(&cookies.iter().map(line).collect()).map(|secret| secret.0)
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let secret = "5f".repeat(32);
        let ours = format!("assay_session={secret}");
        assert_eq!(of(&[&format!("a=b; {ours};c=d")]), Some(secret.clone()));
        assert_eq!(of(&["a=b", &ours]), Some(secret.clone()));
        for wrong in ["", "assay_session", "assay_session=", "xassay_session=1", &ours[..40], &format!("{ours}0")] {
            assert_eq!(of(&[wrong]), None, "{wrong}");
        }
    }

    #[test]
    fn the_token_differs_from_the_stored_hash() {
        let secret = SessionSecret("5f".repeat(32));
        assert_ne!(secret.token(), to_hex(&secret.hash()));
        let shown = |token: &str| {
            let header = (axum::http::HeaderName::from_static(CSRF_HEADER), HeaderValue::from_str(token).unwrap());
            secret.has_token(&[header].into_iter().collect())
        };
        assert!(shown(&secret.token()));
        assert!(!shown("") && !shown(&"0".repeat(64)) && !secret.has_token(&HeaderMap::new()));
    }
}
