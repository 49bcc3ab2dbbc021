//! A deadline for a server that sends nothing.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

/// The time in which there was nothing to read.
#[derive(Debug, Default)]
struct Silence {
    ended: Duration,
    since: Option<Instant>,
}

impl Silence {
    /// Something arrived at `now`.
    fn end(&mut self, now: Instant) {
        if let Some(since) = self.since.take() {
            self.ended += now.saturating_duration_since(since);
        }
    }

    /// All that arrived is handled at `now`. Returns the rest of `limit`, if there is any.
    fn begin(&mut self, now: Instant, limit: Duration) -> Option<Duration> {
        self.since = Some(now);
        limit.checked_sub(self.ended).filter(|left| !left.is_zero())
    }
}

/// Waits for `work`; returns `None` once it had nothing to do for `limit`, in all. The time for handling what a server
/// sends does not count, so that a flood is found by its size, however long this machine takes to read it.
pub(super) async fn within_silence<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut timer) = (pin!(work), pin!(tokio::time::sleep(limit)));
    let mut silence = Silence::default();
    poll_fn(|cx| {
        silence.end(Instant::now());
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(done));
        }
        let now = Instant::now();
        let Some(left) = silence.begin(now, limit) else { return Poll::Ready(None) };
        timer.as_mut().reset((now + left).into());
        timer.as_mut().poll(cx).map(|()| None)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_between_two_messages_counts() {
        let (start, limit) = (Instant::now(), Duration::from_millis(100));
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut silence = Silence::default();
        silence.end(at(0));
        // A message that takes a second to read.
        assert_eq!(silence.begin(at(1000), limit), Some(limit));
        silence.end(at(1060));
        assert_eq!(silence.begin(at(5000), limit), Some(Duration::from_millis(40)));
        silence.end(at(5040));
        assert_eq!(silence.begin(at(5041), limit), None, "two silences");
    }

    #[tokio::test]
    async fn a_silent_server_is_late_and_an_answer_is_not() {
        let limit = Duration::from_millis(20);
        assert_eq!(within_silence(limit, std::future::pending::<()>()).await, None);
        assert_eq!(within_silence(limit, async { 7 }).await, Some(7));
        let drips = async {
            loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        assert_eq!(within_silence::<()>(limit, drips).await, None);
    }
}
