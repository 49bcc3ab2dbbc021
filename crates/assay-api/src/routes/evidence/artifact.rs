//! `GET /artifacts/{job_id}/{sha256}/{name}`: a file of evidence, at a signed URL. It needs no key: anyone with the URL
//! can read the file until the URL expires. Artifacts contain output of untrusted programs, so a browser may only play
//! videos and save everything else, and must not execute anything.

use assay_model::{JobId, Sha256Digest};
use assay_store::BlobError;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::blob_error::storage_unavailable;
use crate::http::range::{RequestedRange, parse_range};
use crate::http::{ApiError, ErrorCode};
use crate::routes::erased;
use crate::signed_urls::LIFETIME;
use crate::state::App;

/// Header of browsers: the relation between the page that requests a file, and the file's host.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The signature in the query, which covers the path.
#[derive(Debug, Deserialize)]
pub(in crate::routes) struct Signature {
    #[serde(deserialize_with = "as_written")]
    pub(in crate::routes) expires: i64,
    pub(in crate::routes) signature: String,
}

/// Parses the expiry only in the form that the service writes, without `+` or leading zeros, so that a signed URL has
/// exactly one text.
fn as_written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let seconds = text.parse::<i64>().ok().filter(|seconds| seconds.to_string() == text);
    seconds.ok_or_else(|| D::Error::custom("not a time as this service writes it"))
}

/// Download a file of evidence
///
/// The URLs are given in a job's `evidence`, `log_url` and `video_url`. Each URL is signed, is valid for ten minutes
/// and needs no key, so that a browser or a viewer can open it. Range requests are supported. The file's bytes have the
/// SHA-256 that the URL contains.
#[utoipa::path(
    get, path = "/artifacts/{job_id}/{sha256}/{name}", operation_id = "artifact", tag = "verify",
    params(
        ("job_id" = uuid::Uuid, Path, description = "Id of the job that the evidence belongs to"),
        ("sha256" = String, Path, description = "SHA-256 of the file, which is also its ETag", pattern = "^[0-9a-f]{64}$"),
        ("name" = String, Path, description = "File name for downloads", min_length = 1),
        ("expires" = i64, Query, description = "Expiry of the URL, in Unix seconds", minimum = 0),
        ("signature" = String, Query, description = "Signature of the service; the job object contains the signed URLs", pattern = "^[0-9a-f]{64}$"),
    ),
    responses(
        (status = 200, description = "The file; supports Range, If-Range and If-None-Match", content_type = "application/octet-stream"),
        (status = 206, description = "The bytes of the range", content_type = "application/octet-stream"),
        (status = 304, description = "The client already has the file"),
        (status = 307, description = "The file is in an object store, at this temporary address"),
        (status = 403), (status = 404), (status = 410), (status = 416),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Path((job, sha256, name)): Path<(String, String, String)>,
    query: Result<Query<Signature>, QueryRejection>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let Ok(Query(Signature { expires, signature })) = query else { return Err(unsigned()) };
    let job: JobId = job.parse().map_err(|_| unsigned())?;
    if !app.signer.is_valid(&format!("/artifacts/{job}/{sha256}/{name}"), expires, &signature) {
        return Err(unsigned());
    }
    if expires <= app.clock.now().as_second() {
        return Err(ApiError::new(
            ErrorCode::Forbidden,
            "this URL has expired; request the job again to get a new one",
        ));
    }
    let sha256: Sha256Digest = sha256.parse().map_err(|_| ApiError::not_found("artifact"))?;
    if let Some(elsewhere) = redirect(&app, (job, sha256, &name), &request).await? {
        return Ok(elsewhere);
    }
    let length = match app.blobs.size(job, sha256).await {
        Err(BlobError::Missing) => return Err(missing(&app, job).await),
        size => size.map_err(|error| failed(&app, error))?,
    };
    let etag = format!("\"{sha256}\"");
    let mut response = Response::builder();
    if let Some(headers) = response.headers_mut() {
        describe(headers, &etag, &name);
    }
    let built = |response: axum::http::response::Builder, body| {
        response.body(body).map_err(|e| ApiError::internal("a response with an artifact", &e))
    };
    if text(&request, &header::IF_NONE_MATCH).is_some_and(|known| matches_etag(known, &etag)) {
        return built(response.status(StatusCode::NOT_MODIFIED), Body::empty());
    }
    // A range of a file other than the one the client has partly read would not fit.
    let fits = text(&request, &header::IF_RANGE).is_none_or(|known| known == etag);
    let range = match parse_range(text(&request, &header::RANGE).filter(|_| fits), length) {
        RequestedRange::Nothing => {
            let all =
                HeaderValue::from_str(&format!("bytes */{length}")).unwrap_or(HeaderValue::from_static("bytes */*"));
            let message = format!("the file has {length} bytes, none of them in this range");
            return Err(ApiError::new(ErrorCode::RangeNotSatisfiable, message).with_header(header::CONTENT_RANGE, all));
        }
        RequestedRange::All => 0..length,
        RequestedRange::Part(part) => {
            let content = format!("bytes {}-{}/{length}", part.start, part.end - 1);
            response = response.status(StatusCode::PARTIAL_CONTENT).header(header::CONTENT_RANGE, content);
            part
        }
    };
    let response = response.header(header::CONTENT_LENGTH, range.end - range.start);
    built(response, body(&app, job, sha256, range).await?)
}

