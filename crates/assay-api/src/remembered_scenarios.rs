//! Remembers the files of the scenarios that workers fetched last.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use assay_model::{ScenarioFile, Sha256Digest};

/// Maximum number of versions whose files are remembered: at most 1 MiB for each.
const MAX_REMEMBERED: usize = 32;

/// The files of one scenario.
pub(crate) type LocatedFiles = Arc<[LocatedFile]>;

/// A file with its path on this machine.
#[derive(Debug)]
pub(crate) struct LocatedFile {
    pub(crate) file: ScenarioFile,
    pub(crate) path: PathBuf,
}

/// The files of the versions that workers fetched last. A version never changes, so its files are read once.
#[derive(Debug, Default)]
pub(crate) struct RememberedScenarios(Mutex<HashMap<Sha256Digest, LocatedFiles>>);

impl RememberedScenarios {
    /// Returns the files of a version, if they are remembered.
    pub(crate) fn get(&self, version: Sha256Digest) -> Option<LocatedFiles> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&version).cloned()
    }

    /// Remembers the files of a version.
    pub(crate) fn remember(&self, version: Sha256Digest, files: &LocatedFiles) {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= MAX_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(version, Arc::clone(files));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_versions_are_remembered() {
        let remembered = RememberedScenarios::default();
        let version = |n: usize| Sha256Digest::of(n.to_le_bytes());
        let files: LocatedFiles = Arc::new([]);
        for n in 0..=2 * MAX_REMEMBERED {
            remembered.remember(version(n), &files);
            assert!(remembered.get(version(n)).is_some_and(|found| Arc::ptr_eq(&found, &files)));
        }
        let kept = (0..=2 * MAX_REMEMBERED).filter(|n| remembered.get(version(*n)).is_some()).count();
        assert!(kept <= MAX_REMEMBERED, "{kept}");
    }
}
