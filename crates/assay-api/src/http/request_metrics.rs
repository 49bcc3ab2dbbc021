//! Counters and timings of requests. Every label has few values, regardless of what clients send.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::response::Response;

use super::error::ApiError;

/// The labels of a request.
pub(super) struct RequestMetrics {
    method: &'static str,
    route: String,
}

impl RequestMetrics {
    pub(super) fn of(request: &Request) -> Self {
        let method = match *request.method() {
            Method::GET => "GET",
            Method::POST => "POST",
            Method::DELETE => "DELETE",
            Method::HEAD => "HEAD",
            Method::OPTIONS => "OPTIONS",
            _ => "other",
        };
        // The route as in the list of endpoints; all unknown paths share one value.
        let matched = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        let route = matched.map_or("other", |path| path.strip_prefix("/v1").unwrap_or(path));
        Self { method, route: if route.is_empty() { "/".to_owned() } else { route.to_owned() } }
    }

    pub(super) fn record(self, response: &Response, start: Instant) {
        let Self { method, route } = self;
        let status = response.status().as_str().to_owned();
        if let Some(error) = response.extensions().get::<Arc<ApiError>>() {
            metrics::counter!("assay_refusals_total", "code" => error.name(), "route" => route.clone()).increment(1);
        }
        metrics::histogram!("assay_http_request_duration_seconds", "route" => route.clone()).record(start.elapsed());
        metrics::counter!("assay_http_requests_total", "method" => method, "route" => route, "status" => status)
            .increment(1);
    }
}
