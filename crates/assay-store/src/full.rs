//! Whether a failure is a full disk: what passes by itself when space is freed, and is no fault of what was being done.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// Whether `error`, or what caused it, says that a disk or a quota is full. Finds I/O errors and those of SQLite, however
/// deep they lie.
#[must_use]
pub fn is_disk_full(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let by_system = error.downcast_ref::<io::Error>().is_some_and(is_full);
        let by_sqlite = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
        // An error behind a counter is an error of its own, which hides the other one's type.
        let by_shared =
            error.downcast_ref::<Arc<dyn Error + Send + Sync>>().is_some_and(|inner| is_disk_full(&**inner))
                || error.downcast_ref::<Arc<io::Error>>().is_some_and(|inner| is_full(inner));
        if by_system || by_shared || by_sqlite == Some(rusqlite::ErrorCode::DiskFull) {
            return true;
        }
        next = error.source();
    }
    false
}

fn is_full(error: &io::Error) -> bool {
    // An error that was wrapped in another one is not its source.
    let inner = error.get_ref().is_some_and(|inner| is_disk_full(inner));
    inner || matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlobError, StoreError};

    fn no_space() -> io::Error {
        io::Error::from_raw_os_error(28)
    }

    #[test]
    fn a_full_disk_is_found_however_it_is_wrapped() {
        let sqlite = |code| rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        let database = |code| StoreError::Database { doing: "x", transient: true, source: Arc::new(sqlite(code)) };
        for full in [
            Box::new(no_space()) as Box<dyn Error>,
            Box::new(io::Error::other(no_space())),
            Box::new(io::Error::from_raw_os_error(122)),
            Box::new(BlobError::Io(io::Error::other(BlobError::Io(no_space())))),
            Box::new(BlobError::Store(object_store::Error::Generic { store: "x", source: Box::new(no_space()) })),
            Box::new(database(rusqlite::ffi::SQLITE_FULL)),
            Box::new(StoreError::file("write", "/x", no_space())),
        ] {
            assert!(is_disk_full(&*full), "{full:?}");
        }
        for other in [
            Box::new(io::Error::from_raw_os_error(5)) as Box<dyn Error>,
            Box::new(BlobError::Missing),
            Box::new(database(rusqlite::ffi::SQLITE_BUSY)),
            Box::new(StoreError::Closed),
        ] {
            assert!(!is_disk_full(&*other), "{other:?}");
        }
    }
}
