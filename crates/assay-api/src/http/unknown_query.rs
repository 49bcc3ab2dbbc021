//! The warning about unknown query parameters: the response names them in a `Warning` header, since a misspelt filter
//! looks like one that matches everything. Rejecting them would break clients of `/v1`.

use std::collections::BTreeSet;

use axum::http::{HeaderValue, Uri, header};
use axum::response::Response;

/// Maximum number of parameters in the warning.
const MAX_NAMED: usize = 5;
/// Maximum length of a name in the warning, in characters.
const MAX_CHARS: usize = 40;

/// Adds the header if the query has parameters that are not among `known`.
pub(super) fn warn(response: &mut Response, uri: &Uri, known: &BTreeSet<String>) {
    let Some(query) = uri.query().filter(|query| !query.is_empty()) else { return };
    let names: BTreeSet<String> = form_urlencoded::parse(query.as_bytes())
        .map(|(name, _)| name.into_owned())
        .filter(|name| !known.contains(name))
        .map(|name| name.chars().take(MAX_CHARS).collect())
        .take(MAX_NAMED)
        .collect();
    if names.is_empty() {
        return;
    }
    // Names are untrusted, and are placed in quotation marks.
    let names: Vec<String> =
        names.iter().map(|name| form_urlencoded::byte_serialize(name.as_bytes()).collect()).collect();
    let text = format!("299 assay \"unknown query parameters, without effect: {}\"", names.join(", "));
    if let Ok(value) = HeaderValue::from_str(&text) {
        response.headers_mut().insert(header::WARNING, value);
    }
}
