//! Reads frames from an untrusted peer while watching it.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use assay_model::frame::{FrameError, FrameKind, HEADER_BYTES, Header, MAX_REPLY_BYTES, frame};

use crate::stream::PolicyStream;

/// The interval at which the watch is called while nothing arrives.
const TICK: Duration = Duration::from_millis(20);

/// A failure to receive a frame.
#[derive(Debug)]
pub(crate) enum ReceiveError<W> {
    /// The peer closed the stream.
    Closed,
    /// The peer sent something other than a frame.
    Frame(FrameError),
    /// The watch stopped the wait.
    Watch(W),
}

/// Receives one frame; `watch` is called at every tick and stops the wait by returning a value.
pub(crate) fn receive<W>(
    stream: &mut PolicyStream,
    watch: impl FnMut() -> Option<W>,
) -> Result<(Header, Vec<u8>), ReceiveError<W>> {
    receive_up_to(MAX_REPLY_BYTES, stream, watch)
}

/// Like [`receive`], with a payload of at most `limit` bytes.
pub(crate) fn receive_up_to<W>(
    limit: u32,
    stream: &mut PolicyStream,
    mut watch: impl FnMut() -> Option<W>,
) -> Result<(Header, Vec<u8>), ReceiveError<W>> {
    let mut header = [0; HEADER_BYTES];
    fill(stream, &mut header, &mut watch)?;
    let header = Header::decode(&header, limit).map_err(ReceiveError::Frame)?;
    let mut payload = vec![0; usize::try_from(header.length).unwrap_or(0)];
    fill(stream, &mut payload, &mut watch)?;
    Ok((header, payload))
}

/// Sends one small frame, which fits the pipe's buffer.
pub(crate) fn send(stream: &mut PolicyStream, kind: FrameKind, nonce: u64, payload: &[u8]) -> std::io::Result<()> {
    stream.write_all(&frame(kind, 0, nonce, payload))
}

fn fill<W>(
    stream: &mut PolicyStream,
    mut rest: &mut [u8],
    watch: &mut impl FnMut() -> Option<W>,
) -> Result<(), ReceiveError<W>> {
    while !rest.is_empty() {
        if !stream.is_readable(TICK) {
            if let Some(stop) = watch() {
                return Err(ReceiveError::Watch(stop));
            }
            continue;
        }
        match stream.read(rest) {
            Ok(0) => return Err(ReceiveError::Closed),
            Ok(n) => rest = &mut rest[n..],
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(_) => return Err(ReceiveError::Closed),
        }
    }
    Ok(())
}
