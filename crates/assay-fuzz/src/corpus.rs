//! Runs the corpus of a target.

use std::path::Path;
use std::time::{Duration, Instant};

/// Time limit for an input. Fuzz targets have the same limit in optimised builds; here it allows for a busy machine.
const LIMIT: Duration = Duration::from_secs(5);

/// Runs every input in `fuzz/corpus/NAME` through the target of that name, so that fixed bugs stay fixed.
///
/// # Panics
/// Panics if there is no input, or if an input reveals a bug or takes too long.
pub fn run_corpus(name: &str, target: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<_> = entries.map(|entry| entry.expect("an input").path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{name} has no corpus");
    for input in inputs {
        let data = std::fs::read(&input).expect("an input can be read");
        // Shown if the target panics.
        eprintln!("{}", input.display());
        let began = Instant::now();
        target(&data);
        assert!(began.elapsed() < LIMIT, "{} took {:?}", input.display(), began.elapsed());
    }
}
