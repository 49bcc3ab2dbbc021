//! Runs every input in `fuzz/corpus` through its target, so that fixed bugs stay fixed.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_fuzz::TARGETS;

/// Time limit for an input. Fuzz targets have the same limit in optimised builds; here it allows for a busy machine.
const LIMIT: Duration = Duration::from_secs(5);
/// Maximum total size of the corpora, which are part of the repository, in bytes.
const MAX_CORPUS_BYTES: u64 = 1 << 20;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns the sorted names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_target_accepts_its_corpus() {
    for (target, ..) in TARGETS {
        let folder = root().join("corpus").join(target);
        let inputs = names(&folder);
        assert!(!inputs.is_empty(), "{target} has no corpus");
        for input in inputs {
            let data = std::fs::read(folder.join(&input)).unwrap();
            // Shown if the target panics.
            eprintln!("{target}/{input}");
            let began = Instant::now();
            assay_fuzz::run(target, &data);
            assert!(began.elapsed() < LIMIT, "{target}/{input} took {:?}", began.elapsed());
        }
    }
}

#[test]
fn the_corpora_are_small() {
    let sizes = TARGETS.map(|(target, ..)| {
        let folder = root().join("corpus").join(target);
        names(&folder).iter().map(|name| folder.join(name).metadata().unwrap().len()).sum::<u64>()
    });
    let all: u64 = sizes.iter().sum();
    assert!(all <= MAX_CORPUS_BYTES, "{all} bytes: minimise them with tools/fuzz --minimise");
}

#[test]
fn every_target_has_a_program() {
    let programs: Vec<_> = TARGETS.iter().map(|(name, ..)| format!("{name}.rs")).collect();
    assert_eq!(names(&root().join("fuzz_targets")), programs);
    let mut corpora = names(&root().join("corpus"));
    corpora.retain(|name| !TARGETS.iter().any(|(target, ..)| target == name));
    assert!(corpora.is_empty(), "corpora without a target: {corpora:?}");
}
