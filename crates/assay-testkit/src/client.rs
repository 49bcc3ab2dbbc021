//! A small HTTP client for the service.

use std::time::Duration;

use serde_json::Value;

use crate::{ServedJob, wait_for};

const REQUEST_LIMIT: Duration = Duration::from_secs(30);
const BOUNDARY: &str = "assay-testkit-f47ac10b58cc4372";

/// A client with a key.
#[derive(Debug, Clone)]
pub struct Client {
    agent: ureq::Agent,
    address: String,
    key: String,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The body; `null` when it is no JSON.
    pub body: Value,
    /// The body's text.
    pub text: String,
}

impl Client {
    pub(crate) fn new(address: &str, key: &str) -> Self {
        let config = ureq::Agent::config_builder().timeout_global(Some(REQUEST_LIMIT)).http_status_as_error(false);
        Self { agent: config.build().into(), address: address.to_owned(), key: key.trim().to_owned() }
    }

    /// GET; `None` when the server can't be reached.
    #[must_use]
    pub fn try_get(&self, path: &str) -> Option<Answer> {
        let request = self.agent.get(format!("http://{}{path}", self.address));
        answer(request.header("authorization", format!("Bearer {}", self.key)).call())
    }

    /// GET.
    #[must_use]
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.try_get(path).unwrap()
    }

    /// GET of a document that is no JSON.
    #[must_use]
    #[track_caller]
    pub fn text(&self, path: &str) -> String {
        let request = self.agent.get(format!("http://{}{path}", self.address));
        let mut response = request.header("authorization", format!("Bearer {}", self.key)).call().unwrap();
        assert_eq!(response.status().as_u16(), 200, "{path}");
        response.body_mut().read_to_string().unwrap()
    }

    /// GET of bytes without a key, from an address that the service gave out.
    #[must_use]
    #[track_caller]
    pub fn download(&self, path: &str) -> Vec<u8> {
        let mut response = self.agent.get(format!("http://{}{path}", self.address)).call().unwrap();
        assert_eq!(response.status().as_u16(), 200, "{path}");
        response.body_mut().read_to_vec().unwrap()
    }

    /// GET of the bytes `first` to `last`, both included, of what [`Self::download`] gives.
    #[must_use]
    #[track_caller]
    pub fn download_range(&self, path: &str, first: usize, last: usize) -> Vec<u8> {
        let request = self.agent.get(format!("http://{}{path}", self.address));
        let mut response = request.header("range", format!("bytes={first}-{last}")).call().unwrap();
        assert_eq!(response.status().as_u16(), 206, "{path}");
        response.body_mut().read_to_vec().unwrap()
    }

    /// POST with an empty body; `None` when the server went away before it answered.
    #[must_use]
    pub fn try_post(&self, path: &str) -> Option<Answer> {
        let request = self.agent.post(format!("http://{}{path}", self.address));
        answer(request.header("authorization", format!("Bearer {}", self.key)).send_empty())
    }

    /// POST with an empty body.
    #[must_use]
    #[track_caller]
    pub fn post(&self, path: &str) -> Answer {
        self.try_post(path).unwrap()
    }

    /// POST of a JSON document.
    #[must_use]
    #[track_caller]
    pub fn post_json(&self, path: &str, body: &Value) -> Answer {
        let request = self.agent.post(format!("http://{}{path}", self.address));
        let request = request.header("authorization", format!("Bearer {}", self.key));
        answer(request.header("content-type", "application/json").send(body.to_string())).unwrap()
    }

    /// POST /verify with an archive and text parts; `None` when the server went away before it answered.
    #[must_use]
    pub fn try_verify(&self, zip: &[u8], parts: &[(&str, &str)]) -> Option<Answer> {
        self.try_form("/verify", Some(zip), parts)
    }

    /// POST /verify under an idempotency key; `None` as above.
    #[must_use]
    pub fn try_verify_once(&self, key: &str, zip: &[u8], parts: &[(&str, &str)]) -> Option<Answer> {
        let request = self.agent.post(format!("http://{}/verify", self.address));
        let request = request.header("authorization", format!("Bearer {}", self.key)).header("idempotency-key", key);
        let (kind, body) = Self::form(zip, parts);
        answer(request.header("content-type", kind).send(&body))
    }

    /// Content type and bytes of a form with an archive.
    #[must_use]
    pub fn form(zip: &[u8], parts: &[(&str, &str)]) -> (String, Vec<u8>) {
        (format!("multipart/form-data; boundary={BOUNDARY}"), form(zip_part("policy", Some(zip)), parts))
    }

    /// POST of a form with text parts, and an archive if there is one; `None` when the server went away before it
    /// answered. A verification without a seed gets seed 0, so that a test's worlds are the same in every run.
    #[must_use]
    pub fn try_form(&self, path: &str, zip: Option<&[u8]>, parts: &[(&str, &str)]) -> Option<Answer> {
        let request = self.agent.post(format!("http://{}{path}", self.address));
        let request = request.header("authorization", format!("Bearer {}", self.key));
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let drawn = path == "/verify" && !parts.iter().any(|(name, _)| *name == "seed");
        let parts = if drawn { [&[("seed", "0")], parts].concat() } else { parts.to_vec() };
        answer(request.header("content-type", kind).send(&form(zip_part("policy", zip), &parts)))
    }

    /// POST /community/scenarios with an archive and text parts; `None` when the server went away before it answered.
    #[must_use]
    pub fn try_publish(&self, zip: &[u8], parts: &[(&str, &str)]) -> Option<Answer> {
        let request = self.agent.post(format!("http://{}/community/scenarios", self.address));
        let request = request.header("authorization", format!("Bearer {}", self.key));
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        answer(request.header("content-type", kind).send(&form(zip_part("scenario", Some(zip)), parts)))
    }

    /// DELETE; `None` when the server went away before it answered.
    #[must_use]
    pub fn try_delete(&self, path: &str) -> Option<Answer> {
        let request = self.agent.delete(format!("http://{}{path}", self.address));
        answer(request.header("authorization", format!("Bearer {}", self.key)).call())
    }

    /// DELETE.
    #[must_use]
    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        self.try_delete(path).unwrap()
    }

    /// POST /verify of a job with a policy server that must be accepted: its id.
    #[track_caller]
    pub fn verify_server(&self, parts: &[(&str, &str)]) -> String {
        let answer = self.try_form("/verify", None, parts).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body["job_id"].as_str().unwrap().to_owned()
    }

    /// POST /verify of a job that must be accepted: its id.
    #[track_caller]
    pub fn verify(&self, zip: &[u8], parts: &[(&str, &str)]) -> String {
        let answer = self.try_verify(zip, parts).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body["job_id"].as_str().unwrap().to_owned()
    }

    /// The job object.
    #[track_caller]
    pub fn job(&self, id: &str) -> ServedJob {
        let answer = self.get(&format!("/verify/{id}"));
        assert_eq!(answer.status, 200, "{}", answer.body);
        ServedJob::new(answer.body)
    }

    /// The job object once the job has ended.
    #[track_caller]
    pub fn ended_job(&self, id: &str, limit: Duration) -> ServedJob {
        wait_for("the end of a job", limit, || Some(self.job(id)).filter(|job| job.status.is_final()))
    }
}

fn answer(result: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Option<Answer> {
    let mut response = result.ok()?;
    let text = response.body_mut().read_to_string().ok()?;
    Some(Answer { status: response.status().as_u16(), body: serde_json::from_str(&text).unwrap_or_default(), text })
}

/// The part of a form with an archive, if there is one.
fn zip_part<'a>(name: &'a str, zip: Option<&'a [u8]>) -> Option<(&'a str, &'a [u8])> {
    zip.map(|zip| (name, zip))
}

fn form(zip: Option<(&str, &[u8])>, parts: &[(&str, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in parts {
        let head = format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend_from_slice(head.as_bytes());
    }
    if let Some((name, zip)) = zip {
        let kind = "content-type: application/zip";
        let place = format!("content-disposition: form-data; name=\"{name}\"; filename=\"{name}.zip\"");
        body.extend_from_slice(format!("--{BOUNDARY}\r\n{place}\r\n{kind}\r\n\r\n").as_bytes());
        body.extend_from_slice(zip);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}
