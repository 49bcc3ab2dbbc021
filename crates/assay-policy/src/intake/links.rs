//! Links in a policy's folder: those that lead to a file of the folder itself are followed, and those in a download of
//! the Hugging Face Hub (`models--OWNER--NAME`, whose snapshots consist of links to its blobs) that stay in it.

use std::fs::{File, FileType};
use std::io;
use std::path::{Path, PathBuf};

use assay_jail::UntrustedFolder;

use super::error::EntryProblem;

/// Beginning of the name of a download's folder.
const DOWNLOAD: &str = "models--";

/// The folders that links may lead to, by their paths without links.
#[derive(Debug)]
pub(super) struct LinkRoots {
    root: PathBuf,
    download: Option<PathBuf>,
}

/// The place of a file below one of the folders, without a link on the way.
#[derive(Debug)]
pub(super) struct LinkTarget {
    is_in_root: bool,
    inside: PathBuf,
}

/// The folders, open.
pub(super) struct OpenRoots {
    root: UntrustedFolder,
    download: Option<UntrustedFolder>,
}

impl LinkRoots {
    pub(super) fn of(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let is_download =
            |path: &&Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(DOWNLOAD));
        let download = root.ancestors().find(is_download).map(Path::to_owned);
        Ok(Self { root, download })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns what the link at `path` leads to, and its type.
    pub(super) fn follow(&self, path: &Path) -> Result<(PathBuf, FileType), EntryProblem> {
        let target = path.canonicalize().map_err(|_| EntryProblem::Broken)?;
        if self.place(&target).is_none() {
            return Err(EntryProblem::Outside);
        }
        if path.starts_with(&target) {
            return Err(EntryProblem::Circle);
        }
        let kind = target.symlink_metadata().map_err(|_| EntryProblem::Broken)?.file_type();
        Ok((target, kind))
    }

    /// Returns the place of the file at `path`, which has no links.
    pub(super) fn place(&self, path: &Path) -> Option<LinkTarget> {
        let of = |folder: &Path, is_in_root| {
            Some(LinkTarget { is_in_root, inside: path.strip_prefix(folder).ok()?.to_owned() })
        };
        of(&self.root, true).or_else(|| of(self.download.as_deref()?, false))
    }

    pub(super) fn open(&self) -> io::Result<OpenRoots> {
        let download = self.download.as_deref().map(UntrustedFolder::open).transpose()?;
        Ok(OpenRoots { root: UntrustedFolder::open(&self.root)?, download })
    }
}

impl OpenRoots {
    /// Opens a file; a link that has taken its place, or that of a folder on the way, is not followed.
    pub(super) fn file(&self, target: &LinkTarget) -> io::Result<File> {
        let folder = if target.is_in_root { Some(&self.root) } else { self.download.as_ref() };
        folder.ok_or(io::ErrorKind::NotFound)?.file(&target.inside)
    }
}
