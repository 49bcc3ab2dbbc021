//! Requests of workers that wait for work of one kind.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// The requests that wait for work of one kind. None of them wakes by itself before its time is over: so a thousand
/// idle workers cost little.
#[derive(Debug, Default)]
pub(crate) struct WaitingClaims {
    notify: Notify,
    count: AtomicU32,
}

/// A request that may begin to wait. From its creation on it is woken with all others.
#[derive(Debug)]
pub(crate) struct WaitingClaim<'a> {
    claims: &'a WaitingClaims,
    notified: Pin<Box<Notified<'a>>>,
    /// The same request among those that wait for work of another kind.
    other: Option<Box<Self>>,
}

impl WaitingClaims {
    /// Adds a request.
    pub(crate) fn join(&self) -> WaitingClaim<'_> {
        self.count.fetch_add(1, Ordering::Relaxed);
        WaitingClaim { claims: self, notified: Box::pin(self.notify.notified()), other: None }
    }

    /// Returns true if no request waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Wakes the request that waits longest, or the next one that begins to wait.
    pub(crate) fn wake_one(&self) {
        self.notify.notify_one();
    }

    /// Wakes one request in `one_in`, but at least one: those that wait longest. Repeated, it wakes all in turn.
    pub(crate) fn wake_some(&self, one_in: u32) {
        for _ in 0..self.count.load(Ordering::Relaxed).div_ceil(one_in) {
            self.notify.notify_one();
        }
    }

    /// Wakes all requests.
    pub(crate) fn wake_all(&self) {
        self.notify.notify_waiters();
    }
}

impl WaitingClaim<'_> {
    /// Makes the request wait for work of another kind too.
    pub(crate) fn or(mut self, other: Option<Self>) -> Self {
        self.other = other.map(Box::new);
        self
    }

    /// Waits until woken, at most for `limit`. Returns true if it was.
    pub(crate) async fn wait(mut self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.woken()).await.is_ok()
    }

    async fn woken(&mut self) {
        match &mut self.other {
            None => self.notified.as_mut().await,
            Some(other) => tokio::select! {
                () = self.notified.as_mut() => {}
                () = other.notified.as_mut() => {}
            },
        }
    }
}

impl Drop for WaitingClaim<'_> {
    fn drop(&mut self) {
        self.claims.count.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use super::WaitingClaims;

    const LONG: Duration = Duration::from_secs(3600);
    type Wait<'a> = Pin<Box<dyn Future<Output = bool> + 'a>>;

    /// Removes the requests that were woken; returns their number.
    fn woken(waiting: &mut Vec<Wait<'_>>) -> usize {
        let (before, mut context) = (waiting.len(), Context::from_waker(Waker::noop()));
        waiting.retain_mut(|wait| wait.as_mut().poll(&mut context) != Poll::Ready(true));
        before - waiting.len()
    }

    #[tokio::test]
    async fn some_are_woken_in_turn_and_all_at_once() {
        let claims = WaitingClaims::default();
        // Nothing waits, so nothing is woken later.
        claims.wake_some(2);
        assert!(!claims.join().wait(Duration::ZERO).await);
        let mut waiting: Vec<Wait<'_>> = (0..5).map(|_| Box::pin(claims.join().wait(LONG)) as Wait<'_>).collect();
        assert_eq!(woken(&mut waiting), 0);
        claims.wake_some(2);
        assert_eq!(woken(&mut waiting), 3, "every second one, rounded up");
        claims.wake_some(10);
        assert_eq!(woken(&mut waiting), 1, "at least one");
        let next = claims.join();
        claims.wake_all();
        assert_eq!(woken(&mut waiting), 1);
        assert!(next.wait(LONG).await, "one that did not wait yet is woken with the others");
        let others = WaitingClaims::default();
        let both = claims.join().or(Some(others.join()));
        others.wake_all();
        assert!(both.wait(LONG).await, "work of either kind wakes it");
        assert!(claims.is_empty() && others.is_empty());
    }
}
