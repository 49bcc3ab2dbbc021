//! The requests of the worker protocol.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{GENERATION_HEADER, Secret, Sha256Digest, Sha256Writer, WORKER_PROTOCOL_PATH, sanitise};
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::Response;
use ureq::{Agent, Body};

use super::error::ServerCallError;

/// Time limit for an answer that the server does not delay on purpose.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Time limit for an answer to a renewal: shorter than what is left of a lease when it is given up.
pub(super) const BEAT_LIMIT: Duration = Duration::from_secs(5);
/// Time limit for sending a file of evidence.
const SEND_LIMIT: Duration = Duration::from_secs(600);
/// Time without a byte after which a download is given up.
const STALL_LIMIT: Duration = Duration::from_secs(30);
/// Number of bytes read at once.
const PIECE_BYTES: usize = 64 << 10;
/// Maximum length of a JSON answer, in bytes.
const MAX_ANSWER_BYTES: u64 = 8 << 20;
/// Maximum length of a message in an error, in bytes.
const MAX_MESSAGE_BYTES: usize = 500;
/// Time for which a request that failed for a temporary reason is tried again, and pause before the second try; doubled
/// each time, up to a maximum.
const PATIENCE: Duration = Duration::from_millis(1500);
const PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// The same for evidence and results, without which an episode has to run again: less than a lease.
const PATIENCE_FOR_RESULTS: Duration = Duration::from_secs(20);

/// Sends requests to one server.
#[derive(Debug)]
pub(super) struct ProtocolClient {
    agent: Agent,
    /// Address of the server, without a slash at its end.
    server: String,
    token: Secret,
    /// Number of the registration; 0 before the first.
    generation: AtomicU32,
}

impl ProtocolClient {
    pub(super) fn new(agent: Agent, server: &str, token: Secret) -> Self {
        Self { agent, server: server.trim_end_matches('/').to_owned(), token, generation: AtomicU32::new(0) }
    }

    /// Sets the registration that further requests belong to.
    pub(super) fn set_generation(&self, generation: u32) {
        self.generation.store(generation, Ordering::SeqCst);
    }

