//! `GET /docs`: the OpenAPI document as a page, rendered by Scalar's API reference. Its script is part of the program
//! (the crate `scalar_api_reference`), and nothing is loaded from another host.

use std::io::Write as _;
use std::sync::LazyLock;

use assay_model::Sha256Digest;
use axum::extract::Path;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::http::{ApiError, accepts_encoding};

/// Only the bundled scripts may run; the renderer writes style elements and attributes.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Revalidated on each use, because the page names the script of this version.
const ASK_AGAIN: &str = "no-cache";
/// Cached indefinitely, because the script's name changes with its content.
const FOREVER: &str = "public, max-age=31536000, immutable";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

const INDEX: &str = include_str!("docs/index.html");
const START: &str = include_str!("docs/start.js");

/// Compressed once, because it has four megabytes and every visitor without a cached copy requests it.
static RENDERER: LazyLock<Option<RendererScript>> = LazyLock::new(RendererScript::load);

/// The renderer's script.
struct RendererScript {
    /// `scalar-HASH.js`.
    name: String,
    plain: Bytes,
    gzip: Bytes,
}

impl RendererScript {
    fn load() -> Option<Self> {
        let script = scalar_api_reference::get_asset("scalar.js")?;
        let name = format!("scalar-{:.16}.js", Sha256Digest::of(&script));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&script).ok()?;
        Some(Self { name, plain: script.into(), gzip: encoder.finish().ok()?.into() })
    }

    /// Returns a response that shares the script's memory with all others, because anyone may request it and read it
    /// slowly.
    fn response(&self, headers: &HeaderMap) -> Response {
        let described =
            [(header::CONTENT_TYPE, JAVASCRIPT), (header::CACHE_CONTROL, FOREVER), (header::VARY, "accept-encoding")];
        if accepts_encoding(headers, "gzip") {
            return (described, [(header::CONTENT_ENCODING, "gzip")], self.gzip.clone()).into_response();
        }
        (described, self.plain.clone()).into_response()
    }
}

/// Redirects to the page. The target is relative, so that it also works under `/v1` and behind a proxy's prefix.
pub(in crate::routes) async fn index() -> Redirect {
    Redirect::to("docs/index.html")
}

/// Redirects from `/docs/` to the page in the same folder.
pub(in crate::routes) async fn folder() -> Redirect {
    Redirect::to("index.html")
}

pub(in crate::routes) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, ApiError> {
    let renderer = tokio::task::spawn_blocking(|| RENDERER.as_ref()).await;
    let renderer = renderer.map_err(|e| ApiError::internal("the renderer of the documents panicked", &e))?;
    let renderer = renderer.ok_or_else(|| ApiError::not_found("renderer"))?;
    let page = |kind: &'static str, text: String| {
        let described = [
            (header::CONTENT_TYPE, kind),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::CACHE_CONTROL, ASK_AGAIN),
        ];
        (described, text).into_response()
    };
    match name.as_str() {
        "index.html" => Ok(page("text/html; charset=utf-8", INDEX.replace("{script}", &renderer.name))),
        "start.js" => Ok(page(JAVASCRIPT, START.to_owned())),
        other if other == renderer.name => Ok(renderer.response(&headers)),
        _ => Err(ApiError::not_found("page")),
    }
}
