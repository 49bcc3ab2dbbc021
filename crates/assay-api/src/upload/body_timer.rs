//! The minimum rate of a body. A slow client holds a connection, one of its account's uploads and the disk space that
//! it announced, so a body that arrives more slowly is rejected.

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

/// The time limit of a body without a minimum rate.
const NEVER: Duration = Duration::from_secs(86_400);

/// The time limits of one body.
#[derive(Debug)]
pub(crate) struct BodyTimer {
    began: Instant,
    received: Arc<AtomicU64>,
    /// Maximum pause between two pieces, and length of the grace period before the rate is checked.
    idle: Duration,
    /// Minimum bytes per second, on average since the end of the grace period.
    min_rate: u64,
}

impl BodyTimer {
    /// Starts to time `body`, of `announced_bytes` if that is known. Returns the timer, and the body to read instead.
    pub(crate) fn of(body: Body, announced_bytes: Option<u64>, settings: &Uploads) -> (Self, Body) {
        let received = Arc::default();
        let counted = CountedBody { body, received: Arc::clone(&received) };
        let total_s = settings.total_s.get().as_secs().max(1);
        // The announced bytes must arrive within `total_s`: a slower body is rejected early, not when that time is
        // over.
        let min_rate = announced_bytes.map_or(0, |bytes| bytes / total_s).max(settings.min_bytes_per_s);
        (Self { began: Instant::now(), received, idle: settings.idle_s.get(), min_rate }, Body::new(counted))
    }

    /// Waits for the next piece.
    ///
    /// # Errors
    /// 408: nothing was received for `idle_s`, or the body is slower than its minimum rate.
    pub(crate) async fn next<T>(&self, next: impl Future<Output = T>) -> Result<T, ApiError> {
        let (mut next, idle_end) = (pin!(next), Instant::now() + self.idle);
        loop {
            if let Ok(value) = timeout_at(idle_end.min(self.too_slow_at()), &mut next).await {
                return Ok(value);
            }
            let now = Instant::now();
            if now >= self.too_slow_at() {
                let (rate, grace) = (self.min_rate, self.idle.as_secs_f64());
                let message = format!(
                    "the body is too slow: after {grace} s it must arrive at {rate} bytes per second on average"
                );
                return Err(ApiError::new(ErrorCode::Timeout, message));
            }
            if now >= idle_end {
                let message = format!("nothing was received for {} s", self.idle.as_secs_f64());
                return Err(ApiError::new(ErrorCode::Timeout, message));
            }
        }
    }

    /// Returns the time from which the bytes received so far are too few.
    fn too_slow_at(&self) -> Instant {
        let millis = self.received.load(Ordering::Relaxed).saturating_mul(1000).checked_div(self.min_rate);
        let earned = millis.map_or(NEVER, Duration::from_millis).min(NEVER);
        self.began + self.idle + earned
    }
}

/// A body that counts the bytes read from it.
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

    /// Counts further `bytes` as received.
    fn receive(timer: &BodyTimer, bytes: u64) {
        timer.received.fetch_add(bytes, Ordering::Relaxed);
    }

    #[test]
    fn received_bytes_extend_the_time_limit() {
        let of = |announced| BodyTimer::of(Body::empty(), announced, &settings(Duration::from_secs(30))).0;
        let allowed = |timer: &BodyTimer| (timer.too_slow_at() - timer.began).as_secs();
        let unknown = of(None);
        assert_eq!(allowed(&unknown), 30);
        receive(&unknown, 10_000);
        assert_eq!(allowed(&unknown), 130);
        // A larger announced body must be faster: 1000 bytes per second for a body that must arrive within 900 s.
        let announced = of(Some(900_000));
        receive(&announced, 10_000);
        assert_eq!(allowed(&announced), 40);
        let free = Uploads { min_bytes_per_s: 0, ..settings(Duration::from_secs(30)) };
        assert!(allowed(&BodyTimer::of(Body::empty(), None, &free).0) > 80_000);
    }

    #[tokio::test]
    async fn a_pause_and_a_slow_body_have_different_errors() {
        let idle = Duration::from_millis(100);
        let (silent, _body) = BodyTimer::of(Body::empty(), None, &settings(idle));
        receive(&silent, 1_000_000);
        let error = silent.next(pending::<()>()).await.unwrap_err();
        assert!(format!("{error:?}").contains("nothing was received for 0.1 s"), "{error:?}");

        let (dripping, _body) = BodyTimer::of(Body::empty(), None, &settings(idle));
        let error = loop {
            // Pieces at a tenth of the maximum pause do not count as a pause.
            let piece = dripping.next(tokio::time::sleep(idle / 10)).await;
            if let Err(error) = piece {
                break error;
            }
        };
        assert!(format!("{error:?}").contains("100 bytes per second"), "{error:?}");
    }
}
