//! Limits the number of renderers to the number of idle lanes.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::intervals::POLL;

/// State shared by the rendering threads.
#[derive(Debug, Default)]
pub(crate) struct Renderers {
    /// Held by the one thread that looks for work.
    pub(crate) turn: Mutex<()>,
    count: Mutex<Count>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Count {
    /// Number of lanes that found nothing to claim, and wait.
    idle_lanes: usize,
    /// Number of running renderers.
    running: usize,
    /// True if there may be something to render.
    hint: bool,
}

/// Counts a lane as idle until dropped.
#[derive(Debug)]
pub(crate) struct IdleLane<'a>(&'a Renderers);

/// Counts a renderer as running until dropped.
#[derive(Debug)]
pub(crate) struct RunningRenderer<'a> {
    renderers: &'a Renderers,
    /// True if there may be more to render after it.
    pub(crate) hint: bool,
}

impl Renderers {
    /// Counts a lane that found nothing to claim.
    pub(crate) fn idle(&self) -> IdleLane<'_> {
        let mut count = lock(&self.count);
        count.idle_lanes += 1;
        count.hint = true;
        self.changed.notify_all();
        IdleLane(self)
    }

    /// Counts a renderer, if there is a lane that does not need its processor.
    pub(crate) fn start(&self) -> Option<RunningRenderer<'_>> {
        let mut count = lock(&self.count);
        (count.running < count.idle_lanes).then(|| {
            count.running += 1;
            RunningRenderer { renderers: self, hint: true }
        })
    }

    pub(crate) fn wait_for_hint(&self) {
        let waited = self.changed.wait_timeout_while(lock(&self.count), POLL, |count| !count.hint);
        waited.unwrap_or_else(PoisonError::into_inner).0.hint = false;
    }
}

impl Drop for IdleLane<'_> {
    fn drop(&mut self) {
        lock(&self.0.count).idle_lanes -= 1;
    }
}

impl Drop for RunningRenderer<'_> {
    fn drop(&mut self) {
        let mut count = lock(&self.renderers.count);
        count.running -= 1;
        if self.hint {
            count.hint = true;
            self.renderers.changed.notify_all();
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Renderers;

    #[test]
    fn there_are_no_more_renderers_than_idle_lanes() {
        let renderers = Renderers::default();
        assert!(renderers.start().is_none(), "every lane has work");
        let (one, two) = (renderers.idle(), renderers.idle());
        let first = renderers.start();
        let second = renderers.start();
        assert!(first.is_some() && second.is_some() && renderers.start().is_none());
        drop(first);
        drop(one);
        assert!(renderers.start().is_none(), "a lane has work again, and the other's renderer runs");
        drop(second);
        assert!(renderers.start().is_some());
        drop(two);
        assert!(renderers.start().is_none());
    }
}
