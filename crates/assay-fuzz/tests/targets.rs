//! Compares the programs of the fuzz targets, their corpora and the tests that run these.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::path::{Path, PathBuf};

/// Maximum total size of the corpora, which are part of the repository, in bytes.
const MAX_CORPUS_BYTES: u64 = 1 << 20;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the sorted names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the names of all targets: their programs in `fuzz/fuzz_targets`.
fn targets() -> Vec<String> {
    let programs = names(&root().join("fuzz/fuzz_targets"));
    programs.iter().map(|program| program.strip_suffix(".rs").unwrap().to_owned()).collect()
}

/// Appends the text of all Rust files in a folder and the folders below it.
fn read_sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_target_has_a_corpus_and_a_test_that_runs_it() {
    let mut sources = String::new();
    read_sources(&root().join("crates"), &mut sources);
    let listed = std::fs::read_to_string(root().join("fuzz/src/lib.rs")).unwrap();
    let targets = targets();
    assert!(!targets.is_empty());
    assert_eq!(names(&root().join("fuzz/corpus")), targets);
    for target in targets {
        assert!(sources.contains(&format!("run_corpus(\"{target}\", ")), "no test runs the corpus of {target}");
        assert!(listed.contains(&format!("\"{target}\",")), "{target} is not in the table of fuzz/src/lib.rs");
    }
}

#[test]
fn the_corpora_are_small() {
    let sizes = targets().into_iter().map(|target| {
        let folder = root().join("fuzz/corpus").join(target);
        names(&folder).iter().map(|name| folder.join(name).metadata().unwrap().len()).sum::<u64>()
    });
    let all: u64 = sizes.sum();
    assert!(all <= MAX_CORPUS_BYTES, "{all} bytes: minimise them with tools/fuzz --minimise");
}
