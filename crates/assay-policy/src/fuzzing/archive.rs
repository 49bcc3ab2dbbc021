//! The fuzz target of archives of policies and scenarios.

use std::path::Path;

use assay_fuzz::{MemoryFile, memory_folder};

use crate::{IntakeLimits, check_archive, intake};

/// Maximum unpacked size of an archive here, in bytes. The real limits are larger; the target tests that they are
/// enforced.
const MAX_BYTES: u64 = 4 << 20;

/// Accepts a zip as a policy and as a scenario: an archive that passes the checks unpacks to exactly the files checked,
/// inside its folder.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn archive(data: &[u8]) {
    let file = MemoryFile::new(data);
    for limits in [IntakeLimits::default(), IntakeLimits::scenario()] {
        let limits = IntakeLimits { unpacked_bytes: limits.unpacked_bytes.min(MAX_BYTES), ..limits };
        let Ok(checked) = check_archive(file.path(), &limits) else { continue };
        assert!(checked.bytes <= limits.unpacked_bytes && checked.files <= limits.entries);
        let folder = memory_folder();
        let taken = intake(file.path(), &folder.path().join("in"), &limits)
            .expect("an archive that passed the checks is accepted");
        assert_eq!(taken, checked);
        assert_eq!(count(folder.path()), (taken.files, taken.bytes), "files and bytes on the disk");
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1, "nothing is written beside it");
    }
}

/// Returns the number of files below `folder`, and their total size in bytes.
fn count(folder: &Path) -> (usize, u64) {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.fold((0, 0), |(files, bytes), entry| {
        let entry = entry.expect("an entry");
        let about = entry.path().symlink_metadata().expect("a file");
        assert!(about.is_dir() || about.is_file(), "{} is neither file nor folder", entry.path().display());
        let (more_files, more_bytes) = if about.is_dir() { count(&entry.path()) } else { (1, about.len()) };
        (files + more_files, bytes + more_bytes)
    })
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn archive_accepts_its_corpus() {
        run_corpus("archive", super::archive);
    }
}
