//! The fuzz targets of a policy's files that are read without running them.

pub use crate::adapter::checkpoint;
use crate::{PolicyDeclaration, thread_settings};

/// Reads the input as `policy.py` and as `policy.toml`: what the policy declares, and which lines set a number of
/// threads.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn source(data: &[u8]) {
    drop(PolicyDeclaration::read(Some(data), None));
    drop(PolicyDeclaration::read(Some(b""), Some(data)));
    drop(PolicyDeclaration::read(None, Some(data)));
    let folder = assay_fuzz::memory_folder();
    std::fs::write(folder.path().join("policy.py"), data).expect("a file in memory");
    let lines = data.split(|byte| *byte == b'\n').count();
    for setting in thread_settings(folder.path()) {
        assert_eq!(setting.file, "policy.py");
        assert!((1..=lines).contains(&setting.line) && setting.threads > 1, "{setting:?}");
    }
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn checkpoint_accepts_its_corpus() {
        run_corpus("checkpoint", super::checkpoint);
    }

    #[test]
    fn source_accepts_its_corpus() {
        run_corpus("source", super::source);
    }
}
