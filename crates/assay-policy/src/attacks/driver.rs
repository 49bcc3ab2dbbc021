//! Minimal lane for attacks: starts a policy, requests a few actions, and trusts nothing that it sends.

use std::time::{Duration, Instant};

use assay_model::frame::{ArraySpec, Dtype, FrameKind, Header, Init, PolicyFault, frame};

use crate::frames::{ReceiveError, receive};
use crate::stream::PolicyStream;

/// Numbers in an action.
const ACTION_DIM: u32 = 7;
/// Number of steps: a late or repeated answer is detected at the next one.
const STEPS: u32 = 3;

/// The answer of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AttackAnswer {
    /// Valid actions at every step.
    Actions,
    /// A failure.
    Fault(PolicyFault),
    /// An unsolicited or invalid frame.
    Protocol,
    /// It closed its stream.
    Closed,
    /// Nothing.
    Silent,
}

/// Runs a policy for a few steps. Like a lane, stops if the policy takes longer than `patience` for one of them.
pub(super) fn drive(stream: &mut PolicyStream, nonce: u64, patience: Duration) -> AttackAnswer {
    use std::io::Write;
    let init = Init {
        seed: 5,
        scenario: "attack".to_owned(),
        instruction: None,
        observation: vec![ArraySpec { name: "q".to_owned(), dtype: Dtype::F64, shape: vec![7] }],
        action_dim: ACTION_DIM,
    };
    let init = serde_json::to_vec(&init).unwrap_or_default();
    let observation: Vec<u8> = [0.0; 9].into_iter().flat_map(f64::to_le_bytes).collect();
    let questions = std::iter::once((FrameKind::Init, 0, init, FrameKind::Ready))
        .chain((0..STEPS).map(|seq| (FrameKind::Observation, seq, observation.clone(), FrameKind::Action)));
    for (kind, seq, payload, wanted) in questions {
        // A failure to send is detected by the missing answer.
        drop(stream.write_all(&frame(kind, seq, nonce, &payload)));
        if let Some(other) = ask(stream, nonce, seq, wanted, patience) {
            return other;
        }
    }
    drop(stream.write_all(&frame(FrameKind::Close, 0, nonce, &[])));
    AttackAnswer::Actions
}

/// Sends a request and checks the answer; returns `None` if it is valid.
fn ask(stream: &mut PolicyStream, nonce: u64, seq: u32, wanted: FrameKind, patience: Duration) -> Option<AttackAnswer> {
    let until = Instant::now() + patience;
    let answer = receive(stream, || (Instant::now() > until).then_some(()));
    let (header, payload) = match answer {
        Ok(frame) => frame,
        Err(ReceiveError::Closed) => return Some(AttackAnswer::Closed),
        Err(ReceiveError::Frame(_)) => return Some(AttackAnswer::Protocol),
        Err(ReceiveError::Watch(())) => return Some(AttackAnswer::Silent),
    };
    let Header { kind, length, .. } = header;
    if header.nonce != nonce || header.seq != seq {
        return Some(AttackAnswer::Protocol);
    }
    match kind {
        FrameKind::Error => Some(serde_json::from_slice(&payload).map_or(AttackAnswer::Protocol, AttackAnswer::Fault)),
        FrameKind::Ready if wanted == FrameKind::Ready && length == 0 => None,
        FrameKind::Action if wanted == FrameKind::Action && length == 8 * ACTION_DIM && is_finite(&payload) => None,
        FrameKind::Hello
        | FrameKind::Load
        | FrameKind::Loaded
        | FrameKind::Init
        | FrameKind::Ready
        | FrameKind::Observation
        | FrameKind::Action
        | FrameKind::Close
        | FrameKind::Last => Some(AttackAnswer::Protocol),
    }
}

fn is_finite(payload: &[u8]) -> bool {
    payload.chunks_exact(8).all(|bytes| bytes.try_into().is_ok_and(|bytes| f64::from_le_bytes(bytes).is_finite()))
}
