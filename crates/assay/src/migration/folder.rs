//! The new data folder while it is being filled.

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use crate::backup::POLICIES;
use crate::backup::target::FolderNames;

/// File in the folder with what is being migrated.
const PLAN_FILE: &str = "migration.json";
/// Folder in it with the copy of the records.
const RECORDS: &str = "migration-records";

/// The old and the new places. A migration that is continued must have the same.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MigrationPlan {
    /// The old data folder.
    pub(super) from: PathBuf,
    /// Address of the database without password.
    pub(super) store: String,
    /// Address of the bucket.
    pub(super) blobs: Option<String>,
}

/// The new data folder under its temporary name. It stays if the migration ends early.
#[derive(Debug)]
pub(super) struct NewDataFolder {
    names: FolderNames,
    /// True if no earlier run of the migration created it.
    is_new: bool,
}

impl NewDataFolder {
    /// Creates the folder that becomes `place`, or opens the one of the same unfinished migration.
    pub(super) fn begin(place: &Path, plan: &MigrationPlan) -> anyhow::Result<Self> {
        let names = FolderNames::of(place)?;
        let file = names.partial().join(PLAN_FILE);
        let is_new = names.create()? || fs::read_dir(names.partial())?.next().is_none();
        if is_new {
            let mut written = File::create(&file)?;
            serde_json::to_writer(&mut written, plan)?;
            writeln!(written)?;
            written.sync_all()?;
        } else {
            let before: Option<MigrationPlan> =
                fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
            ensure!(
                before.as_ref() == Some(plan),
                "{} belongs to another migration or to a backup: repeat that one, or remove the folder",
                names.partial().display()
            );
        }
        let policies = names.partial().join(POLICIES);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&policies)
            .with_context(|| policies.display().to_string())?;
        Ok(Self { names, is_new })
    }

    /// Returns the path to write to.
    pub(super) fn path(&self) -> &Path {
        self.names.partial()
    }

    /// Returns whether no earlier run of the migration created it.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    /// Removes it with everything in it.
    pub(super) fn abandon(self) -> anyhow::Result<()> {
        remove(self.path())
    }

    /// Creates an empty folder for the copy of the records.
    pub(super) fn records_folder(&self) -> anyhow::Result<PathBuf> {
        let folder = self.path().join(RECORDS);
        remove(&folder)?;
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(folder)
    }

    /// Removes what only the migration needed, and gives the folder its name.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        remove(&self.path().join(RECORDS))?;
        match fs::remove_file(self.path().join(PLAN_FILE)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        self.names.publish()
    }
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).with_context(|| folder.display().to_string()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn only_the_same_migration_goes_on() {
        let parent = tempfile::tempdir().unwrap();
        let (place, partial) = (parent.path().join("new"), parent.path().join("new.partial"));
        let plan = |blobs: Option<&str>| MigrationPlan {
            from: "/old".into(),
            store: "postgres://db/assay".into(),
            blobs: blobs.map(ToOwned::to_owned),
        };
        drop(NewDataFolder::begin(&place, &plan(None)).unwrap());
        let other = NewDataFolder::begin(&place, &plan(Some("s3://evidence"))).unwrap_err();
        assert!(other.to_string().contains("new.partial belongs to another migration"), "{other}");
        let folder = NewDataFolder::begin(&place, &plan(None)).unwrap();
        fs::write(folder.records_folder().unwrap().join("assay.db"), "records").unwrap();
        assert_eq!(fs::read_dir(folder.records_folder().unwrap()).unwrap().count(), 0, "it is made anew");
        folder.finish().unwrap();
        assert!(!partial.exists());
        let names: Vec<_> = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [POLICIES]);
        let again = NewDataFolder::begin(&place, &plan(None)).unwrap_err();
        assert!(again.to_string().contains("is not empty"), "{again}");
    }
}