async fn body(app: &App, job: JobId, sha256: Sha256Digest, range: std::ops::Range<u64>) -> Result<Body, ApiError> {
    if range.is_empty() {
        return Ok(Body::empty());
    }
    Ok(Body::from_stream(app.blobs.read(job, sha256, range).await.map_err(|error| failed(app, error))?))
}

/// Returns the answer that sends the client to the object store, if it may download there.
///
/// The service's own pages get the bytes from here: their content security policy knows no other host. So do requests
/// with a key, which a client might send on to the store, and which clients of earlier releases do not expect to be
/// redirected.
async fn redirect(
    app: &App,
    (job, sha256, name): (JobId, Sha256Digest, &str),
    request: &HeaderMap,
) -> Result<Option<Response>, ApiError> {
    if text(request, &SEC_FETCH_SITE) == Some("same-origin") || request.contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    let address = app.blobs.download_address(job, sha256, name, LIFETIME.unsigned_abs()).await;
    let Some(address) = address.map_err(|error| failed(app, error))? else { return Ok(None) };
    let response = Response::builder()
        .status(StatusCode::TEMPORARY_REDIRECT)
        .header(header::LOCATION, address.as_str())
        .header(header::CACHE_CONTROL, "no-store")
        .header(header::REFERRER_POLICY, "no-referrer");
    let built = response.body(Body::empty());
    built.map(Some).map_err(|e| ApiError::internal("a response with the address of an artifact", &e))
}

fn describe(headers: &mut HeaderMap, etag: &str, name: &str) {
    let (kind, shown) = match name.rsplit_once('.') {
        Some((_, "mp4")) => ("video/mp4", true),
        Some((_, "png")) => ("image/png", true),
        _ => ("application/octet-stream", false),
    };
    let disposition = if shown {
        "inline".to_owned()
    } else {
        format!("attachment; filename=\"{}\"", name.replace(['"', '\\'], "_"))
    };
    let age = format!("private, max-age={}", LIFETIME.as_secs());
    let texts = [(header::ETAG, etag), (header::CONTENT_DISPOSITION, &disposition), (header::CACHE_CONTROL, &age)];
    for (name, text) in texts {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Returns whether `If-None-Match` matches: a list of tags, including weak ones, or `*` (RFC 9110, 13.1.2).
fn matches_etag(known: &str, etag: &str) -> bool {
    known.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}

pub(in crate::routes) fn unsigned() -> ApiError {
    ApiError::new(ErrorCode::Forbidden, "this URL was not issued by the service, or was changed")
}

/// Returns the error for a missing artifact.
async fn missing(app: &App, job: JobId) -> ApiError {
    let removed = match app.records.job(None, job).await {
        Ok(record) => record.map(|record| record.removed).unwrap_or_default(),
        Err(error) => return error.into(),
    };
    match (removed.erased_at, removed.evidence_at) {
        (Some(at), _) => erased::erased(at),
        (None, Some(at)) => erased::gone("the job's evidence, except for its report, was removed", at),
        (None, None) => ApiError::not_found("artifact"),
    }
}

fn failed(app: &App, error: BlobError) -> ApiError {
    match error {
        BlobError::Store(error) => storage_unavailable(app, &error),
        BlobError::Missing => ApiError::not_found("artifact"),
        other => ApiError::internal("an artifact could not be read", &other),
    }
}
