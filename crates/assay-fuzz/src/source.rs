//! Files of policies that are read without running them.

use assay_policy::fuzzing::checkpoint_file;
use assay_policy::{PolicyDeclaration, thread_settings};

/// Reads the input as `policy.py` and as `policy.toml`: what the policy declares, and which lines set a number of
/// threads.
pub(crate) fn source(data: &[u8]) {
    drop(PolicyDeclaration::read(Some(data), None));
    drop(PolicyDeclaration::read(Some(b""), Some(data)));
    drop(PolicyDeclaration::read(None, Some(data)));
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    std::fs::write(folder.path().join("policy.py"), data).expect("a file in memory");
    let lines = data.split(|byte| *byte == b'\n').count();
    for setting in thread_settings(folder.path()) {
        assert_eq!(setting.file, "policy.py");
        assert!((1..=lines).contains(&setting.line) && setting.threads > 1, "{setting:?}");
    }
}

/// Reads the input as each file of a LeRobot checkpoint.
pub(crate) fn checkpoint(data: &[u8]) {
    checkpoint_file(data);
}
