//! The relay's end of the socket pair: frames from a lane. A lane loads untrusted scenarios, so its frames are checked
//! like any others.

use std::io;

use assay_model::frame::{FrameError, FrameKind, HEADER_BYTES, Header, action_frame, frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// Maximum length of a lane's frame, in bytes: enough for several large images.
const MAX_LANE_BYTES: u32 = 64 * 1024 * 1024;

/// Frames to and from the lane.
#[derive(Debug)]
pub(crate) struct LaneSide {
    stream: UnixStream,
    nonce: u64,
    buffer: Vec<u8>,
}

/// The lane has ended, or sent something other than frames, so no fault can be reported to it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaneGone {
    #[error("the lane closed the socket")]
    Closed,
    #[error("the lane's socket failed")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("a frame of another connection")]
    Nonce,
}

impl LaneSide {
    pub(crate) fn new(stream: UnixStream, nonce: u64) -> Self {
        Self { stream, nonce, buffer: Vec::new() }
    }

    /// Receives the next frame. The future may be dropped at any point without losing bytes.
    pub(crate) async fn receive(&mut self) -> Result<(Header, Vec<u8>), LaneGone> {
        loop {
            if let Some(header) = self.header()? {
                let end = HEADER_BYTES + header.length as usize;
                if self.buffer.len() >= end {
                    let payload = self.buffer[HEADER_BYTES..end].to_vec();
                    self.buffer.drain(..end);
                    return Ok((header, payload));
                }
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(LaneGone::Closed);
            }
        }
    }

    pub(crate) async fn send(&mut self, kind: FrameKind, seq: u32, payload: &[u8]) -> Result<(), LaneGone> {
        Ok(self.stream.write_all(&frame(kind, seq, self.nonce, payload)).await?)
    }

    /// Sends an action, the first of an answer with this number of them, or a later one (0).
    pub(crate) async fn send_action(&mut self, seq: u32, actions: usize, payload: &[u8]) -> Result<(), LaneGone> {
        let actions = u16::try_from(actions).unwrap_or(u16::MAX);
        Ok(self.stream.write_all(&action_frame((seq, self.nonce), actions, payload)).await?)
    }

    fn header(&self) -> Result<Option<Header>, LaneGone> {
        let Some(bytes) = self.buffer.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let header = Header::decode(bytes, MAX_LANE_BYTES)?;
        if header.nonce == self.nonce { Ok(Some(header)) } else { Err(LaneGone::Nonce) }
    }
}
