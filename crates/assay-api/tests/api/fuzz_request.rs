//! The fuzz target of requests to the service: everything between a client's bytes and the records. It needs the
//! service under test, so it is here; the workspace in the folder `fuzz` includes this file too.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use assay_api::{ApiSettings, AppState, Draft, DraftFailure, Publisher, RateLimits, router};
use assay_model::{AccountId, ScenarioCard, ScenarioId, Sha256Digest};
use assay_scenario::Spec;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

use crate::app::TestApp;

/// Placeholders in an input for a valid key, the id of a completed job, and the id of a waiting submission.
const PLACEHOLDERS: [&str; 3] = ["@KEY@", "@JOB@", "@SUBMISSION@"];
/// Number of requests after which the service is restarted, so that exhausted quotas do not hide code from the fuzzer.
const REQUESTS: usize = 500;

/// A service with a key, and its runtime.
struct FuzzService {
    router: Router,
    /// The values for [`PLACEHOLDERS`].
    values: [String; 3],
    /// Number of requests so far.
    requests: usize,
    _app: TestApp,
}

impl FuzzService {
    async fn start() -> Self {
        let folder = assay_fuzz::memory_folder();
        let app = TestApp::on(folder, ApiSettings { rate: RateLimits::all(1_000_000), ..ApiSettings::default() });
        let key = app.key("someone", "read,verify,submit,publish,admin").await;
        let job = app.completed(&key, 2).await;
        let submission = app.submission(&key).await;
        let router = router(AppState { publisher: Arc::new(RejectingPublisher), ..app.state.clone() });
        Self { router, values: [key, job, submission], requests: 0, _app: app }
    }
}

/// A stub that rejects every archive; the target `archive` covers the opening of archives.
#[derive(Debug)]
struct RejectingPublisher;

impl Publisher for RejectingPublisher {
    fn open(&self, _zip: &Path, _account: &AccountId) -> Result<Draft, DraftFailure> {
        Err(DraftFailure::Archive("this is not an archive".to_owned()))
    }

    fn check(&self, _draft: &Draft) -> Result<Option<Vec<u8>>, DraftFailure> {
        Err(DraftFailure::Busy)
    }

    fn card(&self, _id: &ScenarioId, _digest: Sha256Digest) -> Result<ScenarioCard, String> {
        Err("there is none".to_owned())
    }

    fn spec(&self, _id: &ScenarioId, _digest: Sha256Digest) -> Result<Spec, String> {
        Err("there is none".to_owned())
    }
}

/// Sends a request in wire form: a line with method and path, headers, an empty line, the body. The answer must never
/// be an internal error.
pub(crate) fn request(data: &[u8]) {
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));
    static SERVICE: LazyLock<tokio::sync::Mutex<FuzzService>> =
        LazyLock::new(|| tokio::sync::Mutex::new(RUNTIME.block_on(FuzzService::start())));
    LazyLock::force(&SERVICE);
    RUNTIME.block_on(async {
        let mut service = SERVICE.lock().await;
        service.requests += 1;
        if service.requests > REQUESTS {
            *service = FuzzService::start().await;
        }
        let Some(request) = parse(data, &service.values) else { return };
        let Ok(answer) = service.router.clone().oneshot(request).await;
        let status = answer.status();
        assert_ne!(status, StatusCode::INTERNAL_SERVER_ERROR, "an internal error");
        // An event stream does not end.
        if answer.headers().get("content-type").is_some_and(|kind| kind == "application/json") {
            let body = answer.into_body().collect().await.expect("an answer's body").to_bytes();
            let body: serde_json::Value = serde_json::from_slice(&body).expect("a JSON answer is valid JSON");
            assert!(status.is_success() || body["error"]["code"].is_string(), "an error has a code: {body}");
        }
    });
}

fn parse(data: &[u8], values: &[String; 3]) -> Option<Request<Body>> {
    let end = data.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&data[..end]).ok()?.to_owned();
    let head =
        PLACEHOLDERS.iter().zip(values).fold(head, |head, (placeholder, value)| head.replace(placeholder, value));
    let mut lines = head.split("\r\n");
    let (method, path) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(path);
    for line in lines {
        let (name, value) = line.split_once(": ")?;
        request = request.header(name, value);
    }
    request.body(Body::from(data[end + 4..].to_vec())).ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn request_accepts_its_corpus() {
        assay_fuzz::run_corpus("request", super::request);
    }
}
