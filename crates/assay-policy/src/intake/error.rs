//! Errors of an intake: each names the entry, the problem and the remedy.

use std::path::{Path, PathBuf};

use assay_model::{DeclaredModel, Sha256Digest, sanitise};

use super::limits::{ArchiveKind, MAX_DEPTH, MAX_NAME_BYTES};
use crate::{AdapterError, DeclarationError};

/// Maximum length of a displayed name, in bytes.
const SHOWN_NAME_BYTES: usize = 200;
const MIB: u64 = 1024 * 1024;

/// A policy or scenario that was rejected.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// The path does not exist.
    #[error("{path} does not exist; specify a zip archive, a folder with policy.py, or a .py file")]
    NotFound {
        /// The given path.
        path: PathBuf,
    },
    /// The archive is not supported.
    #[error("this is not a usable zip archive: {why}; pack the folder again with an ordinary zip program")]
    NotZip {
        /// The problem.
        why: String,
    },
    /// The file is something else than a policy or scenario.
    #[error("it is {what}; {next}")]
    OtherFormat {
        /// Its kind.
        what: &'static str,
        /// The next step instead.
        next: String,
    },
    /// The archive is too large.
    #[error("the archive has {} MiB, but at most {} MiB are allowed; remove files that the {what} does not need", .bytes.div_ceil(MIB), .limit / MIB)]
    TooLarge {
        /// Its kind.
        what: ArchiveKind,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The unpacked files are too large.
    #[error("unpacked, the {what} has more than {} MiB; remove files that it does not need", .limit / MIB)]
    TooLargeUnpacked {
        /// Its kind.
        what: ArchiveKind,
        /// The limit in bytes.
        limit: u64,
    },
    /// Too many files.
    #[error("the {what} has {found} entries, but at most {limit} are allowed; {}", fewer(.fullest.as_deref()))]
    TooManyEntries {
        /// Its kind.
        what: ArchiveKind,
        /// The number of entries counted before the limit was exceeded.
        found: usize,
        /// The limit.
        limit: usize,
        /// The folder that most of them are in.
        fullest: Option<String>,
    },
    /// An entry is invalid.
    #[error("entry '{entry}': {problem}")]
    Entry {
        /// Its name, sanitised.
        entry: String,
        /// The problem.
        problem: EntryProblem,
    },
    /// `policy.py` or `scenario.toml` is missing.
    #[error("there is no {} at the root of the {what} (or in its only top folder){}", .what.main(), hint(.what, .elsewhere))]
    NoMain {
        /// Its kind.
        what: ArchiveKind,
        /// The file that was found instead.
        elsewhere: Option<String>,
    },
    /// A model that the policy declares is invalid.
    #[error("the model '{path}': {problem}")]
    Model {
        /// Its declared path, sanitised.
        path: String,
        /// The problem.
        problem: ModelProblem,
    },
    /// The policy's declaration of its runtime is invalid.
    #[error("{file}: {problem}")]
    Declaration {
        /// The file.
        file: &'static str,
        /// The problem.
        problem: DeclarationError,
    },
    /// A file of the policy's adapter is missing or invalid.
    #[error(transparent)]
    Adapter(#[from] AdapterError),
    /// Reading or writing failed on this machine.
    #[error("could not read or write {path}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

/// A problem of an archive entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryProblem {
    /// `/etc/passwd`, `C:\x`.
    #[error("its path is absolute; pack with paths relative to the folder")]
    Absolute,
    /// `../x`.
    #[error("its path leads out of the archive; pack with paths below the folder, without '..'")]
    Escapes,
    /// Empty, `.`, control characters, or too long.
    #[error("its name is not plain ({0}); rename the file")]
    Name(&'static str),
    /// `net\\a.py` in an archive: the separator of Windows.
    #[error(
        "its name has a backslash; pack the folder with a program that writes /: `tar -a -cf policy.zip *`, or 7-Zip"
    )]
    Backslash,
    /// A name in another encoding.
    #[error("its name is not UTF-8; {0}")]
    NotUtf8(&'static str),
    /// Too many nested folders.
    #[error("it is {found} folders deep, but at most {limit} are allowed; flatten the folders")]
    TooDeep {
        /// Its depth.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// Symbolic link.
    #[error("it is a symbolic link; copy the folder with the files themselves (cp -rL FOLDER COPY), and use the copy")]
    Symlink,
    /// Link to something outside of the folder.
    #[error(
        "it is a link to a file outside of the folder; copy the folder with the files themselves (cp -rL FOLDER COPY), \
         and use the copy"
    )]
    Outside,
    /// Link to nothing.
    #[error("it is a link to a file that does not exist; remove it")]
    Broken,
    /// Link to a folder that it is in.
    #[error("it is a link to a folder that it is in; remove it")]
    Circle,
    /// Device, pipe, socket.
    #[error("it is neither a file nor a folder; leave it out")]
    Special,
    /// Encrypted.
    #[error("it is encrypted; pack without a password")]
    Encrypted,
    /// Neither stored nor deflated.
    #[error("it is compressed with method {0}; use deflate")]
    Method(u16),
    /// A decompression bomb.
    #[error(
        "it unpacks to {ratio} times its size, but at most {limit} is allowed; store generated data in another form"
    )]
    Ratio {
        /// Ratio of unpacked to packed bytes.
        ratio: u64,
        /// The limit.
        limit: u64,
    },
    /// The same name twice, possibly with differences in case or in the encoding of letters.
    #[error("it has the same name as '{0}' (ignoring case and the encoding of letters); remove or rename one of them")]
    Duplicate(String),
    /// The archive contradicts itself.
    #[error("its data is damaged ({0}); pack the folder again")]
    Damaged(String),
}

