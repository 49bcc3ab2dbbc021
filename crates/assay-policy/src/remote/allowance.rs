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
pub(crate) struct ReceiveAllowance(Arc<AtomicUsize>);

impl Default for ReceiveAllowance {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(MAX_RECEIVED_BYTES)))
    }
}

impl ReceiveAllowance {
    /// Renews the allowance for a request.
    pub(crate) fn renew(&self) {
        self.0.store(MAX_RECEIVED_BYTES, Ordering::Relaxed);
    }

    /// Returns `fault`, unless the connection failed because the server sent too much.
    pub(crate) fn explain(&self, fault: ServerFault) -> ServerFault {
        if self.0.load(Ordering::Relaxed) > 0 {
            return fault;
        }
        ServerFault::protocol(format!("more than {} MiB for one request", MAX_RECEIVED_BYTES / (1024 * 1024)))
    }

    fn take(&self, bytes: usize) -> io::Result<()> {
        let left = self.0.load(Ordering::Relaxed).saturating_sub(bytes);
        self.0.store(left, Ordering::Relaxed);
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
