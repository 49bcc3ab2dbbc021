//! The kinds of archives that are accepted, and their limits.

use std::fmt;

use assay_model::{MAX_ARCHIVE_BYTES, MAX_SCENARIO_ARCHIVE_BYTES};

use crate::runtime::{DECLARATION_FILE, SCRIPT_FILE};

/// Maximum total size of unpacked files, in bytes.
pub const MAX_UNPACKED_BYTES: u64 = 512 * 1024 * 1024;
/// Maximum number of entries, including folders.
pub const MAX_ENTRIES: usize = 512;
/// Maximum ratio of unpacked to packed bytes of one entry.
pub const MAX_RATIO: u64 = 200;
/// Maximum number of components of a path, including the file.
pub const MAX_DEPTH: usize = 8;
/// Maximum size of entries with an unlimited ratio: a small file of zeros is not a decompression bomb.
pub(crate) const RATIO_FREE_BYTES: u64 = 1024 * 1024;
/// Maximum length of an entry's name, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 1024;
/// Maximum length of a part of a name between slashes, in bytes: the limit of file systems.
pub(crate) const MAX_COMPONENT_BYTES: usize = 255;

/// Maximum total size of a scenario's unpacked files, in bytes.
pub const MAX_SCENARIO_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum number of entries of a scenario, including folders.
pub const MAX_SCENARIO_ENTRIES: usize = 256;

/// The kind of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveKind {
    /// A policy: `policy.py`, or an adapter in `policy.toml`, and the files that it needs.
    Policy,
    /// A scenario: `scenario.toml` and the files that it refers to.
    Scenario,
}

impl ArchiveKind {
    /// Returns the file that should be at its root.
    #[must_use]
    pub fn main(self) -> &'static str {
        match self {
            Self::Policy => SCRIPT_FILE,
            Self::Scenario => "scenario.toml",
        }
    }

    /// Returns the files of which one must be at its root, the most important first: a policy without code has only a
    /// declaration.
    pub(super) fn mains(self) -> &'static [&'static str] {
        match self {
            Self::Policy => &[SCRIPT_FILE, DECLARATION_FILE],
            Self::Scenario => &["scenario.toml"],
        }
    }
}

impl fmt::Display for ArchiveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Policy => "policy",
            Self::Scenario => "scenario",
        })
    }
}

/// The limits of an intake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntakeLimits {
    /// The expected kind.
    pub content: ArchiveKind,
    /// See [`MAX_ARCHIVE_BYTES`].
    pub archive_bytes: u64,
    /// See [`MAX_UNPACKED_BYTES`].
    pub unpacked_bytes: u64,
    /// See [`MAX_ENTRIES`].
    pub entries: usize,
    /// See [`MAX_RATIO`].
    pub ratio: u64,
    /// See [`MAX_DEPTH`].
    pub depth: usize,
    /// True if the policy's declaration of its runtime is read: not for scenarios, nor for policies whose runtime was
    /// chosen when they were accepted.
    pub reads_declaration: bool,
}

impl Default for IntakeLimits {
    fn default() -> Self {
        Self {
            content: ArchiveKind::Policy,
            archive_bytes: MAX_ARCHIVE_BYTES,
            unpacked_bytes: MAX_UNPACKED_BYTES,
            entries: MAX_ENTRIES,
            ratio: MAX_RATIO,
            depth: MAX_DEPTH,
            reads_declaration: true,
        }
    }
}

impl IntakeLimits {
    /// Returns the limits of an untrusted policy whose archive may have `archive_bytes`. An accepted archive may be
    /// stored uncompressed, so the limit of the unpacked files is at least as large.
    #[must_use]
    pub fn of_archive(archive_bytes: u64) -> Self {
        Self { archive_bytes, unpacked_bytes: MAX_UNPACKED_BYTES.max(archive_bytes), ..Self::default() }
    }

    /// Returns the limits of a policy that was accepted before, under the limits of that time: its size was checked
    /// then, and later changes of the settings do not apply to it.
    #[must_use]
    pub fn accepted() -> Self {
        Self { archive_bytes: u64::MAX, unpacked_bytes: u64::MAX, reads_declaration: false, ..Self::default() }
    }

    /// Returns the limits of an untrusted scenario.
    #[must_use]
    pub fn scenario() -> Self {
        Self {
            content: ArchiveKind::Scenario,
            archive_bytes: MAX_SCENARIO_ARCHIVE_BYTES,
            unpacked_bytes: MAX_SCENARIO_BYTES,
            entries: MAX_SCENARIO_ENTRIES,
            reads_declaration: false,
            ..Self::default()
        }
    }
}
