//! The folder of `--out`. Only files that assay wrote are replaced, and an incomplete run leaves nothing behind.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_worker::STATEMENT_FILE;

/// Names of the files and folders in the results folder.
pub(crate) const REPORT_JSON: &str = "report.json";
pub(crate) const REPORT_HTML: &str = "report.html";
pub(crate) const EPISODES: &str = "episodes";
pub(crate) const SCENARIO: &str = "scenario";
/// Folder with copies of the scenario's robots, one folder each.
pub(crate) const ROBOTS: &str = "robots";
/// Names of the copy of the policy: as an archive, a file, or a folder. A file with one of these names belongs to assay
/// only if there is a report beside it.
pub(crate) const POLICIES: [&str; 3] = ["policy.zip", "policy.py", "policy"];
const RESULT_NAMES: [&str; 6] = [REPORT_JSON, REPORT_HTML, STATEMENT_FILE, EPISODES, SCENARIO, ROBOTS];

/// A results folder that may be written to.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    existed: bool,
    /// Names of entries that may be removed.
    removable: Vec<&'static str>,
}

impl Output {
    /// Checks that `path` does not exist, is empty, or contains only an earlier report. Changes nothing.
    pub(crate) fn check(path: &Path) -> anyhow::Result<Self> {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self { path: path.to_owned(), existed: false, removable: Vec::new() });
            }
            Err(error) => {
                return Err(error).with_context(|| format!("--out: can't use {} as a folder", path.display()));
            }
        };
        let policies: &[&str] = if path.join(REPORT_JSON).is_file() { &POLICIES } else { &[] };
        let removable = [&RESULT_NAMES, policies].concat();
        for entry in entries {
            let name = entry?.file_name();
            if !removable.iter().any(|removable| name == *removable) {
                return Err(anyhow!("--out {} contains {}, which assay did not write", path.display(), name.display())
                    .context("choose an empty folder, or one with an earlier report"));
            }
        }
        Ok(Self { path: path.to_owned(), existed: true, removable })
    }

    /// Returns an error if the policy is inside the folder, where it would be removed.
    pub(crate) fn ensure_outside(&self, policy: &Path) -> anyhow::Result<()> {
        let inside = |place: &Path| Some(policy.canonicalize().ok()?.starts_with(place.canonicalize().ok()?));
        if inside(&self.path).unwrap_or(false) {
            return Err(anyhow!("{} is inside --out {}, which is replaced", policy.display(), self.path.display())
                .context("choose another folder"));
        }
        Ok(())
    }

    /// Creates the folder and removes the results of an earlier run from it.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        self.clear()?;
        fs::create_dir_all(&self.path)
            .with_context(|| format!("--out: can't create the folder {}", self.path.display()))
    }

    /// Removes everything that an incomplete run wrote, and the folder itself if the run created it.
    pub(crate) fn abandon(&self) -> anyhow::Result<()> {
        self.clear()?;
        if self.existed {
            return Ok(());
        }
        fs::remove_dir(&self.path).with_context(|| format!("--out: can't remove {}", self.path.display()))
    }

    fn clear(&self) -> anyhow::Result<()> {
        // Files of an earlier run and of this one.
        let names: BTreeSet<_> = self.removable.iter().chain(&RESULT_NAMES).collect();
        for path in names.into_iter().map(|name| self.path.join(name)) {
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match removed {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("--out: can't remove {}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
