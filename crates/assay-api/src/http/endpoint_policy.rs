//! The per-endpoint policy from the list of endpoints: required scope, content negotiation, envelope and entity tag.
//! One layer for all, since each layer costs a few allocations per request.

use std::collections::BTreeSet;
use std::sync::Arc;

use assay_model::Scope;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use utoipa::openapi::path::Paths;

use super::caller::Caller;
use super::error::ApiError;
use super::{accept, cacheable, envelope, unknown_query};
use crate::ApiSettings;
use crate::links::{ConnectionAddresses, RequestLinks};
use crate::routes::{Endpoint, query_parameters};

/// The policy of an endpoint, from the list.
#[derive(Debug, Clone)]
pub(super) struct EndpointPolicy {
    scope: Option<Scope>,
    needs_key: bool,
    json: bool,
    cacheable: bool,
    /// Query parameters that the endpoint knows; `None` if the OpenAPI document does not list them.
    query: Option<Arc<BTreeSet<String>>>,
    /// True if responses are pages, whose addresses are paths.
    is_page: bool,
    settings: Arc<ApiSettings>,
    /// Path of the page for clients that prefer HTML.
    page: Option<Arc<str>>,
}

impl EndpointPolicy {
    pub(super) fn of(endpoint: &Endpoint, declared: &Paths, settings: &Arc<ApiSettings>) -> Self {
        let query = query_parameters(endpoint, declared).map(Arc::new);
        let Endpoint { scope, needs_key, json, cacheable, is_page, .. } = *endpoint;
        let page = endpoint.page.map(|path| format!("{}{path}", settings.base_path()).into());
        Self { scope, needs_key, json, cacheable, query, is_page, settings: Arc::clone(settings), page }
    }

    /// Checks the request. Returns whether the response is to be wrapped in an envelope.
    fn check(&self, request: &Request) -> Result<bool, ApiError> {
        if self.needs_key {
            // `authenticate` already rejects requests without a key; this is a second line of defence.
            let caller = request.extensions().get::<Caller>();
            let caller = caller.ok_or_else(|| ApiError::unauthorized("an API key is needed"))?;
            self.scope.map_or(Ok(()), |scope| caller.require(scope))?;
        }
        if !self.json {
            return Ok(false);
        }
        accept::require_json(request.headers())?;
        envelope::is_wanted(request.uri())
    }
}

pub(super) async fn apply_endpoint_policy(policy: EndpointPolicy, request: Request, next: Next) -> Response {
    let page = policy.page.as_deref().filter(|_| accept::prefers_html(request.headers()));
    if let Some(page) = page {
        return ([(header::VARY, "accept")], Redirect::to(page)).into_response();
    }
    let wraps = match policy.check(&request) {
        Ok(wraps) => wraps,
        Err(error) => return error.into_response(),
    };
    let known: Vec<HeaderValue> = match policy.cacheable {
        true => request.headers().get_all(header::IF_NONE_MATCH).iter().cloned().collect(),
        false => Vec::new(),
    };
    let has_query = request.uri().query().is_some();
    let asked = policy.query.filter(|_| has_query).map(|known| (known, request.uri().clone()));
    let connection = request.extensions().get::<Option<ConnectionAddresses>>().and_then(Option::as_ref);
    let links = RequestLinks::new(&policy.settings, policy.is_page, connection, request.headers(), request.uri());
    let (mut response, warning) = links.within(next.run(request)).await;
    if wraps {
        response = envelope::wrap(response).await;
    }
    if let Some((known, uri)) = asked {
        unknown_query::warn(&mut response, &uri, &known);
    }
    if let Some(warning) = warning {
        response.headers_mut().append(header::WARNING, warning);
    }
    if policy.page.is_some() {
        response.headers_mut().append(header::VARY, HeaderValue::from_static("accept"));
    }
    if policy.cacheable { cacheable::with_etag(response, &known).await } else { response }
}
