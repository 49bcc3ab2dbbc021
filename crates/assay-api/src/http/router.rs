//! The router, built from the list of endpoints.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use tower::ServiceBuilder;
use tower::util::option_layer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use super::auth::{Authentication, authenticate};
use super::cors::cors;
use super::endpoint_policy::{EndpointPolicy, apply_endpoint_policy};
use super::error::{ApiError, ErrorCode};
use super::idempotency::idempotency;
use super::observe::observe;
use crate::AppState;
use crate::routes::{self, AccessRules};
use crate::state::App;
use crate::worker_protocol;

/// Minimum size of a response that is compressed, in bytes.
const MIN_COMPRESSED_BYTES: u64 = 1024;
/// Allowance for the other parts of a form besides the file, in bytes.
const FORM_OVERHEAD: u64 = 1 << 20;

/// Creates the router with every endpoint, at the base URL and under `/v1`.
pub fn router(state: AppState) -> Router {
    let app: App = Arc::new(state);
    let (endpoints, declared) = (routes::list(), Arc::new(routes::declared_api()));
    let authentication = Authentication { app: app.clone(), rules: Arc::new(AccessRules::new(&endpoints)) };
    let settings = Arc::new(app.settings.clone());
    let mut index = None;
    let routes = endpoints.into_iter().fold(Router::new(), |router, endpoint| {
        let handler = (endpoint.handler)();
        let handler = if endpoint.method == "POST" && endpoint.needs_key {
            handler.route_layer(from_fn_with_state(app.clone(), idempotency))
        } else {
            handler
        };
        // The endpoints that serve the document are among those that it does not describe.
        let handler = if endpoint.documented { handler } else { handler.layer(Extension(Arc::clone(&declared))) };
        let policy = EndpointPolicy::of(&endpoint, &declared.document.paths, &settings);
        let handler = handler.route_layer(from_fn(move |request: Request, next: Next| {
            apply_endpoint_policy(policy.clone(), request, next)
        }));
        if (endpoint.method, endpoint.path) == ("GET", "/") {
            index = Some(handler.clone());
        }
        router.route(endpoint.path, handler)
    });
    let limit = usize::try_from(app.settings.uploads.max_bytes.saturating_add(FORM_OVERHEAD)).unwrap_or(usize::MAX);
    Router::new()
        .nest("/v1", routes.clone())
        // A base address may be written with a final slash.
        .route("/v1/", index.unwrap_or_default())
        .merge(routes)
        .merge(worker_protocol::routes())
        .fallback(async || ApiError::new(ErrorCode::NotFound, "there is nothing at this path"))
        .method_not_allowed_fallback(method_not_allowed)
        // One service builder: separate layers would each cost an allocation per request.
        .layer(
            ServiceBuilder::new()
                .layer(from_fn_with_state(app.clone(), observe))
                .layer(CompressionLayer::new().compress_when(worth_compressing()))
                .layer(CatchPanicLayer::custom(panicked))
                .layer(option_layer(cors(&app.settings)))
                .layer(from_fn_with_state(authentication, authenticate))
                // Inside, so that the response to a panic has the rate limit headers too.
                .layer(CatchPanicLayer::custom(panicked))
                .layer(DefaultBodyLimit::max(limit)),
        )
        .with_state(app)
}

/// Responds to an unsupported method. axum adds `Allow`, which is the response to OPTIONS.
async fn method_not_allowed(method: Method) -> Response {
    match method {
        Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        _ => ApiError::new(ErrorCode::MethodNotAllowed, "this path does not support this method").into_response(),
    }
}

/// Excludes event streams, evidence, which is already compressed, and scripts, which are compressed once.
fn worth_compressing() -> impl Predicate {
    let evidence = NotForContentType::const_new("application/octet-stream");
    let archive = NotForContentType::const_new("application/zip");
    let video = NotForContentType::const_new("video/");
    let script = NotForContentType::const_new("text/javascript");
    SizeAbove::new(MIN_COMPRESSED_BYTES)
        .and(NotForContentType::SSE)
        .and(NotForContentType::IMAGES)
        .and(evidence)
        .and(archive)
        .and(video)
        .and(script)
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    tracing::error!("a handler panicked");
    ApiError::new(ErrorCode::Internal, "an internal error occurred; include the request id when you report it")
        .into_response()
}
