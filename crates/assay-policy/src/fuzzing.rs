//! Entry points for fuzzing the private code that reads input from a policy's process, a lane or a policy server.

use std::io::Write;

use assay_model::frame::{FrameKind, Hello, Loaded, PolicyFault};

use crate::PolicyFailure;
use crate::frames::{ReceiveError, receive};
use crate::stream::PolicyStream;

pub use crate::adapter::checkpoint_file;
pub use crate::remote::connected::fuzzing::connected;
pub use crate::remote::fuzzing::{NONCE, http_answer, openpi_answer, relay};

/// Reads `bytes` (at most a pipe's 64 KiB of them) as the worker reads the frames of a policy's process.
///
/// # Errors
/// A pipe cannot be created.
pub fn runner_frames(bytes: &[u8]) -> std::io::Result<()> {
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
