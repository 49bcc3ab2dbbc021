//! A request body that remains accessible after its handler has finished.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;

/// A shared body: one handle for the handler, one for [`super::drain`].
#[derive(Clone)]
pub(super) struct SharedBody(Arc<Mutex<BodyState>>);

struct BodyState {
    body: Body,
    touched: bool,
    ended: bool,
}

impl SharedBody {
    pub(super) fn new(body: Body) -> Self {
        Self(Arc::new(Mutex::new(BodyState { body, touched: false, ended: false })))
    }

    fn with<T>(&self, f: impl FnOnce(&mut BodyState) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether reading has begun.
    pub(super) fn is_touched(&self) -> bool {
        self.with(|state| state.touched)
    }

    /// Returns whether the body has been read to its end.
    pub(super) fn is_ended(&self) -> bool {
        self.with(|state| state.ended)
    }

    /// Reads and discards up to about `limit` bytes.
    pub(super) async fn discard(&mut self, limit: usize) {
        let mut read = 0;
        while read < limit
            && let Some(Ok(frame)) = self.frame().await
        {
            read += frame.data_ref().map_or(0, Bytes::len);
        }
    }
}

impl http_body::Body for SharedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.with(|state| {
            state.touched = true;
            let polled = Pin::new(&mut state.body).poll_frame(cx);
            state.ended |= matches!(polled, Poll::Ready(None | Some(Err(_)))) || state.body.is_end_stream();
            polled
        })
    }

    fn is_end_stream(&self) -> bool {
        self.with(|state| state.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.with(|state| state.body.size_hint())
    }
}
