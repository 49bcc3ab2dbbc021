//! Lingering close: closes a connection so that the client receives the last response. Closing a socket while bytes of
//! the client are still arriving makes the system send a reset, and the client (or a proxy) would lose a response that
//! it had not read yet. So the write side is closed first, and incoming bytes are discarded for a while.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Maximum pause between two reads of the client's bytes.
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// Maximum time that a connection lingers.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Number of bytes discarded per read.
const BUFFER_BYTES: usize = 16 << 10;
/// Number of reads before the task yields to others.
const MAX_TURN: usize = 64;

/// A stream that lingers when it is closed.
#[derive(Debug)]
pub(crate) struct Lingering<T> {
    stream: T,
    /// Set once the write side is closed.
    end: Option<LingerDeadline>,
}

#[derive(Debug)]
struct LingerDeadline {
    last: Instant,
    pause: Pin<Box<Sleep>>,
}

impl<T> Lingering<T> {
    pub(crate) fn new(stream: T) -> Self {
        Self { stream, end: None }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.end.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
            this.end = Some(LingerDeadline { last: Instant::now() + MAX_TIME, pause: Box::pin(sleep(MAX_PAUSE)) });
        }
        let Some(end) = &mut this.end else { return Poll::Ready(Ok(())) };
        let mut bytes = [0; BUFFER_BYTES];
        for _ in 0..MAX_TURN {
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut this.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    let pause = Instant::now() + MAX_PAUSE;
                    end.pause.as_mut().reset(pause.min(end.last));
                }
                // The client has closed its side or disconnected.
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => return end.pause.as_mut().poll(cx).map(Ok),
            }
            if Instant::now() > end.last {
                return Poll::Ready(Ok(()));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Lingering<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}
