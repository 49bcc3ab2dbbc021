//! Recognises errors due to a full disk, which pass when space is freed and are not caused by the failing operation.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// Returns true if `error` or one of its causes, however deep, is an I/O error about a full disk or an exhausted disk
/// quota. Storage engines report a full disk as such an error.
#[must_use]
pub fn is_disk_full(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let by_system = error.downcast_ref::<io::Error>().is_some_and(is_full);
        // An `Arc` around an error is a separate error type, which hides the inner one.
        let by_shared =
            error.downcast_ref::<Arc<dyn Error + Send + Sync>>().is_some_and(|inner| is_disk_full(&**inner))
                || error.downcast_ref::<Arc<io::Error>>().is_some_and(|inner| is_full(inner));
        if by_system || by_shared {
            return true;
        }
        next = error.source();
    }
    false
}

fn is_full(error: &io::Error) -> bool {
    // `source` skips the error inside an `io::Error`.
    let inner = error.get_ref().is_some_and(|inner| is_disk_full(inner));
    inner || matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlobError, DatabaseProblem, OpenError, StoreError};

    fn no_space() -> io::Error {
        io::Error::from_raw_os_error(28)
    }

    #[test]
    fn a_full_disk_is_found_however_it_is_wrapped() {
        let database =
            |problem, source| StoreError::Database { doing: "writing", problem, source: Arc::new(source) as Arc<_> };
        for full in [
            Box::new(no_space()) as Box<dyn Error>,
            Box::new(io::Error::other(no_space())),
            Box::new(io::Error::from_raw_os_error(122)),
            Box::new(BlobError::Io(io::Error::other(BlobError::Io(no_space())))),
            Box::new(database(DatabaseProblem::DiskFull, io::Error::new(ErrorKind::StorageFull, "full"))),
            Box::new(OpenError::File { doing: "write", path: "/x".into(), source: Arc::new(no_space()) }),
        ] {
            assert!(is_disk_full(&*full), "{full:?}");
        }
        for other in [
            Box::new(io::Error::from_raw_os_error(5)) as Box<dyn Error>,
            Box::new(BlobError::Missing),
            Box::new(database(DatabaseProblem::Busy, io::Error::from_raw_os_error(11))),
            Box::new(StoreError::Closed),
        ] {
            assert!(!is_disk_full(&*other), "{other:?}");
        }
    }
}
