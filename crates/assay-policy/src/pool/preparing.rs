//! A policy that is being loaded in the background.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::error::TakeError;
use super::load::{LoadOutcome, LoadRequest, take};
use super::shared::PoolShared;

/// A policy that is being loaded. Dropping it cancels the loading and cleans up.
#[derive(Debug)]
pub struct PreparingPolicy {
    thread: Option<JoinHandle<Result<LoadOutcome, TakeError>>>,
    cancelled: Arc<AtomicBool>,
}

impl PreparingPolicy {
    pub(super) fn start(shared: Arc<PoolShared>, order: LoadRequest) -> std::io::Result<Self> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&cancelled);
        let builder = std::thread::Builder::new().name("policy-load".to_owned());
        // This thread may end before the policy does, because the process was spawned by the pool's own thread.
        let thread = builder.spawn(move || take(&shared, &order, &|| flag.load(Ordering::Relaxed)))?;
        Ok(Self { thread: Some(thread), cancelled })
    }

    /// Returns true if [`Self::wait`] would return at once.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the loading to end.
    ///
    /// # Errors
    /// As [`super::Pool::take`].
    pub fn wait(mut self) -> Result<LoadOutcome, TakeError> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(TakeError::Cancelled),
        }
    }
}

impl Drop for PreparingPolicy {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
