//! The requests of the worker protocol.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{
    GENERATION_HEADER, PACKED_EVIDENCE, RegisterAnswer, Secret, Sha256Digest, Sha256Writer, WORKER_HEARTBEAT_S,
    WORKER_LEASE_S, WORKER_PROTOCOL_PATH, sanitise,
};
use assay_store::Blobs;
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::Response;
use ureq::typestate::WithBody;
use ureq::{Agent, AsSendBody, Body, RequestBuilder, SendBody};

use super::error::ServerCallError;

/// Time limit for an answer that the server does not delay on purpose.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Time limit for sending a file of evidence.
const SEND_LIMIT: Duration = Duration::from_secs(600);
/// Time limit for each piece of a download, after which the download is abandoned: for 64 KiB, at least 2 KiB/s must
/// arrive.
const PIECE_LIMIT: Duration = Duration::from_secs(30);
/// Number of bytes of a piece.
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
/// The same for evidence and results, without which an episode has to run again; at most until a lease is given up.
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
    /// True if the server accepts packed evidence.
    takes_packed: AtomicBool,
    /// True if a claim may ask for jobs of policy servers too.
    shares_claims: AtomicBool,
    /// Duration of a lease without renewal, in seconds.
    lease_s: AtomicU32,
    /// Interval at which leases are renewed, in seconds.
    beat_s: AtomicU32,
    piece_limit: Duration,
}

impl ProtocolClient {
    pub(super) fn new(agent: Agent, server: &str, token: Secret) -> Self {
        let server = server.trim_end_matches('/').to_owned();
        let (generation, takes_packed, shares_claims) =
            (AtomicU32::new(0), AtomicBool::new(false), AtomicBool::new(false));
        let (lease_s, beat_s) = (AtomicU32::new(WORKER_LEASE_S), AtomicU32::new(WORKER_HEARTBEAT_S));
        let piece_limit = PIECE_LIMIT;
        Self { agent, server, token, generation, takes_packed, shares_claims, lease_s, beat_s, piece_limit }
    }

    /// Abandons a download if a piece of 64 KiB takes longer than this.
    #[cfg(test)]
    fn with_piece_limit(self, piece_limit: Duration) -> Self {
        Self { piece_limit, ..self }
    }

    /// Sets the registration that further requests belong to.
    pub(super) fn begin_registration(&self, answer: &RegisterAnswer) {
        self.generation.store(answer.generation, Ordering::SeqCst);
        self.takes_packed.store(answer.packed_evidence, Ordering::SeqCst);
        self.shares_claims.store(answer.shared_claims, Ordering::SeqCst);
        self.lease_s.store(answer.lease_s.max(2), Ordering::SeqCst);
        self.beat_s.store(answer.beat_s.clamp(1, answer.lease_s.max(2) / 2), Ordering::SeqCst);
    }

    /// Returns the interval at which leases are renewed, which is also the time limit for the answer to a renewal.
    pub(super) fn beat(&self) -> Duration {
        Duration::from_secs(self.beat_s.load(Ordering::SeqCst).into())
    }

    /// Returns the time after which a lease that was not confirmed is given up: one renewal before its end. It is
    /// measured from the sending of the last request that was answered, by this clock, so clocks need not agree.
    pub(super) fn given_up(&self) -> Duration {
        Duration::from_secs(self.lease_s.load(Ordering::SeqCst).into()).saturating_sub(self.beat())
    }

    /// Returns true if a claim may ask for jobs of policy servers too.
    pub(super) fn shares_claims(&self) -> bool {
        self.shares_claims.load(Ordering::SeqCst)
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
        self.patiently(PATIENCE_FOR_RESULTS.min(self.given_up()), || self.post(path, body, Duration::ZERO))
    }

