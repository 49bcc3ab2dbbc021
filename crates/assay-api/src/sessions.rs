//! Sessions of browsers: the secret in a cookie that scripts can't read, and the token that a page shows with each change,
//! so that another site's page, for which the browser sends the cookie too, can change nothing.

use std::fmt::Write as _;

use assay_model::Entropy;
use assay_store::SessionHash;
use axum::http::{HeaderMap, HeaderValue, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::ApiSettings;

/// The header of the token.
pub(crate) const CSRF_HEADER: &str = "x-csrf-token";
const COOKIE: &str = "assay_session";
const SECRET_BYTES: usize = 32;
/// The two things made of the secret say nothing about each other, nor about it.
const KEPT: &[u8] = b"assay session, as it is kept\0";
const TOKEN: &[u8] = b"assay session, against csrf_rejection requests\0";

/// What a browser's cookie holds: a text of hexadecimal digits. Prints nowhere.
pub(crate) struct SessionSecret(String);

impl SessionSecret {
    pub(crate) fn new(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; SECRET_BYTES];
        entropy.fill(&mut bytes);
        Self(hex(&bytes))
    }

    /// That of a request, if there is one. Of several cookies of that name, the first counts.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, secret) = pairs.find(|(name, _)| *name == COOKIE)?;
        let digits = secret.len() == 2 * SECRET_BYTES && secret.bytes().all(|byte| byte.is_ascii_hexdigit());
        digits.then(|| Self(secret.to_owned()))
    }

    /// What the records keep of it.
    pub(crate) fn hash(&self) -> SessionHash {
        Sha256::new().chain_update(KEPT).chain_update(&self.0).finalize().into()
    }

    /// What a page shows with each change.
    pub(crate) fn token(&self) -> String {
        hex(&Sha256::new().chain_update(TOKEN).chain_update(&self.0).finalize())
    }

    /// Whether the request shows the token.
    pub(crate) fn is_shown_in(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(CSRF_HEADER).map(HeaderValue::as_bytes).unwrap_or_default();
        shown.ct_eq(self.token().as_bytes()).into()
    }

    /// The cookie that a browser keeps for `seconds`.
    pub(crate) fn cookie(&self, settings: &ApiSettings, seconds: u64) -> Option<HeaderValue> {
        cookie(&self.0, settings, seconds)
    }
}

/// The cookie that makes a browser forget.
pub(crate) fn no_cookie(settings: &ApiSettings) -> Option<HeaderValue> {
    cookie("", settings, 0)
}

fn cookie(value: &str, settings: &ApiSettings, seconds: u64) -> Option<HeaderValue> {
    let https = settings.public_url.as_ref().is_some_and(|url| url.starts_with("https://"));
    let secure = if https { "; Secure" } else { "" };
    let text = format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
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
    fn the_token_is_not_what_is_kept() {
        let secret = SessionSecret("5f".repeat(32));
        assert_ne!(secret.token(), hex(&secret.hash()));
        let shown = |token: &str| {
            let header = (axum::http::HeaderName::from_static(CSRF_HEADER), HeaderValue::from_str(token).unwrap());
            secret.is_shown_in(&[header].into_iter().collect())
        };
        assert!(shown(&secret.token()));
        assert!(!shown("") && !shown(&"0".repeat(64)) && !secret.is_shown_in(&HeaderMap::new()));
    }
}
