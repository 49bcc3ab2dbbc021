//! Whether anything was committed, by whatever process, without a question to SQLite, whose locks would cost two system
//! calls.

use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Length of the header of SQLite's index of the log, in bytes (<https://sqlite.org/walformat.html>, 2.1). It begins the
/// file, and every commit changes it: it counts them, and has the sum of all that is in the log.
const HEADER_BYTES: usize = 48;
/// The header's version, as it stands in the memory of this machine.
const VERSION: [u8; 4] = 3_007_000_u32.to_ne_bytes();

/// What the database was at one moment; no other state of it has the same.
pub(super) type State = [u8; HEADER_BYTES];

/// SQLite's index of the log, to be looked at only.
///
/// It stays open for as long as the process: closing any descriptor of a file ends all locks that the process holds on it,
/// and so SQLite's own.
#[derive(Debug)]
pub(super) struct StateFile(Option<ManuallyDrop<File>>);

impl StateFile {
    /// Of the open database `file`.
    pub(super) fn of(file: &Path) -> Self {
        let mut name = file.as_os_str().to_owned();
        name.push("-shm");
        Self(File::open(name).ok().map(ManuallyDrop::new))
    }

    /// What the database is now; `None` where that can't be told so.
    pub(super) fn now(&self) -> Option<State> {
        let mut header = [0; HEADER_BYTES];
        self.0.as_ref()?.read_exact_at(&mut header, 0).ok()?;
        header.starts_with(&VERSION).then_some(header)
    }
}
