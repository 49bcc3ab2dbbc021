//! The cached boards.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use assay_model::JobId;

use super::entry::LeaderboardEntry;

/// Maximum number of cached boards; beyond it, the first by name is dropped.
const MAX_BOARDS: usize = 256;

/// The cached boards; shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct Boards(Arc<Mutex<BTreeMap<String, CachedBoard>>>);

/// A board, and the runs that counted when it was computed.
#[derive(Debug)]
struct CachedBoard {
    runs: Vec<JobId>,
    entries: Arc<Vec<LeaderboardEntry>>,
}

impl Boards {
    pub(super) fn cached(&self, name: &str, runs: &[JobId]) -> Option<Arc<Vec<LeaderboardEntry>>> {
        let boards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        boards.get(name).filter(|board| board.runs == runs).map(|board| Arc::clone(&board.entries))
    }

    pub(super) fn store(&self, name: String, runs: Vec<JobId>, entries: &Arc<Vec<LeaderboardEntry>>) {
        let mut boards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if boards.len() >= MAX_BOARDS {
            boards.pop_first();
        }
        boards.insert(name, CachedBoard { runs, entries: Arc::clone(entries) });
    }
}
