//! Responses of the HTTP library to heads of requests that it rejects itself, because they are too long: it sends no
//! body, and no handler sees the request. Their common form is added on the way to the client.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::AppState;
use crate::http::{ApiError, ErrorCode};

/// Maximum length of such a response, in bytes.
const MAX_BYTES: usize = 512;
/// The header by which it has no body.
const NO_BODY: &[u8] = b"\r\ncontent-length: 0\r\n";

/// A connection on which such responses are completed.
pub(crate) struct RejectedHeads<T> {
    stream: T,
    app: Arc<AppState>,
    /// The bytes that are sent instead of what the library wrote, and how many of them are sent.
    instead: Option<(Vec<u8>, usize)>,
}

impl<T> RejectedHeads<T> {
    pub(crate) fn new(stream: T, app: Arc<AppState>) -> Self {
        Self { stream, app, instead: None }
    }
}

impl<T: AsyncWrite + Unpin> RejectedHeads<T> {
    /// Sends the response instead of `written`, which has this length.
    fn poll_instead(&mut self, cx: &mut Context<'_>, written: usize) -> Poll<io::Result<usize>> {
        while let Some((bytes, sent)) = &mut self.instead {
            let rest = bytes.get(*sent..).unwrap_or_default();
            if rest.is_empty() {
                self.instead = None;
                break;
            }
            let more = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if more == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *sent += more;
        }
        Poll::Ready(Ok(written))
    }

    /// Returns whether something else than `bytes` is to be sent.
    fn replaces(&mut self, bytes: &[u8]) -> bool {
        if self.instead.is_none()
            && let Some(error) = rejection(bytes)
        {
            self.instead = Some((response(&error, &self.app), 0));
        }
        self.instead.is_some()
    }
}

/// Returns the error of a response without a body that the library sends.
fn rejection(bytes: &[u8]) -> Option<ApiError> {
    let status = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    let (code, message) = match status {
        b"414" => (ErrorCode::UriTooLong, "the request's target is too long"),
        b"431" => (ErrorCode::HeadersTooLarge, "the request has too many headers, or they are too large"),
        _ => return None,
    };
    let is_bare = bytes.len() <= MAX_BYTES && bytes.ends_with(b"\r\n\r\n");
    let is_bare = is_bare && bytes.windows(NO_BODY.len()).any(|part| part.eq_ignore_ascii_case(NO_BODY));
    is_bare.then(|| ApiError::new(code, message))
}

/// Returns the whole response to a request that is not answered otherwise.
fn response(error: &ApiError, app: &AppState) -> Vec<u8> {
    let id = app.new_id();
    let (body, status): (_, StatusCode) = (error.body(id), error.status());
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         x-request-id: {id}\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}

impl<T: AsyncWrite + Unpin> AsyncWrite for RejectedHeads<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.replaces(bytes) {
            return self.poll_instead(cx, bytes.len());
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bytes.iter().find(|slice| !slice.is_empty()).map(|slice| &**slice).unwrap_or_default();
        if self.replaces(first) {
            return self.poll_instead(cx, first.len());
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for RejectedHeads<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}
