//! Browser sessions: a secret in a cookie that scripts cannot read, and a CSRF token that a page sends with each
//! change, so that a page of another site, for which the browser sends the cookie too, cannot change anything.

use assay_model::{Entropy, from_hex, to_hex};
use assay_store::SessionHash;
use axum::http::{HeaderMap, HeaderValue, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::ApiSettings;
use crate::http::ApiError;

/// The header with the CSRF token.
pub(crate) const CSRF_HEADER: &str = "x-csrf-token";
/// Name of the cookie. Behind https it has a prefix with which browsers take it only from this host.
const COOKIE: &str = "assay_session";
const HOST_COOKIE: &str = "__Host-assay_session";
const SECURE_COOKIE: &str = "__Secure-assay_session";
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

    /// Returns the secret in a request's cookies, if there is one.
    ///
    /// # Errors
    /// UNAUTHORIZED if there are several: a neighbouring host may have planted one, and nothing shows which.
    pub(crate) fn of(headers: &HeaderMap, settings: &ApiSettings) -> Result<Option<Self>, ApiError> {
        let CookieScope { name: ours, .. } = CookieScope::of(settings);
        // Lines that are no text hide no cookie.
        let cookies = headers.get_all(header::COOKIE).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let secrets: Vec<String> = cookies
            .flat_map(|line| {
                let pairs = line.split(';').filter_map(|pair| pair.trim().split_once('='));
                let own = pairs.filter(|(name, _)| name.trim() == ours).map(|(_, secret)| secret.to_owned());
                own.collect::<Vec<_>>()
            })
            .collect();
        match secrets.as_slice() {
            [] => Ok(None),
            [secret] => Ok(from_hex::<SECRET_BYTES>(secret).map(|_| Self(secret.clone()))),
            several => Err(several_cookies(several.len(), ours, settings)),
        }
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

/// Name and path of the session cookie.
struct CookieScope<'s> {
    name: &'static str,
    path: &'s str,
    is_secure: bool,
}

impl<'s> CookieScope<'s> {
    fn of(settings: &'s ApiSettings) -> Self {
        let is_secure = settings.public_url.as_ref().is_some_and(|url| url.starts_with("https://"));
        match (is_secure, settings.base_path()) {
            (true, "") => Self { name: HOST_COOKIE, path: "/", is_secure },
            (true, path) => Self { name: SECURE_COOKIE, path, is_secure },
            (false, _) => Self { name: COOKIE, path: "/", is_secure },
        }
    }
}

/// Returns the name of the session cookie.
pub(crate) fn cookie_name(settings: &ApiSettings) -> &'static str {
    CookieScope::of(settings).name
}

/// Returns the error for a request with several session cookies, which also removes the one that the service has set.
fn several_cookies(count: usize, name: &str, settings: &ApiSettings) -> ApiError {
    let message = format!(
        "you are signed out: the browser sent {count} cookies named {name}, and one of them may be planted by another \
         site; delete the cookies of this site and of its parent domains, and sign in again"
    );
    let error = ApiError::unauthorized(&message);
    match expired_cookie(settings) {
        Some(expired) => error.with_header(header::SET_COOKIE, expired),
        None => error,
    }
}

/// Returns a `Set-Cookie` value that deletes the cookie.
pub(crate) fn expired_cookie(settings: &ApiSettings) -> Option<HeaderValue> {
    cookie("", settings, 0)
}

fn cookie(value: &str, settings: &ApiSettings, seconds: u64) -> Option<HeaderValue> {
    let CookieScope { name, path, is_secure } = CookieScope::of(settings);
    let secure = if is_secure { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn settings(url: &str) -> ApiSettings {
        ApiSettings { public_url: Some(url.to_owned()), ..ApiSettings::default() }
    }

    fn found(cookies: &[&str], settings: &ApiSettings) -> Result<Option<String>, ApiError> {
        let line = |text: &&str| (header::COOKIE, HeaderValue::from_bytes(text.as_bytes()).unwrap());
        Ok(SessionSecret::of(&cookies.iter().map(line).collect(), settings)?.map(|secret| secret.0))
    }

    fn of(cookies: &[&str]) -> Option<String> {
        found(cookies, &ApiSettings::default()).unwrap()
    }

    /// The URL of the service, and name and path of its cookie.
    const SCOPES: [(&str, &str, &str); 6] = [
        ("http://robots.example", "assay_session", "/"),
        ("http://robots.example/assay", "assay_session", "/"),
        ("https://robots.example", "__Host-assay_session", "/"),
        ("https://robots.example/", "__Host-assay_session", "/"),
        ("https://robots.example/assay", "__Secure-assay_session", "/assay"),
        ("https://robots.example/a/b/", "__Secure-assay_session", "/a/b"),
    ];

    #[test]
    fn the_cookie_belongs_to_the_service_alone() {
        for (url, name, path) in SCOPES {
            let settings = settings(url);
            let secret = SessionSecret("5f".repeat(32));
            let cookie = secret.cookie(&settings, 9).unwrap();
            let secure = if url.starts_with("https") { "; Secure" } else { "" };
            let expected = format!("{name}={}; Path={path}; Max-Age=9; HttpOnly; SameSite=Strict{secure}", secret.0);
            assert_eq!(cookie, expected.as_str(), "{url}");
            let sent = format!("{name}={}", secret.0);
            assert_eq!(found(&[&sent], &settings).unwrap().as_ref(), Some(&secret.0), "{url}");
            let planted = format!("assay_session={}", "a0".repeat(32));
            let both = found(&[&planted, &sent], &settings);
            // Behind https, a cookie without the prefix is none of ours.
            assert_eq!(both.ok(), (name != COOKIE).then(|| Some(secret.0.clone())), "{url}");
        }
    }

    /// Cookie lines with more than one session cookie.
    const SEVERAL: [&[&str]; 6] = [
        &["assay_session=1; assay_session=2"],
        &["assay_session=1", "assay_session=2"],
        &["a=b; assay_session=; assay_session=1"],
        &["assay_session=1;assay_session=1"],
        &["assay_session =1; assay_session=2"],
        &["caf\u{e9}=1; assay_session=1", "assay_session=2"],
    ];

    #[test]
    fn a_request_with_several_session_cookies_has_no_session() {
        for cookies in SEVERAL {
            let error = found(cookies, &ApiSettings::default()).unwrap_err();
            assert!(error.message().contains("2 cookies named assay_session"), "{cookies:?}");
        }
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
