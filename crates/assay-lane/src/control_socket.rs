//! The lane's end of the control socket: length-prefixed JSON, with a policy's stream as descriptors.

use std::io::{self, IoSliceMut, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use assay_model::lane::{LaneCommand, MAX_MESSAGE_BYTES, Reply};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

/// The connection to the worker.
#[derive(Debug)]
pub(crate) struct ControlSocket(UnixStream);

impl ControlSocket {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self(stream)
    }

    /// Returns the next command, and the descriptors that came with it: the stream written to a policy, the stream read
    /// from it. `None` if the worker closed the connection.
    pub(crate) fn receive(&mut self) -> io::Result<Option<(LaneCommand, Option<[OwnedFd; 2]>)>> {
        let mut length = [0; 4];
        let Some(descriptors) = self.receive_start(&mut length)? else { return Ok(None) };
        let length = u32::from_le_bytes(length);
        if length > MAX_MESSAGE_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the command is longer than allowed"));
        }
        let mut body = vec![0; length as usize];
        self.0.read_exact(&mut body)?;
        let command = serde_json::from_slice(&body).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
        Ok(Some((command, descriptors)))
    }

    /// Reads the length; the descriptors are attached to its first byte. `None` at the end of the stream.
    fn receive_start(&mut self, length: &mut [u8; 4]) -> io::Result<Option<Option<[OwnedFd; 2]>>> {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let got = rustix::io::retry_on_intr(|| {
            recvmsg(&self.0, &mut [IoSliceMut::new(length)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        })?;
        if got.bytes == 0 {
            return Ok(None);
        }
        let descriptors = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect::<Vec<_>>().try_into().ok(),
            _ => None,
        });
        self.0.read_exact(&mut length[got.bytes..])?;
        Ok(Some(descriptors))
    }

    /// Returns true if [`Self::receive`] would not wait.
    pub(crate) fn is_readable(&self) -> io::Result<bool> {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ready = rustix::io::retry_on_intr(|| poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&at_once)))?;
        Ok(ready > 0)
    }

    pub(crate) fn send(&mut self, reply: &Reply) -> io::Result<()> {
        let body = serde_json::to_vec(reply)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        let mut message = length.to_le_bytes().to_vec();
        message.extend_from_slice(&body);
        self.0.write_all(&message)
    }
}
