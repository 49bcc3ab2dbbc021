//! A small HTTP client for the service.

use std::time::Duration;

use serde_json::Value;

use crate::{PATIENCE, ServedJob, wait_for};

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
    /// The body; `null` if it is not JSON.
    pub body: Value,
    /// The body's text.
    pub text: String,
}

fn agent(limit: Duration) -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(limit)).http_status_as_error(false).build().into()
}

impl Client {
    /// Creates a client of the server at this address.
    #[must_use]
    pub fn new(address: &str, key: &str) -> Self {
        Self { agent: agent(PATIENCE), address: address.to_owned(), key: key.trim().to_owned() }
    }

    /// Returns the URL of a path, or of an address that the service issued, perhaps before it was started again.
    fn url(&self, path: &str) -> String {
        let path = path.strip_prefix("http://").map_or(path, |rest| rest.find('/').map_or("", |start| &rest[start..]));
        format!("http://{}{path}", self.address)
    }

    /// Sends a GET request; `None` if the server can't be reached.
    #[must_use]
    pub fn try_get(&self, path: &str) -> Option<Answer> {
        let request = self.agent.get(self.url(path));
        answer(request.header("authorization", format!("Bearer {}", self.key)).call())
    }

    /// Sends a GET request.
    #[must_use]
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.try_get(path).unwrap()
    }

    /// Sends a GET request for a document that is not JSON.
    #[must_use]
    #[track_caller]
    pub fn text(&self, path: &str) -> String {
        let request = self.agent.get(self.url(path));
        let mut response = request.header("authorization", format!("Bearer {}", self.key)).call().unwrap();
        assert_eq!(response.status().as_u16(), 200, "{path}");
        response.body_mut().read_to_string().unwrap()
    }

    /// Downloads bytes without a key, from an address that the service issued.
    #[must_use]
    #[track_caller]
    pub fn download(&self, path: &str) -> Vec<u8> {
        let mut response = self.agent.get(self.url(path)).call().unwrap();
        assert_eq!(response.status().as_u16(), 200, "{path}");
        response.body_mut().read_to_vec().unwrap()
    }

    /// Downloads the bytes `first` to `last`, both included, of the content of [`Self::download`].
    #[must_use]
    #[track_caller]
    pub fn download_range(&self, path: &str, first: usize, last: usize) -> Vec<u8> {
        let request = self.agent.get(self.url(path));
        let mut response = request.header("range", format!("bytes={first}-{last}")).call().unwrap();
        assert_eq!(response.status().as_u16(), 206, "{path}");
        response.body_mut().read_to_vec().unwrap()
    }

    /// Sends a POST request with an empty body; `None` if the server ended before it answered.
    #[must_use]
    pub fn try_post(&self, path: &str) -> Option<Answer> {
        let request = self.agent.post(self.url(path));
        answer(request.header("authorization", format!("Bearer {}", self.key)).send_empty())
    }

    /// Sends a POST request with an empty body.
    #[must_use]
    #[track_caller]
    pub fn post(&self, path: &str) -> Answer {
        self.try_post(path).unwrap()
    }

    /// Sends a POST request with a JSON document.
    #[must_use]
    #[track_caller]
    pub fn post_json(&self, path: &str, body: &Value) -> Answer {
        let request = self.agent.post(self.url(path));
        let request = request.header("authorization", format!("Bearer {}", self.key));
        answer(request.header("content-type", "application/json").send(body.to_string())).unwrap()
    }

    /// Sends POST /verify with an archive and text parts; `None` if the server ended before it answered.
    #[must_use]
    pub fn try_verify(&self, zip: &[u8], parts: &[(&str, &str)]) -> Option<Answer> {
        self.try_form("/verify", Some(zip), parts)
    }

    /// Sends POST /verify with an idempotency key; `None` if the server ended before it answered.
    #[must_use]
    pub fn try_verify_once(&self, key: &str, zip: &[u8], parts: &[(&str, &str)]) -> Option<Answer> {
        let request = self.agent.post(format!("http://{}/verify", self.address));
        let request = request.header("authorization", format!("Bearer {}", self.key)).header("idempotency-key", key);
        let (kind, body) = Self::form(zip, parts);
        answer(request.header("content-type", kind).send(&body))
    }

    /// Returns the content type and bytes of a form with an archive.
    #[must_use]
    pub fn form(zip: &[u8], parts: &[(&str, &str)]) -> (String, Vec<u8>) {
        (format!("multipart/form-data; boundary={BOUNDARY}"), form(zip_part("policy", Some(zip)), parts))
    }

    /// Sends a POST request with a form of text parts and, if given, an archive; `None` if the server ended before it
    /// answered. A verification without a seed gets seed 0, so that a test's worlds are the same in every run.
    #[must_use]
    pub fn try_form(&self, path: &str, zip: Option<&[u8]>, parts: &[(&str, &str)]) -> Option<Answer> {
        let request = self.agent.post(self.url(path));
        let request = request.header("authorization", format!("Bearer {}", self.key));
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let drawn = path == "/verify" && !parts.iter().any(|(name, _)| *name == "seed");
        let parts = if drawn { [&[("seed", "0")], parts].concat() } else { parts.to_vec() };
        answer(request.header("content-type", kind).send(&form(zip_part("policy", zip), &parts)))
    }

    /// Sends POST /community/scenarios with an archive and text parts; `None` if the server ended before it answered.
    #[must_use]
    pub fn try_publish(&self, zip: &[u8], parts: &[(&str, &str)]) -> Option<Answer> {
        let request = self.agent.post(format!("http://{}/community/scenarios", self.address));
        let request = request.header("authorization", format!("Bearer {}", self.key));
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        answer(request.header("content-type", kind).send(&form(zip_part("scenario", Some(zip)), parts)))
    }

    /// Sends a DELETE request; `None` if the server ended before it answered.
    #[must_use]
    pub fn try_delete(&self, path: &str) -> Option<Answer> {
        let request = self.agent.delete(self.url(path));
        answer(request.header("authorization", format!("Bearer {}", self.key)).call())
    }

    /// Sends a DELETE request.
    #[must_use]
    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        self.try_delete(path).unwrap()
    }

    /// Sends POST /verify for a job with a policy server, which must be accepted. Returns its id.
    #[track_caller]
    pub fn verify_server(&self, parts: &[(&str, &str)]) -> String {
        let answer = self.try_form("/verify", None, parts).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body["job_id"].as_str().unwrap().to_owned()
    }

    /// Sends POST /verify for a job, which must be accepted. Returns its id.
    #[track_caller]
    pub fn verify(&self, zip: &[u8], parts: &[(&str, &str)]) -> String {
        let answer = self.try_verify(zip, parts).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body["job_id"].as_str().unwrap().to_owned()
    }

    /// Returns the job object.
    #[track_caller]
    pub fn job(&self, id: &str) -> ServedJob {
        let answer = self.get(&format!("/verify/{id}"));
        assert_eq!(answer.status, 200, "{}", answer.body);
        ServedJob::new(answer.body)
    }

    /// Waits until the job has ended, and returns the job object.
    #[track_caller]
    pub fn ended_job(&self, id: &str, limit: Duration) -> ServedJob {
        wait_for("the end of a job", limit, || Some(self.job(id)).filter(|job| job.status.is_final()))
    }
}

pub(crate) fn answer(result: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Option<Answer> {
    let mut response = result.ok()?;
    let text = response.body_mut().read_to_string().ok()?;
    Some(Answer { status: response.status().as_u16(), body: serde_json::from_str(&text).unwrap_or_default(), text })
}

/// Returns the part of a form with an archive, if there is one.
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
