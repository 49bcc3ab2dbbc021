//! Limits the number of bytes that a server may send per request, in any form: pings, empty fragments, endless headers.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::fault::ServerFault;
use super::limits::MAX_RECEIVED_BYTES;

/// The rest of the allowance of the last request; shared by a session and its connections.
#[derive(Debug, Clone)]
pub(crate) struct ReceiveAllowance {
    left: Arc<AtomicUsize>,
    /// Bytes for each request.
    per_request: usize,
}

impl Default for ReceiveAllowance {
    fn default() -> Self {
        Self::of(MAX_RECEIVED_BYTES)
    }
}

impl ReceiveAllowance {
    /// Creates an allowance that is never used up, for a peer that is trusted.
    pub(crate) fn unlimited() -> Self {
        Self::of(usize::MAX)
    }

    fn of(per_request: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(per_request)), per_request }
    }

    /// Renews the allowance for a request.
    pub(crate) fn renew(&self) {
        self.left.store(self.per_request, Ordering::Relaxed);
    }

    /// Returns `fault`, unless the connection failed because the server sent too much.
    pub(crate) fn explain(&self, fault: ServerFault) -> ServerFault {
        if self.left.load(Ordering::Relaxed) > 0 {
            return fault;
        }
        ServerFault::protocol(format!("more than {} MiB for one request", MAX_RECEIVED_BYTES / (1024 * 1024)))
    }

    fn take(&self, bytes: usize) -> io::Result<()> {
        let left = self.left.load(Ordering::Relaxed).saturating_sub(bytes);
        self.left.store(left, Ordering::Relaxed);
        if left == 0 { Err(io::Error::other("the server sent more bytes than allowed")) } else { Ok(()) }
    }
}

/// A stream that fails when the allowance is used up.
#[derive(Debug)]
pub(crate) struct Metered<S> {
    stream: S,
    allowance: ReceiveAllowance,
}

impl<S> Metered<S> {
    pub(crate) fn new(stream: S, allowance: &ReceiveAllowance) -> Self {
        Self { stream, allowance: allowance.clone() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        std::task::ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        Poll::Ready(self.allowance.take(buf.filled().len() - before))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