    /// Posts `body`; the answer is empty. Tries again for a temporary reason.
    pub(super) fn send(&self, path: &str, body: &impl Serialize) -> Result<(), ServerCallError> {
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
            for piece in pieces(response, self.piece_limit)? {
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

    /// Sends the file of evidence at `file`, packed if that makes it smaller. Tries again for a temporary reason.
    pub(super) fn put(&self, path: &str, file: &Path) -> Result<(), ServerCallError> {
        let takes_packed = self.takes_packed.load(Ordering::SeqCst);
        let packed = if takes_packed { Blobs::packed_form(file)? } else { None };
        self.patiently(PATIENCE_FOR_RESULTS.min(self.given_up()), || match &packed {
            Some(content) => {
                let request = self.agent.put(self.url(path));
                self.send_body(request, (PACKED_EVIDENCE, content.len() as u64), &content[..])
            }
            None => self.send_file(self.agent.put(self.url(path)), file),
        })
    }

    /// Posts the file at `file`; the answer is empty. Tries again for a temporary reason.
    pub(super) fn post_file(&self, path: &str, file: &Path) -> Result<(), ServerCallError> {
        self.patiently(PATIENCE_FOR_RESULTS.min(self.given_up()), || {
            self.send_file(self.agent.post(self.url(path)), file)
        })
    }

    fn send_file(&self, request: RequestBuilder<WithBody>, file: &Path) -> Result<(), ServerCallError> {
        let source = File::open(file)?;
        let length = source.metadata()?.len();
        self.send_body(request, ("application/octet-stream", length), SendBody::from_owned_reader(source))
    }

    /// Sends a request with a body of this content type and length; the answer is empty.
    fn send_body(
        &self,
        request: RequestBuilder<WithBody>,
        (kind, length): (&str, u64),
        body: impl AsSendBody,
    ) -> Result<(), ServerCallError> {
        let request = request.header("authorization", self.bearer());
        let request = request.header(GENERATION_HEADER, self.generation.load(Ordering::SeqCst).to_string());
        let request = request.header("content-type", kind).header("content-length", length.to_string());
        let request = request.config().timeout_send_body(Some(SEND_LIMIT));
        let request = request.timeout_recv_response(Some(ANSWER_LIMIT)).build();
        self.answered(request.send(body)).map(drop)
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
        let message = message.unwrap_or_else(|| format!("{} is not an assay server of this version", self.server));
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

/// Returns the pieces of a body, all but the last of [`PIECE_BYTES`]. One that does not arrive within `limit` is an
/// error, however long the whole takes.
fn pieces(response: Response<Body>, limit: Duration) -> io::Result<impl Iterator<Item = io::Result<Vec<u8>>>> {
    let mut body = response.into_body().into_reader();
    let (sender, receiver) = mpsc::sync_channel(4);
    let taker = Arc::new(());
    let is_wanted = Arc::downgrade(&taker);
    // The thread ends with the connection, or at the next byte after the receiver of its pieces was dropped.
    let reading = thread::Builder::new().name("download".to_owned()).spawn(move || {
        let mut is_over = false;
        while !is_over {
            let piece = read_piece(&mut body, &is_wanted);
            is_over = piece.as_ref().map_or(true, |piece| piece.len() < PIECE_BYTES);
            if sender.send(piece).is_err() {
                return;
            }
        }
    });
    drop(reading?);
    let mut is_over = false;
    Ok(std::iter::from_fn(move || {
        let _taker = &taker;
        if is_over {
            return None;
        }
        let piece = receiver.recv_timeout(limit).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        is_over = piece.as_ref().map_or(true, |piece| piece.len() < PIECE_BYTES);
        Some(piece)
    }))
}

/// Reads a piece, which is shorter than the others only at the end of the body.
fn read_piece(body: &mut impl Read, is_wanted: &Weak<()>) -> io::Result<Vec<u8>> {
    let (mut piece, mut length) = (vec![0; PIECE_BYTES], 0);
    while length < PIECE_BYTES && is_wanted.strong_count() > 0 {
        match body.read(&mut piece[length..])? {
            0 => break,
            read => length += read,
        }
    }
    piece.truncate(length);
    Ok(piece)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::io::{BufRead, BufReader};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Length that every server here promises, in bytes.
    const PROMISED: usize = 2 * PIECE_BYTES + 5;

    /// Fetches a file from a server that sends `first` bytes at once and then one every `pause`, until the connection
    /// is closed.
    fn fetched(first: usize, pause: Duration, limit: Duration) -> Result<Vec<u8>, ServerCallError> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming() {
                thread::spawn(move || answer(stream.unwrap(), first, pause));
            }
        });
        let client = ProtocolClient::new(Agent::new_with_defaults(), &server, Secret::new("token".to_owned()));
        let (client, folder) = (client.with_piece_limit(limit), tempfile::tempdir().unwrap());
        let (path, sha256) = (folder.path().join("file"), Sha256Digest::of(vec![7; PROMISED]));
        client.fetch("/file", (sha256, PROMISED as u64), &path).map(|()| std::fs::read(path).unwrap())
    }

    fn answer(mut stream: TcpStream, first: usize, pause: Duration) {
        let request = BufReader::new(stream.try_clone().unwrap()).lines();
        request.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {PROMISED}\r\n\r\n").unwrap();
        stream.write_all(&vec![7; first]).unwrap();
        for _ in first..PROMISED {
            thread::sleep(pause);
            if stream.write_all(&[7]).is_err() {
                break;
            }
        }
    }

    #[test]
    fn a_download_that_stops_or_drips_is_given_up() {
        let limit = Duration::from_millis(200);
        for (first, pause) in [(0, Duration::from_millis(20)), (PIECE_BYTES + 9, Duration::from_secs(3600))] {
            let given_up = fetched(first, pause, limit);
            let Err(ServerCallError::Unreachable { source, .. }) = given_up else { panic!("{given_up:?}") };
            assert!(source.to_string().contains("timed out"), "{source}");
        }
    }

    #[test]
    fn a_download_that_arrives_is_whole() {
        let whole = fetched(PROMISED, Duration::ZERO, Duration::from_secs(600)).unwrap();
        assert_eq!(whole, vec![7; PROMISED]);
    }
}
