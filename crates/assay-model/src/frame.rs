//! The frame protocol between a policy connection and its counterpart: the worker while the policy loads, the lane
//! while an episode runs. The protocol is the same for every kind of policy. A frame is a 24-byte little-endian header
//! and a payload:
//!
//! `magic "ASY1" | kind u8 | flags u8 | actions u16 | seq u32 | length u32 | nonce u64`
//!
//! Observations and actions are raw little-endian arrays in the order announced by INIT. Only an ACT with the
//! outstanding sequence number, the connection's nonce and the exact length has an effect.

use serde::{Deserialize, Serialize};

use crate::PolicyErrorCode;

/// Size of a header, in bytes.
pub const HEADER_BYTES: usize = 24;
/// First bytes of every frame.
pub const MAGIC: [u8; 4] = *b"ASY1";
/// Protocol version announced by HELLO.
pub const PROTOCOL: u32 = 1;
/// Maximum payload accepted from a policy, in bytes. Actions and errors are far smaller.
pub const MAX_REPLY_BYTES: u32 = 64 * 1024;

/// Kind of a frame. `R` = runner (policy side), `W` = worker, `L` = lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// R to W: the interpreter has started. Payload: [`Hello`] as JSON.
    Hello = 1,
    /// W to R: import the policy. Payload: [`Load`] as JSON. Sets the connection's nonce.
    Load = 2,
    /// R to W: the policy is imported. Payload: [`Loaded`] as JSON.
    Loaded = 3,
    /// L to R: an episode begins. Payload: [`Init`] as JSON.
    Init = 4,
    /// R to L: the policy was reset. No payload.
    Ready = 5,
    /// L to R: `time f64, time_remaining f64`, then the arrays of [`Init::observation`].
    Observation = 6,
    /// R to L: `action_dim` f64 numbers. Its header counts the actions of the answer that it begins.
    Action = 7,
    /// R to W or L: the policy failed. Payload: [`PolicyFault`] as JSON.
    Error = 8,
    /// L to R: the episode has ended.
    Close = 9,
    /// L to a Python environment: the feedback and the observation after the last action, laid out as those before it.
    /// No policy receives it.
    Last = 10,
}

impl FrameKind {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Hello,
            2 => Self::Load,
            3 => Self::Loaded,
            4 => Self::Init,
            5 => Self::Ready,
            6 => Self::Observation,
            7 => Self::Action,
            8 => Self::Error,
            9 => Self::Close,
            10 => Self::Last,
            _ => return None,
        })
    }
}

/// Header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Kind of the frame, which determines its payload.
    pub kind: FrameKind,
    /// Number of the observation, from 0; an action carries that of its observation.
    pub seq: u32,
    /// Of an action: the number of actions in the policy's answer that it is the first of, as the policy's side says; 0
    /// for a later one, and in all other frames.
    pub actions: u16,
    /// Length of the payload, in bytes.
    pub length: u32,
    /// Number that identifies the connection, drawn by the worker.
    pub nonce: u64,
}

/// Error for bytes that are not a header of this protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The first four bytes are wrong.
    #[error("the stream does not carry frames (bad magic)")]
    Magic,
    /// The kind is unknown.
    #[error("unknown frame kind {0}")]
    Kind(u8),
    /// Flags or reserved bits are set.
    #[error("reserved header bits are set")]
    Reserved,
    /// The payload is longer than the reader accepts.
    #[error("the payload has {length} bytes, but at most {limit} are allowed")]
    TooLong {
        /// Announced length of the payload, in bytes.
        length: u32,
        /// Limit of the reader, in bytes.
        limit: u32,
    },
}

impl Header {
    /// Encodes the header.
    #[must_use]
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        out[..4].copy_from_slice(&MAGIC);
        out[4] = self.kind as u8;
        out[6..8].copy_from_slice(&self.actions.to_le_bytes());
        out[8..12].copy_from_slice(&self.seq.to_le_bytes());
        out[12..16].copy_from_slice(&self.length.to_le_bytes());
        out[16..].copy_from_slice(&self.nonce.to_le_bytes());
        out
    }

    /// Decodes a header whose payload may have at most `limit` bytes.
    ///
    /// # Errors
    /// [`FrameError`] when the bytes are not a header, or the payload is too long.
    pub fn decode(bytes: &[u8; HEADER_BYTES], limit: u32) -> Result<Self, FrameError> {
        if bytes[..4] != MAGIC {
            return Err(FrameError::Magic);
        }
        let kind = FrameKind::from_byte(bytes[4]).ok_or(FrameError::Kind(bytes[4]))?;
        let actions = u16::from_le_bytes([bytes[6], bytes[7]]);
        if bytes[5] != 0 || (actions != 0 && kind != FrameKind::Action) {
            return Err(FrameError::Reserved);
        }
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let length = word(12);
        if length > limit {
            return Err(FrameError::TooLong { length, limit });
        }
        let nonce = u64::from(word(16)) | u64::from(word(20)) << 32;
        Ok(Self { kind, seq: word(8), actions, length, nonce })
    }
}

/// Encodes a frame, header and payload, into one buffer.
#[must_use]
pub fn frame(kind: FrameKind, seq: u32, nonce: u64, payload: &[u8]) -> Vec<u8> {
    encoded(Header { kind, seq, actions: 0, length: 0, nonce }, payload)
}

