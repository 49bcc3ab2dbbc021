//! What is taken in, and how much of it.

use std::fmt;

/// Largest archive, in bytes.
pub const MAX_ARCHIVE_BYTES: u64 = 100 * 1024 * 1024;
/// Largest sum of unpacked files, in bytes.
pub const MAX_UNPACKED_BYTES: u64 = 512 * 1024 * 1024;
/// Most entries, folders included.
pub const MAX_ENTRIES: usize = 512;
/// Largest ratio of unpacked to packed bytes of one entry.
pub const MAX_RATIO: u64 = 200;
/// Most folders in a path, the file included.
pub const MAX_DEPTH: usize = 8;
/// Entries up to this size may have any ratio: a small file of zeroes is no bomb.
pub(crate) const RATIO_FREE_BYTES: u64 = 1024 * 1024;
/// Longest name of an entry, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 1024;
/// Longest part of a name between slashes, in bytes: what file systems take.
pub(crate) const MAX_COMPONENT_BYTES: usize = 255;

/// Largest archive of a scenario, in bytes.
pub const MAX_SCENARIO_ARCHIVE_BYTES: u64 = 32 * 1024 * 1024;
/// Largest sum of a scenario's unpacked files, in bytes.
pub const MAX_SCENARIO_BYTES: u64 = 64 * 1024 * 1024;
/// Most entries of a scenario, folders included.
pub const MAX_SCENARIO_ENTRIES: usize = 256;

/// What an archive holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveKind {
    /// A policy: `policy.py` and what it needs.
    Policy,
    /// A scenario: `scenario.toml` and what it names.
    Scenario,
}

impl ArchiveKind {
    /// The file that lies at its root.
    #[must_use]
    pub fn main(self) -> &'static str {
        match self {
            Self::Policy => "policy.py",
            Self::Scenario => "scenario.toml",
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
    /// What is expected.
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
        }
    }
}

impl IntakeLimits {
    /// The limits of a policy from a stranger, whose archive may have `archive_bytes`. What is allowed to come in may be
    /// stored as it is: unpacked, at least as much is taken.
    #[must_use]
    pub fn of_archive(archive_bytes: u64) -> Self {
        Self { archive_bytes, unpacked_bytes: MAX_UNPACKED_BYTES.max(archive_bytes), ..Self::default() }
    }

    /// The limits of a policy that was taken in before, to the last byte, under the limits of that time: its size was
    /// decided then, whatever an operator has changed since.
    #[must_use]
    pub fn accepted() -> Self {
        Self { archive_bytes: u64::MAX, unpacked_bytes: u64::MAX, ..Self::default() }
    }

    /// The limits of a scenario from a stranger.
    #[must_use]
    pub fn scenario() -> Self {
        Self {
            content: ArchiveKind::Scenario,
            archive_bytes: MAX_SCENARIO_ARCHIVE_BYTES,
            unpacked_bytes: MAX_SCENARIO_BYTES,
            entries: MAX_SCENARIO_ENTRIES,
            ..Self::default()
        }
    }
}
