//! The fuzz targets of frames: between a policy's process and the worker, and between a lane and a policy server.

use std::io::Write;
use std::sync::LazyLock;

use assay_fuzz::pieces;
use assay_model::frame::{FrameKind, Hello, Loaded, PolicyFault};
use tokio::runtime::{Builder, Runtime};

use crate::PolicyFailure;
use crate::frames::{ReceiveError, receive};
use crate::remote::connected::fuzzing::connected;
use crate::remote::fuzzing::relay as called;
use crate::stream::PolicyStream;

/// Kind of a relay whose policy server connects; the others are called, over HTTP (even) or a WebSocket (odd).
const CONNECTED: u8 = 2;

/// Reads the input (at most a pipe's 64 KiB of it) as the worker reads the frames of a policy's process. The lane reads
/// the same input in the target of `assay-lane`.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn policy(data: &[u8]) {
    runner_frames(data).expect("pipes");
}

fn runner_frames(bytes: &[u8]) -> std::io::Result<()> {
    let (mut stream, ends) = PolicyStream::pipes()?;
    let mut policy = std::fs::File::from(ends.stdout);
    policy.write_all(&bytes[..bytes.len().min(65_536)])?;
    drop(policy);
    loop {
        match receive(&mut stream, || None::<()>) {
            Ok((header, payload)) => match header.kind {
                FrameKind::Hello => drop(serde_json::from_slice::<Hello>(&payload)),
                FrameKind::Loaded => drop(serde_json::from_slice::<Loaded>(&payload)),
                FrameKind::Error => {
                    drop(
                        serde_json::from_slice::<PolicyFault>(&payload).map(|fault| PolicyFailure::from_fault(&fault)),
                    );
                }
                _ => {}
            },
            Err(ReceiveError::Closed | ReceiveError::Frame(_) | ReceiveError::Watch(())) => return Ok(()),
        }
    }
}

/// Runs a relay. The input contains its kind (the first byte), the frames from the lane, and the server's answers.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn relay(data: &[u8]) {
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));
    let Some((kind, data)) = data.split_first() else { return };
    let parts = pieces(data);
    let answers = parts[1..].iter().map(|answer| answer.to_vec()).collect();
    let relayed = match *kind {
        CONNECTED => RUNTIME.block_on(connected(parts[0], answers)),
        kind => RUNTIME.block_on(called(kind & 1 == 1, parts[0], answers)),
    };
    relayed.expect("sockets");
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn policy_accepts_its_corpus() {
        run_corpus("policy", super::policy);
    }

    #[test]
    fn relay_accepts_its_corpus() {
        run_corpus("relay", super::relay);
    }
}
