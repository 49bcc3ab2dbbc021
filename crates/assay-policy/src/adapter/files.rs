//! A policy's files, as the checks of an adapter see them.

use std::path::{Path, PathBuf};

use super::error::AdapterError;

/// The beginning of a file.
#[derive(Debug)]
pub(crate) struct FileStart {
    /// Its first bytes, as many as were asked for if it has so many.
    pub(crate) bytes: Vec<u8>,
    /// Its size in bytes.
    pub(crate) total: u64,
}

/// Reads the beginning of the file with an index, at most as many bytes as the second argument says.
pub(super) type ReadStart<'a, E> = &'a mut dyn FnMut(usize, usize) -> Result<FileStart, E>;

/// The names of a policy's files and models.
pub(super) struct PolicyFiles<'a> {
    pub(super) files: &'a [PathBuf],
    pub(super) models: &'a [&'a str],
}

impl PolicyFiles<'_> {
    /// Returns the index of a file.
    pub(super) fn find(&self, path: &str) -> Option<usize> {
        self.files.iter().position(|file| file == Path::new(path))
    }

    /// Returns true if there is a file or a declared model of this path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.find(path).is_some() || self.models.contains(&path)
    }

    /// Returns the names of the files directly in `folder`.
    pub(super) fn names_in(&self, folder: &str) -> impl Iterator<Item = &str> {
        let inside = self.files.iter().filter(move |file| file.parent() == Some(Path::new(folder)));
        inside.filter_map(|file| file.file_name()?.to_str())
    }
}

/// Returns the error for a file that is not in the policy's folder.
pub(super) fn missing(path: &str) -> AdapterError {
    AdapterError::file(path, "is not in the policy's folder or archive; add it, or correct its path in policy.toml")
}

/// Returns a text without the byte order mark that editors of Windows write.
pub(super) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}
