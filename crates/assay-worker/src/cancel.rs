//! Cancellation, visible to every thread that works on a job.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that is set once.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Creates a flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the underlying flag, for signal handlers.
    #[must_use]
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }

    /// Sets the flag.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// True if the flag is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
