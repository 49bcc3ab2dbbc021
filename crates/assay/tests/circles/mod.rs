//! Checks that no files of a crate import each other in a circle, so that each can be read, tested and moved with only
//! those that it imports.
//!
//! A file imports the files that define the names in its `use` declarations and paths; names are followed through
//! `pub use`. Tests do not count.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

mod module;
mod modules;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use self::modules::{Imports, Modules};

/// Returns all files that `start` imports, directly or through others.
fn reached<'a>(imports: &'a Imports, start: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![start];
    while let Some(file) = open.pop() {
        for other in imports.get(file).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(other.as_str()) {
                open.push(other);
            }
        }
    }
    found
}

/// Returns the files that `file` imports and that import it, directly or through others.
fn circle_of<'a>(reached: &BTreeMap<&'a str, BTreeSet<&'a str>>, file: &str) -> BTreeSet<&'a str> {
    let leads_back = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(file));
    reached[file].iter().filter(leads_back).copied().collect()
}

/// Returns the circles, each as the imports between its files.
fn circles(imports: &Imports) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (file.as_str(), reached(imports, file))).collect();
    let circles: BTreeSet<BTreeSet<&str>> = reached.keys().map(|file| circle_of(&reached, file)).collect();
    let lines = |circle: &BTreeSet<&str>| {
        let of = |file: &&str| {
            let inside = imports[*file].iter().filter(|(other, _)| circle.contains(other.as_str()));
            let line = |(other, names): (&String, &BTreeSet<String>)| {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                format!("{file} -> {other}: {}", names.join(", "))
            };
            inside.map(line).collect::<Vec<_>>()
        };
        circle.iter().flat_map(of).collect()
    };
    circles.iter().filter(|circle| !circle.is_empty()).map(lines).collect()
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let crates = assay_testkit::home().join("crates");
    let folders = fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let root =
        |folder: PathBuf| ["lib.rs", "main.rs"].map(|name| folder.join(name)).into_iter().find(|file| file.exists());
    let mut roots: Vec<PathBuf> = folders.filter_map(root).collect();
    roots.sort();
    let mut found = Vec::new();
    let mut files = 0;
    for root in roots {
        let mut modules = Modules::default();
        modules.read(&crates, &[], &root);
        files += modules.len();
        found.extend(circles(&modules.imports()));
    }
    assert!(files > 500, "only {files} files were read");
    assert!(found.is_empty(), "{} circles: {found:#?}", found.len());
}

#[test]
fn a_circle_is_found_and_a_diamond_is_accepted() {
    let imports = |edges: &[(&str, &str)]| {
        let mut imports = Imports::new();
        for (from, to) in edges {
            imports.entry((*from).to_owned()).or_default().entry((*to).to_owned()).or_default().insert("X".to_owned());
        }
        imports
    };
    assert_eq!(circles(&imports(&[("a", "b"), ("b", "c"), ("a", "c")])), Vec::<Vec<String>>::new());
    assert_eq!(circles(&imports(&[("a", "b"), ("b", "c"), ("c", "b")])), [["b -> c: X", "c -> b: X"]]);
}
