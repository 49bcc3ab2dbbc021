//! The folder of `--out`: nothing that is not ours is touched, and nothing half done stays.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_worker::STATEMENT_FILE;

/// Names of what is written there.
pub(crate) const REPORT_JSON: &str = "report.json";
pub(crate) const REPORT_HTML: &str = "report.html";
pub(crate) const EPISODES: &str = "episodes";
pub(crate) const SCENARIO: &str = "scenario";
/// Copies of the scenario's robots, a folder each.
pub(crate) const ROBOTS: &str = "robots";
/// A copy of the policy, under the one of these names that fits: an archive, a file, a folder. Without a report beside
/// it, a file of such a name is somebody else's.
pub(crate) const POLICIES: [&str; 3] = ["policy.zip", "policy.py", "policy"];
const OURS: [&str; 6] = [REPORT_JSON, REPORT_HTML, STATEMENT_FILE, EPISODES, SCENARIO, ROBOTS];

/// A folder that may be written to.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    existed: bool,
    /// Entries that may be removed.
    ours: Vec<&'static str>,
}

impl Output {
    /// Looks whether `path` is free, empty, or holds only an earlier report. Changes nothing.
    pub(crate) fn check(path: &Path) -> anyhow::Result<Self> {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self { path: path.to_owned(), existed: false, ours: Vec::new() });
            }
            Err(error) => {
                return Err(error).with_context(|| format!("--out: can't use {} as a folder", path.display()));
            }
        };
        let policies: &[&str] = if path.join(REPORT_JSON).is_file() { &POLICIES } else { &[] };
        let ours = [&OURS, policies].concat();
        for entry in entries {
            let name = entry?.file_name();
            if !ours.iter().any(|ours| name == *ours) {
                return Err(anyhow!("--out {} holds {}, which is not ours", path.display(), name.display())
                    .context("choose an empty folder, or one with an earlier report"));
            }
        }
        Ok(Self { path: path.to_owned(), existed: true, ours })
    }

    /// Refuses a policy that lies among what would be removed.
    pub(crate) fn spare(&self, policy: &Path) -> anyhow::Result<()> {
        let inside = |place: &Path| Some(policy.canonicalize().ok()?.starts_with(place.canonicalize().ok()?));
        if inside(&self.path).unwrap_or(false) {
            return Err(anyhow!("{} lies in --out {}, which is replaced", policy.display(), self.path.display())
                .context("choose another folder"));
        }
        Ok(())
    }

    /// Makes the folder; what an earlier run wrote there is removed.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        self.clear()?;
        fs::create_dir_all(&self.path).with_context(|| format!("--out: can't make the folder {}", self.path.display()))
    }

    /// After a run that did not come to its end: what it wrote is removed, and the folder if it made it.
    pub(crate) fn abandon(&self) -> anyhow::Result<()> {
        self.clear()?;
        if self.existed {
            return Ok(());
        }
        fs::remove_dir(&self.path).with_context(|| format!("--out: can't remove {}", self.path.display()))
    }

    fn clear(&self) -> anyhow::Result<()> {
        // What an earlier run left, and this one wrote.
        let names: BTreeSet<_> = self.ours.iter().chain(&OURS).collect();
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
