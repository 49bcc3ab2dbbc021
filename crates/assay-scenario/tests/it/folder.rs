//! Scenario folders to try things on.
#![expect(clippy::unwrap_used, reason = "fixtures are known to be right")]

use std::fs;
use std::path::{Path, PathBuf};

use assay_scenario::{Scenario, ScenarioError};
use tempfile::TempDir;

/// A built-in scenario, copied into a folder of its own beside a copy of the robots.
pub(crate) struct Folder {
    root: TempDir,
    id: String,
}

impl Folder {
    pub(crate) fn of(id: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        copy(&repository().join("scenarios").join(id), &root.path().join(id));
        copy(&repository().join("robots"), &root.path().join("robots"));
        Self { root, id: id.to_owned() }
    }

    /// The scenario with one edit of `scenario.toml`: the first `old` becomes `new`.
    pub(crate) fn edited(id: &str, old: &str, new: &str) -> Self {
        let folder = Self::of(id);
        let text = folder.text();
        assert!(text.contains(old), "{id} does not hold {old:?}");
        folder.write(&text.replacen(old, new, 1));
        folder
    }

    pub(crate) fn scenario(&self) -> PathBuf {
        self.root.path().join(&self.id)
    }

    pub(crate) fn robots(&self) -> PathBuf {
        self.root.path().join("robots")
    }

    pub(crate) fn text(&self) -> String {
        fs::read_to_string(self.scenario().join("scenario.toml")).unwrap()
    }

    pub(crate) fn write(&self, text: &str) {
        fs::write(self.scenario().join("scenario.toml"), text).unwrap();
    }

    pub(crate) fn load(&self) -> Result<Scenario, ScenarioError> {
        Scenario::load(&self.scenario(), &self.robots())
    }
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
