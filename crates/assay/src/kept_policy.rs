//! The copy of the policy beside its report, which `assay replay` uses by default.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_jail::UntrustedFolder;
use assay_model::Sha256Digest;
use assay_worker::sha256_of;

use crate::output::POLICIES;

/// Copies the policy at `given`, which was unpacked to the folder `unpacked`, to the folder `out`. The copy has the
/// digest `sha256`: an archive is copied byte for byte, anything else from the unpacked files.
pub(crate) fn keep(given: &Path, unpacked: &Path, sha256: Sha256Digest, out: &Path) -> anyhow::Result<()> {
    let [archive, file, folder] = POLICIES.map(|name| out.join(name));
    if given.is_dir() {
        return copy_folder(unpacked, &folder).with_context(|| format!("can't write {}", folder.display()));
    }
    if given.extension().is_some_and(|extension| extension == "py") {
        let copied = fs::copy(unpacked.join("policy.py"), &file);
        return copied.map(drop).with_context(|| format!("can't write {}", file.display()));
    }
    fs::copy(given, &archive).with_context(|| format!("can't copy {}", given.display()))?;
    if sha256_of(&archive)? != sha256 {
        fs::remove_file(&archive)?;
        return Err(anyhow!("{} changed during the evaluation", given.display()));
    }
    Ok(())
}

/// Returns the path of the policy beside the report in `folder`. A link or a pipe with such a name is not a policy.
pub(crate) fn find(folder: &UntrustedFolder) -> Option<PathBuf> {
    let is_policy = |name: &&str| folder.kind(name).is_some_and(|kind| kind.is_file() || kind.is_dir());
    POLICIES.into_iter().find(is_policy).map(|name| folder.path().join(name))
}

/// Copies a folder with its contents; an unpacked policy contains no links.
fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &copy)?;
        } else {
            fs::write(copy, fs::read(entry.path())?)?;
        }
    }
    Ok(())
}
