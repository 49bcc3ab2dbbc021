//! The leases held by this process.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_store::{ConclusionFence, Fence, RenderFence};

use crate::Cancel;

/// Something that this process holds a lease on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Held {
    /// Episodes to run.
    Shard(Fence),
    /// A job to conclude.
    Conclusion(ConclusionFence),
    /// A log or a video to render.
    Render(RenderFence),
}

/// The leases held, each with the flag that stops work on it.
#[derive(Debug, Default)]
pub(crate) struct Claims(Mutex<HashMap<Held, Cancel>>);

impl Claims {
    pub(crate) fn add(&self, held: Held) -> Cancel {
        let cancel = Cancel::new();
        self.lock().insert(held, cancel.clone());
        cancel
    }

    pub(crate) fn remove(&self, held: &Held) {
        self.lock().remove(held);
    }

    pub(crate) fn all(&self) -> Vec<(Held, Cancel)> {
        self.lock().iter().map(|(held, cancel)| (*held, cancel.clone())).collect()
    }

    /// Returns the shards held.
    pub(crate) fn shards(&self) -> Vec<(Fence, Cancel)> {
        let shard = |(held, cancel): (&Held, &Cancel)| match held {
            Held::Shard(fence) => Some((*fence, cancel.clone())),
            Held::Conclusion(_) | Held::Render(_) => None,
        };
        self.lock().iter().filter_map(shard).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(crate) fn cancel_all(&self) {
        self.lock().values().for_each(Cancel::cancel);
    }

    /// Stops all rendering.
    pub(crate) fn cancel_renders(&self) {
        self.lock().iter().filter(|(held, _)| matches!(held, Held::Render(_))).for_each(|(_, cancel)| cancel.cancel());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Held, Cancel>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
