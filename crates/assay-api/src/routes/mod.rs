//! One endpoint a file, and the table of them all: the router, the check of scopes and the tests are made from it.

mod health;
mod index;
mod present;
mod query;
mod scenario;
mod scenarios;
mod verify_cancel;
mod verify_create;
mod verify_get;
mod verify_list;

use assay_model::Scope;
use axum::routing::{MethodRouter, get, post};

use crate::state::App;

/// An endpoint, as documents and tests see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointInfo {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// With `{name}` for parameters; the same exists under `/v1`.
    pub path: &'static str,
    /// What a key needs; `None` needs no key.
    pub scope: Option<Scope>,
}

/// All endpoints.
#[must_use]
pub fn endpoints() -> Vec<EndpointInfo> {
    let info = |e: &Endpoint| EndpointInfo { method: e.method, path: e.path, scope: e.scope };
    table().iter().map(info).collect()
}

pub(crate) struct Endpoint {
    method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) scope: Option<Scope>,
    pub(crate) handler: fn() -> MethodRouter<App>,
}

pub(crate) fn table() -> [Endpoint; 9] {
    let read = Some(Scope::Read);
    let verify = Some(Scope::Verify);
    let row = |method, path, scope, handler| Endpoint { method, path, scope, handler };
    [
        row("GET", "/", None, || get(index::handle)),
        row("GET", "/healthz", None, || get(health::alive)),
        row("GET", "/readyz", None, || get(health::ready)),
        row("GET", "/scenarios", read, || get(scenarios::handle)),
        row("GET", "/scenarios/{id}", read, || get(scenario::handle)),
        row("POST", "/verify", verify, || post(verify_create::handle)),
        row("GET", "/verify", read, || get(verify_list::handle)),
        row("GET", "/verify/{job_id}", read, || get(verify_get::handle)),
        row("POST", "/verify/{job_id}/cancel", verify, || post(verify_cancel::handle)),
    ]
}

/// Whether this path needs no key.
pub(crate) fn is_public(path: &str) -> bool {
    let path = match path.strip_prefix("/v1") {
        Some("") => "/",
        Some(rest) if rest.starts_with('/') => rest,
        _ => path,
    };
    matches!(path, "/" | "/healthz" | "/readyz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_paths_are_those_of_the_table() {
        for endpoint in table() {
            assert_eq!(is_public(endpoint.path), endpoint.scope.is_none(), "{}", endpoint.path);
        }
        for (path, public) in [("/v1", true), ("/v1/healthz", true), ("/v1healthz", false), ("/v1/v1", false)] {
            assert_eq!(is_public(path), public, "{path}");
        }
    }
}
