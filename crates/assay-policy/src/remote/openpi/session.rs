//! An episode over one WebSocket: the protocol has no reset of its own, so every episode has its own connection.

use assay_model::{Secret, sanitise};
use rmpv::Value;

use super::codec::{MsgpackDecodeError, decode, encode, get, is_array, to_array};
use super::dialect::{Dialect, is_reset_done};
use super::socket::{MessageContent, Socket};
use crate::remote::chunk::Chunk;
use crate::remote::endpoint::ServerEndpoint;
use crate::remote::fault::ServerFault;
use crate::remote::guard::AddressGuard;
use crate::remote::observation::{Episode, RemoteObservation};
use crate::remote::session::ProtocolSession;

/// Maximum length of the key names in a message, in bytes.
const MAX_KEYS_BYTES: usize = 200;

/// A connection after the server's introduction.
pub(crate) struct OpenPiSession {
    socket: Socket,
    dialect: Dialect,
}

impl OpenPiSession {
    /// Receives the server's introduction.
    pub(crate) async fn over(mut socket: Socket) -> Result<Self, ServerFault> {
        let metadata = match socket.receive().await? {
            MessageContent::Binary(bytes) => map(&bytes)?,
            MessageContent::Text(text) => return Err(ServerFault::server(&text)),
        };
        Ok(Self { socket, dialect: Dialect::of(&metadata) })
    }
}

impl ProtocolSession for OpenPiSession {
    async fn open(guard: &AddressGuard, endpoint: &ServerEndpoint, key: Option<&Secret>) -> Result<Self, ServerFault> {
        Self::over(Socket::open(guard, endpoint, key).await?).await
    }

    fn describe(&self) -> String {
        self.dialect.describe()
    }

    async fn reset(&mut self, episode: &Episode) -> Result<(), ServerFault> {
        self.dialect.check(episode)?;
        let Some(request) = self.dialect.reset(episode) else { return Ok(()) };
        self.socket.send(encode(&request)).await?;
        match self.socket.receive().await? {
            MessageContent::Text(text) if is_reset_done(&text) => Ok(()),
            MessageContent::Text(text) => Err(ServerFault::server(&text)),
            MessageContent::Binary(bytes) => {
                let reply = map(&bytes)?;
                failure(&reply)?;
                match get(&reply, "status").and_then(Value::as_str) {
                    Some(text) if is_reset_done(text) => Ok(()),
                    _ => Err(ServerFault::protocol("its answer to a reset is not 'reset successful'")),
                }
            }
        }
    }

    async fn infer(&mut self, observation: RemoteObservation<'_>) -> Result<Chunk, ServerFault> {
        if let Some(early) = self.socket.pending() {
            return Err(unasked(early));
        }
        self.socket.send(encode(&self.dialect.request(observation))).await?;
        let reply = match self.socket.receive().await? {
            MessageContent::Binary(bytes) => map(&bytes)?,
            MessageContent::Text(text) => return Err(ServerFault::server(&text)),
        };
        Chunk::new(actions(&reply)?, observation.episode.action_dim)
    }

    async fn idle(&mut self) -> ServerFault {
        unasked(self.socket.receive().await)
    }

    async fn close(mut self) -> u32 {
        self.socket.close().await
    }
}

/// Returns the fault of a message that arrived while none was expected.
fn unasked(message: Result<MessageContent, ServerFault>) -> ServerFault {
    match message {
        Ok(MessageContent::Text(text)) => ServerFault::server(&text),
        Ok(MessageContent::Binary(_)) => ServerFault::unasked(),
        Err(fault) => fault,
    }
}

fn map(bytes: &[u8]) -> Result<Value, ServerFault> {
    let value = decode(bytes).map_err(|error| ServerFault::protocol(error.to_string()))?;
    if value.is_map() { Ok(value) } else { Err(ServerFault::protocol("msgpack, but not a map")) }
}

/// Reads a message as each of the three kinds that a server sends.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_everywhere(message: &[u8], action_dim: usize) -> Result<Chunk, ServerFault> {
    let value = map(message)?;
    drop(Dialect::of(&value).describe());
    failure(&value)?;
    Chunk::new(actions(&value)?, action_dim)
}

/// Returns the fault that an answer reports: vLLM-Omni sends errors in a map.
fn failure(reply: &Value) -> Result<(), ServerFault> {
    if get(reply, "type").and_then(Value::as_str) != Some("error") {
        return Ok(());
    }
    Err(ServerFault::server(get(reply, "message").and_then(Value::as_str).unwrap_or("no message")))
}

/// Returns the actions of an answer: under a key, or (older RoboArena servers) the answer itself.
fn actions(reply: &Value) -> Result<crate::remote::array::NumberArray, ServerFault> {
    failure(reply)?;
    let found = if is_array(reply) { Some(reply) } else { get(reply, "actions").or_else(|| get(reply, "action")) };
    match found {
        Some(value) => to_array(value).map_err(|error| match error {
            MsgpackDecodeError::Element(element) => ServerFault::bad_action(element.to_string()),
            other => ServerFault::bad_action(format!("actions: {other}")),
        }),
        None => {
            let keys: Vec<_> = reply.as_map().into_iter().flatten().filter_map(|(key, _)| key.as_str()).collect();
            let keys = sanitise(&keys.join(", "), MAX_KEYS_BYTES);
            Err(ServerFault::bad_action(format!("the answer has no key \"actions\"; its keys are: {keys}")))
        }
    }
}
