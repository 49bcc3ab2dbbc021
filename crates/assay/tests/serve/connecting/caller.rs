//! The policy's side of a connection, spoken by hand, so that it can break every rule.

use std::net::TcpStream;
use std::time::Duration;

use assay_model::frame::{FrameKind, HEADER_BYTES, Header, frame};
use assay_testkit::{Client, PATIENCE, wait_for};
use serde_json::Value;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, HandshakeError, Message, WebSocket, client};

/// Maximum time for the next message of the service.
const MESSAGE_LIMIT: Duration = PATIENCE;
/// Maximum time until the end of a connection is noticed, on a quiet machine.
const FREE_LIMIT: Duration = Duration::from_secs(5);
const HELLO: &[u8] = br#"{"protocol": 1, "python": "", "numpy": ""}"#;

/// A connection of a policy.
pub(crate) struct Caller {
    socket: WebSocket<TcpStream>,
}

/// The end of a connection, as the policy sees it.
pub(crate) type Closed = String;

impl Caller {
    /// Opens a connection with a token; an error is the status of the answer.
    pub(crate) fn open(address: &str, job: &str, token: &str) -> Result<Self, u16> {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(MESSAGE_LIMIT)).unwrap();
        let mut request = format!("ws://{address}/connections/{job}").into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        match client(request, stream) {
            Ok((socket, _)) => Ok(Self { socket }),
            Err(HandshakeError::Failure(Error::Http(response))) => Err(response.status().as_u16()),
            Err(other) => panic!("{other}"),
        }
    }

    /// Opens a connection with a new token once the previous connection is gone, and sends HELLO.
    pub(crate) fn greeted(address: &str, client: &Client, job: &str) -> Self {
        let mut caller = Self::free(address, client, job);
        caller.greet();
        caller
    }

    /// Opens a connection with a new token once the previous connection is gone.
    pub(crate) fn free(address: &str, client: &Client, job: &str) -> Self {
        wait_for("a free place", FREE_LIMIT, || match Self::open(address, job, &token(client, job)) {
            Ok(caller) => Some(caller),
            Err(409) => None,
            Err(status) => panic!("{status}"),
        })
    }

    /// Sends HELLO.
    pub(crate) fn greet(&mut self) {
        self.send(FrameKind::Hello, 0, 0, HELLO);
    }

    /// Sends a frame. The service may have closed the connection.
    pub(crate) fn send(&mut self, kind: FrameKind, seq: u32, nonce: u64, payload: &[u8]) {
        self.send_message(Message::Binary(frame(kind, seq, nonce, payload).into()));
    }

    /// Sends a message. The service may have closed the connection.
    pub(crate) fn send_message(&mut self, message: Message) {
        drop(self.socket.send(message));
    }

    /// Receives the next frame, or the reason for the end of the connection.
    pub(crate) fn receive(&mut self) -> Result<(Header, Vec<u8>), Closed> {
        loop {
            match self.socket.read() {
                Ok(Message::Binary(bytes)) => {
                    let header = Header::decode(bytes.first_chunk::<HEADER_BYTES>().unwrap(), u32::MAX).unwrap();
                    return Ok((header, bytes[HEADER_BYTES..].to_vec()));
                }
                Ok(Message::Close(frame)) => {
                    return Err(frame.map_or_else(String::new, |frame| frame.reason.to_string()));
                }
                Ok(_) => {}
                Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    panic!("no message within {MESSAGE_LIMIT:?}")
                }
                Err(_) => return Err(String::new()),
            }
        }
    }

    /// Receives the next frame, which must be of this kind. Returns its nonce, number and payload.
    #[track_caller]
    pub(crate) fn expect(&mut self, kind: FrameKind) -> (u64, u32, Vec<u8>) {
        let (header, payload) = self.receive().unwrap();
        assert_eq!(header.kind, kind, "{}", String::from_utf8_lossy(&payload));
        (header.nonce, header.seq, payload)
    }

    /// Begins an episode and answers `answers` observations with zeros. Returns the episode's nonce and the number of
    /// the observation that is not answered.
    pub(crate) fn act(&mut self, answers: u32) -> (u64, u32) {
        let (nonce, _, _) = self.expect(FrameKind::Init);
        self.send(FrameKind::Ready, 0, nonce, b"");
        loop {
            let (_, seq, _) = self.expect(FrameKind::Observation);
            if seq >= answers {
                return (nonce, seq);
            }
            self.send(FrameKind::Action, seq, nonce, &0_f64.to_le_bytes());
        }
    }

    /// Serves a whole episode with zeros, several actions in each answer.
    pub(crate) fn serve_episode(&mut self) {
        let (nonce, _, _) = self.expect(FrameKind::Init);
        self.send(FrameKind::Ready, 0, nonce, b"");
        loop {
            let (header, payload) = self.receive().unwrap();
            match header.kind {
                FrameKind::Observation => self.send(FrameKind::Action, header.seq, nonce, &[0_u8; 8 * 25]),
                FrameKind::Close => return,
                kind => panic!("{kind:?}: {}", String::from_utf8_lossy(&payload)),
            }
        }
    }
}

/// Requests a token.
pub(crate) fn token(client: &Client, job: &str) -> String {
    let answer = client.post(&format!("/verify/{job}/connection"));
    assert_eq!(answer.status, 201, "{}", answer.body);
    text(&answer.body["token"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
