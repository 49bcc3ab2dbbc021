//! A request body that can be looked at after its handler is done with it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;

/// Two handles on one body: the handler's, and the one that [`super::drain`] keeps.
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

    /// Somebody began to read.
    pub(super) fn is_touched(&self) -> bool {
        self.with(|state| state.touched)
    }

    /// There is nothing more to read.
    pub(super) fn is_ended(&self) -> bool {
        self.with(|state| state.ended)
    }

    /// Reads on, up to about `limit` bytes, and throws away what comes.
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