    /// Posts `body` and returns the answer, which the server may delay for `wait`.
    pub(super) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        wait: Duration,
    ) -> Result<T, ServerCallError> {
        let mut response = self.post_within(path, body, ANSWER_LIMIT + wait)?;
        self.read_json(&mut response)
    }

    /// Like [`Self::post`], within `limit`.
    pub(super) fn post_quickly<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<T, ServerCallError> {
        let mut response = self.post_within(path, body, limit)?;
        self.read_json(&mut response)
    }

    /// Posts a result and returns the answer. Tries again for a temporary reason.
    pub(super) fn report<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ServerCallError> {
        self.patiently(PATIENCE_FOR_RESULTS, || self.post(path, body, Duration::ZERO))
    }

    /// Posts `body`; the answer is empty. Tries again for a temporary reason.
    pub(super) fn tell(&self, path: &str, body: &impl Serialize) -> Result<(), ServerCallError> {
        self.patiently(PATIENCE, || self.post_within(path, body, ANSWER_LIMIT).map(drop))
    }

    /// Returns a JSON document. Tries again for a temporary reason.
    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ServerCallError> {
        self.patiently(PATIENCE, || {
            let mut response = self.download(path, Some(ANSWER_LIMIT))?;
            self.read_json(&mut response)
        })
    }

    /// Writes a file of at most `limit` bytes from the server to `file`. Tries again for a temporary reason.
    pub(super) fn fetch(
        &self,
        path: &str,
        (sha256, limit): (Sha256Digest, u64),
        file: &Path,
    ) -> Result<(), ServerCallError> {
        self.patiently(PATIENCE, || {
            let response = self.download(path, None)?;
            let mut target = File::create(file)?;
            let (mut hash, mut left) = (Sha256Writer::default(), limit);
            for piece in pieces(response)? {
                let piece = piece.map_err(|error| self.unreachable(error))?;
                left = left
                    .checked_sub(piece.len() as u64)
                    .ok_or_else(|| ServerCallError::WrongFile(format!("{sha256}, a file of at most {limit} bytes")))?;
                hash.update(&piece);
                target.write_all(&piece)?;
            }
            if hash.finish() == sha256 { Ok(()) } else { Err(ServerCallError::WrongFile(sha256.to_string())) }
        })
    }

    /// Sends the file at `file`. Tries again for a temporary reason.
    pub(super) fn put(&self, path: &str, file: &Path) -> Result<(), ServerCallError> {
        self.patiently(PATIENCE_FOR_RESULTS, || {
            let source = File::open(file)?;
            let length = source.metadata()?.len();
            let request = self.agent.put(self.url(path)).header("authorization", self.bearer());
            let request = request.header(GENERATION_HEADER, self.generation.load(Ordering::SeqCst).to_string());
            let request =
                request.header("content-type", "application/octet-stream").header("content-length", length.to_string());
            let request = request.config().timeout_send_body(Some(SEND_LIMIT));
            let request = request.timeout_recv_response(Some(ANSWER_LIMIT)).build();
            self.answered(request.send(ureq::SendBody::from_owned_reader(source))).map(drop)
        })
    }

    fn post_within(
        &self,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<Response<Body>, ServerCallError> {
        let text = serde_json::to_vec(body).map_err(io::Error::other)?;
        let request = self.agent.post(self.url(path)).header("authorization", self.bearer());
        let request = request.header(GENERATION_HEADER, self.generation.load(Ordering::SeqCst).to_string());
        let request = request.header("content-type", "application/json");
        let request = request.config().timeout_recv_response(Some(limit)).timeout_recv_body(Some(ANSWER_LIMIT)).build();
        self.answered(request.send(&text))
    }

    /// Requests a document; `limit` bounds the time of its body.
    fn download(&self, path: &str, limit: Option<Duration>) -> Result<Response<Body>, ServerCallError> {
        let request = self.agent.get(self.url(path)).header("authorization", self.bearer());
        let request = request.header(GENERATION_HEADER, self.generation.load(Ordering::SeqCst).to_string());
        let request = request.config().timeout_recv_response(Some(ANSWER_LIMIT)).timeout_recv_body(limit).build();
        self.answered(request.call())
    }

    fn patiently<T>(
        &self,
        patience: Duration,
        request: impl Fn() -> Result<T, ServerCallError>,
    ) -> Result<T, ServerCallError> {
        let (mut pause, until) = (PAUSE, Instant::now() + patience);
        loop {
            match request() {
                Err(error) if error.is_temporary() && Instant::now() < until => {
                    tracing::debug!(%error, "request to the server failed, retrying");
                    thread::sleep(pause);
                    pause = MAX_PAUSE.min(pause * 2);
                }
                answer => return answer,
            }
        }
    }

    fn read_json<T: DeserializeOwned>(&self, response: &mut Response<Body>) -> Result<T, ServerCallError> {
        let text = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
        let text = text.map_err(|error| self.unreachable(error))?;
        serde_json::from_slice(&text).map_err(|error| ServerCallError::Answer {
            status: response.status().as_u16(),
            message: format!("its answer is not that of the worker protocol: {error}"),
        })
    }

    fn answered(&self, sent: Result<Response<Body>, ureq::Error>) -> Result<Response<Body>, ServerCallError> {
        let mut response = sent.map_err(|error| self.unreachable(error))?;
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Ok(response);
        }
        let text = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_string().unwrap_or_default();
        let body: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let message = body["error"]["message"].as_str().map(|message| sanitise(message, MAX_MESSAGE_BYTES));
        let message = message.unwrap_or_else(|| format!("{} is no assay server, or not of this version", self.server));
        Err(match status {
            409 if message.starts_with("the lease is lost") => ServerCallError::LeaseLost,
            401 | 409 => ServerCallError::Refused(message),
            403 if message.contains("quarantined") => ServerCallError::Refused(message),
            408 | 429 | 500 | 502..=504 => ServerCallError::Unavailable(message),
            _ => ServerCallError::Answer { status, message },
        })
    }

    fn unreachable(&self, error: impl std::error::Error + Send + Sync + 'static) -> ServerCallError {
        ServerCallError::Unreachable { server: self.server.clone(), source: Box::new(error) }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{WORKER_PROTOCOL_PATH}{path}", self.server)
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token.reveal())
    }
}

/// Returns the pieces of a body. One that stalls is an error, however long the whole takes.
fn pieces(response: Response<Body>) -> io::Result<impl Iterator<Item = io::Result<Vec<u8>>>> {
    let mut body = response.into_body().into_reader();
    let (sender, receiver) = mpsc::sync_channel(4);
    // It ends with the connection, or when nobody takes its pieces any more.
    let reading = thread::Builder::new().name("download".to_owned()).spawn(move || {
        loop {
            let mut piece = vec![0; PIECE_BYTES];
            let read = body.read(&mut piece).map(|length| {
                piece.truncate(length);
                piece
            });
            let is_last = read.as_ref().map_or(true, Vec::is_empty);
            if sender.send(read).is_err() || is_last {
                return;
            }
        }
    });
    drop(reading?);
    let mut has_failed = false;
    Ok(std::iter::from_fn(move || {
        if has_failed {
            return None;
        }
        let piece = receiver.recv_timeout(STALL_LIMIT).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        has_failed = piece.is_err();
        Some(piece).filter(|piece| piece.as_ref().map_or(true, |piece| !piece.is_empty()))
    }))
}
