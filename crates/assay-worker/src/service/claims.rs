//! The shards that this process holds.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_store::Fence;

use crate::Cancel;

/// Held shards with the flags that stop work on them.
#[derive(Debug, Default)]
pub(crate) struct Claims(Mutex<HashMap<Fence, Cancel>>);

impl Claims {
    pub(crate) fn add(&self, fence: Fence) -> Cancel {
        let cancel = Cancel::new();
        self.lock().insert(fence, cancel.clone());
        cancel
    }

    pub(crate) fn remove(&self, fence: &Fence) {
        self.lock().remove(fence);
    }

    pub(crate) fn all(&self) -> Vec<(Fence, Cancel)> {
        self.lock().iter().map(|(fence, cancel)| (*fence, cancel.clone())).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(crate) fn cancel_all(&self) {
        self.lock().values().for_each(Cancel::cancel);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Fence, Cancel>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
