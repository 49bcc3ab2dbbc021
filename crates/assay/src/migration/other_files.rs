//! The files that stay in a data folder: everything but records, evidence, archives, and uploads that have not ended.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::Path;

use anyhow::Context;
use assay_store::RecordsCopy;

use crate::backup::{BLOBS, BUCKET, MODELS, POLICIES};
use crate::options::RUNTIMES;
use crate::service::RuntimePacks;

/// Files and folders that are not copied: those that are migrated otherwise, and those of running servers.
const LEFT: [&str; 9] =
    [BLOBS, POLICIES, BUCKET, RuntimePacks::FOLDER, "assay.lock", "locks", "site", "tasks", "uploads"];
/// Folders whose files never change once they are complete: they are linked if possible.
const LINKED: [&str; 2] = [MODELS, RUNTIMES];
/// Suffix of a model that is still being uploaded.
const UPLOADING: &str = "part";
/// Permission bits of a file mode.
const PERMISSIONS: u32 = 0o777;

/// Copies the files that stay in a data folder from `from` to `to`; what an earlier attempt copied is replaced.
pub(super) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        let text = name.to_string_lossy();
        // The records, their log, and copies from before upgrades.
        if LEFT.contains(&&*text) || text.starts_with(RecordsCopy::FILE_NAME) {
            continue;
        }
        let (source, target) = (from.join(&name), to.join(&name));
        let copied = remove(&target).and_then(|()| copy_tree(&source, &target, LINKED.contains(&&*text)));
        copied.with_context(|| format!("can't copy {} to {}", source.display(), target.display()))?;
    }
    Ok(())
}

fn copy_tree(from: &Path, to: &Path, links: bool) -> io::Result<()> {
    let about = fs::symlink_metadata(from)?;
    if about.is_dir() {
        DirBuilder::new().mode(0o700).create(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy_tree(&from.join(&name), &to.join(&name), links)?;
        }
        return fs::set_permissions(to, Permissions::from_mode(about.permissions().mode() & PERMISSIONS));
    }
    if about.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    let is_linked =
        links && from.extension().is_none_or(|suffix| suffix != UPLOADING) && fs::hard_link(from, to).is_ok();
    if about.is_file() && !is_linked {
        fs::copy(from, to)?;
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn files_are_copied_with_their_permissions_and_models_are_linked() {
        let folders = tempfile::tempdir().unwrap();
        let (old, new) = (folders.path().join("old"), folders.path().join("new"));
        let write = |path: &str, mode: u32| {
            fs::create_dir_all(old.join(path).parent().unwrap()).unwrap();
            fs::write(old.join(path), path).unwrap();
            fs::set_permissions(old.join(path), Permissions::from_mode(mode)).unwrap();
        };
        let kept =
            ["artifact-secret", "signing/key.pem", "models/lab/ab", "models/lab/1.part", "runtimes/mine/python3.11"];
        let left =
            ["assay.db", "assay.db-wal", "assay.db.before-v3", "assay.lock", "blobs/jobs/1/ab", "policies/ab.zip"];
        kept.iter().chain(&left).for_each(|path| write(path, 0o640));
        symlink("python3.11", old.join("runtimes/mine/python")).unwrap();
        fs::create_dir(&new).unwrap();
        fs::write(new.join("artifact-secret"), "of an earlier attempt").unwrap();
        copy(&old, &new).unwrap();
        copy(&old, &new).unwrap();
        let inode = |folder: &Path, path: &str| fs::metadata(folder.join(path)).unwrap().ino();
        for path in kept {
            assert_eq!(fs::read_to_string(new.join(path)).unwrap(), path);
            assert_eq!(fs::metadata(new.join(path)).unwrap().permissions().mode() & PERMISSIONS, 0o640, "{path}");
            let is_linked = inode(&old, path) == inode(&new, path);
            assert_eq!(is_linked, path == "models/lab/ab" || path.starts_with("runtimes"), "{path}");
        }
        assert_eq!(fs::read_link(new.join("runtimes/mine/python")).unwrap(), Path::new("python3.11"));
        assert!(left.iter().all(|path| !new.join(path).exists()));
    }
}
