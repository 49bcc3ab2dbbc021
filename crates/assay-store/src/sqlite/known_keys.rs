//! Keys that were read, for as long as the database is what it was then: every request asks for one, and hardly ever has
//! anything changed. A key that another process revokes is not known from then on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::commits::{State, StateFile};
use crate::{KeyId, KeyRecord};

/// Keys that are remembered at most.
const MAX_KEYS: usize = 1024;

/// The keys, and the state of the database that they were read from.
#[derive(Debug)]
pub(super) struct KnownKeys {
    file: StateFile,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    state: Option<State>,
    keys: HashMap<KeyId, Arc<KeyRecord>>,
}

impl KnownKeys {
    pub(super) fn new(file: StateFile) -> Self {
        Self { file, known: Mutex::default() }
    }

    /// The key as it is now, which `read` finds if it is not known.
    pub(super) fn get<E>(
        &self,
        id: &KeyId,
        read: impl FnOnce() -> Result<Option<KeyRecord>, E>,
    ) -> Result<Option<Arc<KeyRecord>>, E> {
        // Before it is read: what changes meanwhile makes it unknown again.
        let state = self.file.now();
        if let Some(key) = state.and_then(|state| self.known_in(state, id)) {
            return Ok(Some(key));
        }
        let found = read()?.map(Arc::new);
        if let (Some(state), Some(key)) = (state, &found) {
            self.learn(state, id, key);
        }
        Ok(found)
    }

    fn known_in(&self, state: State, id: &KeyId) -> Option<Arc<KeyRecord>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.keys.get(id).filter(|_| known.state == Some(state)).cloned()
    }

    fn learn(&self, state: State, id: &KeyId, key: &Arc<KeyRecord>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.state != Some(state) || known.keys.len() >= MAX_KEYS {
            known.state = Some(state);
            known.keys.clear();
        }
        known.keys.insert(id.clone(), Arc::clone(key));
    }
}
