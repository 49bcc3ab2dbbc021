//! Content negotiation: the `Accept` and `Accept-Encoding` headers.

use axum::http::{HeaderMap, header};

use super::error::{ApiError, ErrorCode};

/// Returns an error if the client does not accept JSON.
pub(super) fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    if accepts(headers, "application/json") {
        return Ok(());
    }
    let message = "the response is application/json, which the Accept header excludes";
    Err(ApiError::new(ErrorCode::NotAcceptable, message))
}

/// Returns whether the client accepts this content coding. Without an `Accept-Encoding` header it accepts none.
pub(crate) fn accepts_encoding(headers: &HeaderMap, coding: &str) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|v| v.to_str().ok());
    let offers: Vec<&str> = values.flat_map(|value| value.split(',')).collect();
    let quality = |wanted: &str| offers.iter().find_map(|offer| quality_of(offer, wanted));
    [coding, "*"].into_iter().find_map(quality).is_some_and(|q| q > 0.0)
}

/// Returns whether the client accepts this media type.
pub(crate) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let offers = media_ranges(headers);
    // Without the header, every type is accepted.
    offers.is_empty() || quality_of_kind(&offers, kind) > 0.0
}

/// Returns true if the client names HTML and values it above JSON, as browsers do.
pub(super) fn prefers_html(headers: &HeaderMap) -> bool {
    let offers = media_ranges(headers);
    let html = offers.iter().find_map(|offer| quality_of(offer, "text/html")).unwrap_or_default();
    html > quality_of_kind(&offers, "application/json")
}

fn media_ranges(headers: &HeaderMap) -> Vec<&str> {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|v| v.to_str().ok());
    values.flat_map(|value| value.split(',')).collect()
}

/// Returns the quality of a media type; the most specific range decides (RFC 9110, 12.5.1).
fn quality_of_kind(offers: &[&str], kind: &str) -> f64 {
    let quality = |wanted: &str| offers.iter().find_map(|offer| quality_of(offer, wanted));
    let family = kind.split_once('/').map(|(family, _)| format!("{family}/*")).unwrap_or_default();
    [kind, &family, "*/*"].into_iter().find_map(quality).unwrap_or_default()
}

fn quality_of(offer: &str, wanted: &str) -> Option<f64> {
    let mut parts = offer.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case(wanted) {
        return None;
    }
    let q = parts.find_map(|p| p.strip_prefix("q=").or_else(|| p.strip_prefix("Q=")));
    Some(q.map_or(1.0, |text| text.parse().unwrap_or(0.0)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn accepts_encoding_evaluates_qualities() {
        for (accept, takes) in [
            ("gzip, deflate, br, zstd", true),
            ("GZIP;q=0.5", true),
            ("*", true),
            ("br, *;q=0", false),
            ("gzip;q=0, *", false),
            ("identity", false),
        ] {
            let headers = [(header::ACCEPT_ENCODING, accept.parse().unwrap())].into_iter().collect();
            assert_eq!(accepts_encoding(&headers, "gzip"), takes, "{accept:?}");
        }
        assert!(!accepts_encoding(&HeaderMap::new(), "gzip"));
    }

    #[test]
    fn accepts_evaluates_ranges_and_qualities() {
        for (accept, takes) in [
            ("*/*", true),
            ("application/json", true),
            ("text/html, application/xhtml+xml, */*;q=0.8", true),
            ("Application/*; q=0.1", true),
            ("text/html", false),
            ("application/json;q=0, */*", false),
            ("image/*, text/*", false),
            ("", false),
        ] {
            let headers = [(header::ACCEPT, accept.parse().unwrap())].into_iter().collect();
            assert_eq!(super::accepts(&headers, "application/json"), takes, "{accept:?}");
        }
        assert!(super::accepts(&HeaderMap::new(), "application/json"));
    }

    #[test]
    fn only_clients_that_name_html_prefer_it() {
        for (accept, prefers) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8", true),
            ("text/html", true),
            ("text/html;q=0.5, application/json", false),
            ("text/html, application/json", false),
            ("text/html;q=0", false),
            ("text/*, */*;q=0.1", false),
            ("*/*", false),
            ("", false),
        ] {
            let headers = [(header::ACCEPT, accept.parse().unwrap())].into_iter().collect();
            assert_eq!(prefers_html(&headers), prefers, "{accept:?}");
        }
        assert!(!prefers_html(&HeaderMap::new()));
    }
}
