//! The least rate of a body. A slow client holds a connection, a place among its account's uploads and the room that it
//! announced, so a body that comes slower than this is refused.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, timeout_at};

use crate::Uploads;
use crate::http::{ApiError, ErrorCode};

/// A rate slower than a byte in this time is none.
const NEVER: Duration = Duration::from_secs(86_400);

/// The clock of one body.
#[derive(Debug)]
pub(super) struct BodyTimer {
    began: Instant,
    received: Arc<AtomicU64>,
    /// Of the pause between two pieces; as long, the rate is not looked at in the beginning.
    idle: Duration,
    /// Bytes per second, on the average since the grace time ended.
    least_rate: u64,
}

impl BodyTimer {
    /// Begins to time `body`, of `announced_bytes` if that is known; the body to read in its place.
    pub(super) fn of(body: Body, announced_bytes: Option<u64>, settings: &Uploads) -> (Self, Body) {
        let received = Arc::default();
        let counted = CountedBody { body, received: Arc::clone(&received) };
        let total_s = settings.total_s.get().as_secs().max(1);
        // What is announced has to come within `total_s`: a slower body is told at once, not when that time is over.
        let least_rate = announced_bytes.map_or(0, |bytes| bytes / total_s).max(settings.min_bytes_per_s);
        (Self { began: Instant::now(), received, idle: settings.idle_s.get(), least_rate }, Body::new(counted))
    }

    /// Waits for the next piece.
    ///
    /// # Errors
    /// 408: nothing came for `idle_s`, or the body is slower than its least rate.
    pub(super) async fn next<T>(&self, next: impl Future<Output = T>) -> Result<T, ApiError> {
        let (mut next, idle_end) = (pin!(next), Instant::now() + self.idle);
        loop {
            if let Ok(value) = timeout_at(idle_end.min(self.too_slow_at()), &mut next).await {
                return Ok(value);
            }
            let now = Instant::now();
            if now >= self.too_slow_at() {
                let (rate, grace) = (self.least_rate, self.idle.as_secs_f64());
                let message = format!(
                    "the body came too slowly: after {grace} s it has to come at {rate} bytes per second on the average"
                );
                return Err(ApiError::new(ErrorCode::Timeout, message));
            }
            if now >= idle_end {
                let message = format!("nothing came for {} s", self.idle.as_secs_f64());
                return Err(ApiError::new(ErrorCode::Timeout, message));
            }
        }
    }

    /// When what came until now is too little.
    fn too_slow_at(&self) -> Instant {
        let millis = self.received.load(Ordering::Relaxed).saturating_mul(1000).checked_div(self.least_rate);
        let earned = millis.map_or(NEVER, Duration::from_millis).min(NEVER);
        self.began + self.idle + earned
    }
}

/// A body whose bytes are counted.
struct CountedBody {
    body: Body,
    received: Arc<AtomicU64>,
}

impl http_body::Body for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
            self.received.fetch_add(bytes, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::future::pending;

    use super::*;
    use crate::Seconds;

    fn settings(idle: Duration) -> Uploads {
        Uploads { idle_s: idle.into(), total_s: Seconds::new(900), min_bytes_per_s: 100, ..Uploads::default() }
    }

    /// Lets `timer` see `bytes` more.
    fn came(timer: &BodyTimer, bytes: u64) {
        timer.received.fetch_add(bytes, Ordering::Relaxed);
    }

    #[test]
    fn what_came_buys_time() {
        let of = |announced| BodyTimer::of(Body::empty(), announced, &settings(Duration::from_secs(30))).0;
        let allowed = |timer: &BodyTimer| (timer.too_slow_at() - timer.began).as_secs();
        let unknown = of(None);
        assert_eq!(allowed(&unknown), 30);
        came(&unknown, 10_000);
        assert_eq!(allowed(&unknown), 130);
        // Who announces more has to be faster: 1000 bytes per second for what has to come within 900 s.
        let announced = of(Some(900_000));
        came(&announced, 10_000);
        assert_eq!(allowed(&announced), 40);
        let free = Uploads { min_bytes_per_s: 0, ..settings(Duration::from_secs(30)) };
        assert!(allowed(&BodyTimer::of(Body::empty(), None, &free).0) > 80_000);
    }

    #[tokio::test]
    async fn a_pause_and_a_drip_end_differently() {
        let idle = Duration::from_millis(100);
        let (silent, _body) = BodyTimer::of(Body::empty(), None, &settings(idle));
        came(&silent, 1_000_000);
        let error = silent.next(pending::<()>()).await.unwrap_err();
        assert!(format!("{error:?}").contains("nothing came for 0.1 s"), "{error:?}");

        let (dripping, _body) = BodyTimer::of(Body::empty(), None, &settings(idle));
        let error = loop {
            // A piece in each tenth of the pause is no silence.
            let piece = dripping.next(tokio::time::sleep(idle / 10)).await;
            if let Err(error) = piece {
                break error;
            }
        };
        assert!(format!("{error:?}").contains("100 bytes per second"), "{error:?}");
    }
}
