//! The origin of a form. Signing in has no session yet whose token could show that the form is ours, so the page that
//! sent it must be one of this service: otherwise another site could sign a browser in with an account of its own.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns true unless the headers say that a page of another site sent the form. Clients that are not browsers send
/// neither header.
pub(super) fn is_own(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get(FETCH_SITE).map(HeaderValue::as_bytes) {
        return matches!(site, b"same-origin" | b"none");
    }
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    match text(header::ORIGIN) {
        None => !headers.contains_key(header::ORIGIN),
        Some(origin) => origin.split_once("://").is_some_and(|(_, host)| text(header::HOST) == Some(host)),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn forms_of_other_sites_are_recognised() {
        for (headers, own) in [
            (vec![], true),
            (vec![("sec-fetch-site", "same-origin")], true),
            (vec![("sec-fetch-site", "none")], true),
            (vec![("sec-fetch-site", "cross-site"), ("origin", "http://a:1"), ("host", "a:1")], false),
            (vec![("sec-fetch-site", "same-site")], false),
            (vec![("origin", "http://a:1"), ("host", "a:1")], true),
            (vec![("origin", "http://a:2"), ("host", "a:1")], false),
            (vec![("origin", "null"), ("host", "a:1")], false),
            (vec![("origin", "null")], false),
            (vec![("origin", "http://a:1")], false),
        ] {
            let map = headers.iter().map(|&(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
            assert_eq!(is_own(&map.collect()), own, "{headers:?}");
        }
    }
}