/// Encodes the frame of an action; `actions` is the number of actions in the answer that it begins, or 0.
#[must_use]
pub fn action_frame((seq, nonce): (u32, u64), actions: u16, payload: &[u8]) -> Vec<u8> {
    encoded(Header { kind: FrameKind::Action, seq, actions, length: 0, nonce }, payload)
}

fn encoded(header: Header, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let mut out = Vec::with_capacity(HEADER_BYTES + payload.len());
    out.extend_from_slice(&Header { length, ..header }.encode());
    out.extend_from_slice(payload);
    out
}

/// Payload of [`FrameKind::Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`] version of the runner.
    pub protocol: u32,
    /// Version of the Python interpreter.
    pub python: String,
    /// Version of numpy.
    pub numpy: String,
    /// True if the process has applied a Landlock ruleset to itself and verified that it works; false if it was given
    /// none.
    #[serde(default)]
    pub sealed: bool,
}

/// Payload of [`FrameKind::Load`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Seed of `random` and `numpy.random`, set before the import.
    pub seed: u64,
    /// CPU time that the process may use from its start to its end, in seconds. The runner lowers its own limit to it.
    pub cpu_s: u64,
    /// Memory that the process may use, in bytes. The runner lowers its own limit to it.
    pub memory_bytes: u64,
    /// Address space in addition, in bytes, for the models that it may map.
    #[serde(default)]
    pub model_bytes: u64,
    /// Number of actions of an answer that are executed before the policy is asked again; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replan_steps: Option<u32>,
}

/// Payload of [`FrameKind::Loaded`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// CPU time of the import, in milliseconds, as reported by the runner (untrusted; shown only to the author).
    pub import_cpu_ms: f64,
}

/// Description of one array of an observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArraySpec {
    /// Key in the observation that the policy receives.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Lengths of the dimensions, outermost first (C order).
    pub shape: Vec<u32>,
}

/// Element type of an array on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE 754 double, little-endian.
    F64,
    /// IEEE 754 single precision, little-endian (depth images).
    F32,
    /// Unsigned byte (images).
    U8,
}

impl Dtype {
    /// Returns the size of an element in bytes.
    #[must_use]
    pub fn size_bytes(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
            Self::U8 => 1,
        }
    }

    /// Returns whether arrays of this type are pictures: images, or depth images.
    #[must_use]
    pub fn is_picture(self) -> bool {
        self != Self::F64
    }
}

impl ArraySpec {
    /// Returns the array's size on the wire in bytes, at most `usize::MAX`.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.shape.iter().fold(self.dtype.size_bytes(), |product: usize, n| product.saturating_mul(*n as usize))
    }
}

/// Payload of [`FrameKind::Init`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Init {
    /// Seed passed to the policy.
    pub seed: u64,
    /// Scenario id.
    pub scenario: String,
    /// Description of the task in natural language.
    pub instruction: Option<String>,
    /// The arrays of every observation, in order.
    pub observation: Vec<ArraySpec>,
    /// Number of values in an action.
    pub action_dim: u32,
}

/// Payload of [`FrameKind::Error`]: untrusted text, to be sanitised when it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyFault {
    /// Kind of failure. A policy's process may send only the codes that the runner reports, see
    /// [`PolicyErrorCode::is_reported_by_runner`].
    pub code: PolicyErrorCode,
    /// Error message, one line.
    pub message: String,
    /// Python traceback, reduced to the author's frames.
    #[serde(default)]
    pub traceback: String,
}

impl PolicyFault {
    /// Reads a payload sent by a policy's process. `None` if it is not one that the runner writes.
    #[must_use]
    pub fn of_runner(payload: &[u8]) -> Option<Self> {
        let fault: Self = serde_json::from_slice(payload).ok()?;
        fault.code.is_reported_by_runner().then_some(fault)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn round_trip() {
        let header = Header { kind: FrameKind::Action, seq: 9, actions: 8, length: 56, nonce: 0x0123_4567_89ab_cdef };
        assert_eq!(Header::decode(&header.encode(), 64), Ok(header));
        let other = Header { kind: FrameKind::Ready, ..header };
        assert_eq!(Header::decode(&other.encode(), 64), Err(FrameError::Reserved), "only actions are counted");
        let none = Header { actions: 0, ..header };
        assert_eq!(frame(none.kind, 9, none.nonce, &[0; 56])[..HEADER_BYTES], none.encode());
        assert_eq!(action_frame((9, header.nonce), 8, &[0; 56])[..HEADER_BYTES], header.encode());
        assert_eq!(Header::decode(&header.encode(), 55), Err(FrameError::TooLong { length: 56, limit: 55 }));
    }

    #[test]
    fn a_process_cannot_report_codes_observed_from_outside() {
        let fault = |code| PolicyFault { code, message: "m".into(), traceback: String::new() };
        let read = |fault: &PolicyFault| PolicyFault::of_runner(&serde_json::to_vec(fault).unwrap());
        let runner = ["import_error", "syntax_error", "no_policy", "adapter", "exception", "bad_action", "memory"];
        let unknown = ["", "Exception", "exception ", "not_finite"].map(PolicyErrorCode::parse);
        for code in PolicyErrorCode::NAMED.iter().cloned().chain(unknown) {
            let (fault, own) = (fault(code.clone()), runner.contains(&code.as_str()));
            assert_eq!(read(&fault), own.then_some(fault), "{code}");
        }
        assert_eq!(PolicyFault::of_runner(b"{"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::array::uniform24(any::<u8>())) {
            if let Ok(header) = Header::decode(&bytes, u32::MAX) {
                prop_assert_eq!(header.encode(), bytes);
            }
        }
    }
}