/// A problem of a declared model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelProblem {
    /// The path is not that of a file in the policy's folder.
    #[error(
        "its path must lead to a file in the policy's folder, at most {MAX_DEPTH} names deep, and no name may be hidden"
    )]
    Path,
    /// Another file or model has the path.
    #[error("its path is that of '{0}' (ignoring case and the encoding of letters); remove or rename one of them")]
    Clash(String),
    /// The file in the policy's folder has another digest.
    #[error("the file in the policy's folder has the SHA-256 {found}, but {declared} is declared")]
    Digest {
        /// That of the file.
        found: Sha256Digest,
        /// The declared one.
        declared: Sha256Digest,
    },
    /// The file in the policy's folder has another size.
    #[error("the file in the policy's folder has {found} bytes, but {declared} are declared")]
    Size {
        /// That of the file.
        found: u64,
        /// The declared one.
        declared: u64,
    },
}

impl IntakeError {
    /// Returns true if the error is internal, not the author's.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::Io { .. })
    }

    pub(super) fn model(model: &DeclaredModel, problem: ModelProblem) -> Self {
        Self::Model { path: shown(&model.path), problem }
    }

    pub(crate) fn entry(name: &str, problem: EntryProblem) -> Self {
        Self::Entry { entry: shown(name), problem }
    }
}

/// Returns an untrusted name, sanitised for display.
pub(crate) fn shown(name: &str) -> String {
    let cut: String = name.chars().take(MAX_NAME_BYTES).collect();
    sanitise(&cut, SHOWN_NAME_BYTES)
}

pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> IntakeError {
    let path = path.to_owned();
    move |source| IntakeError::Io { path, source }
}

fn hint(what: &ArchiveKind, elsewhere: &Option<String>) -> String {
    match elsewhere {
        // A file system that ignores case shows no difference.
        Some(place) if !place.contains('/') => format!("; rename '{place}' to {}", what.main()),
        Some(place) if place.ends_with(what.main()) => format!("; it is at '{place}': pack that folder instead"),
        Some(place) => format!("; '{place}' is at another place: rename it to {}, and pack its folder", what.main()),
        None if *what == ArchiveKind::Policy => {
            "; rename the file with your policy to policy.py, or declare an [adapter] in policy.toml".to_owned()
        }
        None => "; pack the scenario's own folder".to_owned(),
    }
}

/// Returns the end of the sentence about too many entries.
fn fewer(fullest: Option<&str>) -> String {
    fullest.map_or_else(
        || "combine small files into one".to_owned(),
        |folder| format!("most are in '{folder}': move it out of the folder, or combine small files into one"),
    )
}
