//! An endpoint: its method and path, its access rule, its rate class, and its handler.

use assay_model::Scope;
use axum::routing::MethodRouter;

use super::rate_class::{RateClass, default_rate};
use crate::state::App;

/// An endpoint as presented to documents and tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointInfo {
    /// `GET`, `POST`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// The path, with `{name}` for parameters; also available under `/v1`.
    pub path: &'static str,
    /// Scope that a key must have; `None` if no scope is needed.
    pub scope: Option<Scope>,
    /// True if the request needs a valid key. Without a `scope`, a key with any scope is sufficient.
    pub needs_key: bool,
    /// The rate limit that requests count against.
    pub rate: RateClass,
    /// True if the OpenAPI document describes it. The pages, the endpoints that serve the document, and the WebSocket
    /// of policies are left out.
    pub documented: bool,
    /// True if responses have an `ETag`, so that a client that has the current version gets 304.
    pub cacheable: bool,
}

/// An entry in the list of endpoints.
pub(crate) struct Endpoint {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) scope: Option<Scope>,
    pub(crate) needs_key: bool,
    pub(crate) rate: RateClass,
    /// True if responses are JSON, so that an `Accept` header that excludes it is rejected. Other endpoints examine the
    /// header themselves.
    pub(crate) json: bool,
    /// True if responses have an entity tag.
    pub(crate) cacheable: bool,
    pub(crate) documented: bool,
    /// True if responses are pages, whose addresses are paths.
    pub(crate) is_page: bool,
    /// Path of the page that clients which prefer HTML are redirected to.
    pub(crate) page: Option<&'static str>,
    pub(crate) handler: fn() -> MethodRouter<App>,
}

impl Endpoint {
    const fn new(method: &'static str, path: &'static str, handler: fn() -> MethodRouter<App>) -> Self {
        Self {
            method,
            path,
            scope: None,
            needs_key: false,
            rate: RateClass::Free,
            json: true,
            cacheable: false,
            documented: true,
            is_page: false,
            page: None,
            handler,
        }
    }

    /// Creates a GET endpoint that needs no key and responds with JSON.
    pub(super) const fn get(path: &'static str, handler: fn() -> MethodRouter<App>) -> Self {
        Self::new("GET", path, handler)
    }

    /// Creates a POST endpoint that needs no key and responds with JSON.
    pub(super) const fn post(path: &'static str, handler: fn() -> MethodRouter<App>) -> Self {
        Self::new("POST", path, handler)
    }

    /// Creates a PATCH endpoint that needs no key and responds with JSON.
    pub(super) const fn patch(path: &'static str, handler: fn() -> MethodRouter<App>) -> Self {
        Self::new("PATCH", path, handler)
    }

    /// Creates a DELETE endpoint that needs no key and responds with JSON.
    pub(super) const fn delete(path: &'static str, handler: fn() -> MethodRouter<App>) -> Self {
        Self::new("DELETE", path, handler)
    }

    /// Requires a key with this scope.
    pub(super) fn scope(self, scope: Scope) -> Self {
        Self { scope: Some(scope), ..self.any_key() }
    }

    /// Requires a key of any scope.
    pub(super) fn any_key(self) -> Self {
        Self { needs_key: true, rate: default_rate(self.method), ..self }
    }

    /// Counts requests against a rate limit other than the method's default.
    pub(super) const fn rate(self, rate: RateClass) -> Self {
        Self { rate, ..self }
    }

    /// Declares that responses are not, or not always, JSON.
    pub(super) const fn not_json(self) -> Self {
        Self { json: false, ..self }
    }

    /// Adds entity tags to the responses.
    pub(super) const fn cacheable(self) -> Self {
        Self { cacheable: true, ..self }
    }

    /// Redirects clients that prefer HTML to the page at this path.
    pub(super) const fn or_page(self, page: &'static str) -> Self {
        Self { page: Some(page), ..self }
    }

    /// Declares that responses are HTML.
    pub(super) const fn html(self) -> Self {
        Self { json: false, is_page: true, ..self }
    }

    /// Turns the endpoint into a page: HTML, counted as such, outside the OpenAPI document. It identifies the browser
    /// itself, because a visitor who is not signed in is redirected to the form for signing in instead of getting an
    /// error.
    pub(super) const fn into_page(self) -> Self {
        Self { documented: false, rate: RateClass::Pages, ..self.html() }
    }

    /// Returns the description of the endpoint for documents and tests.
    pub(crate) const fn info(&self) -> EndpointInfo {
        let Self { method, path, scope, needs_key, rate, documented, cacheable, .. } = *self;
        EndpointInfo { method, path, scope, needs_key, rate, documented, cacheable }
    }
}
