//! The structure of the workspace: dependencies point in one direction (the table is in ARCHITECTURE.md), a type name
//! exists once, and comments are readable.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crate, and the crates of this workspace that it may use.
const MAY_USE: [(&str, &[&str]); 14] = [
    ("assay-model", &[]),
    ("assay-stl", &[]),
    ("assay-scenario", &["assay-model", "assay-stl"]),
    ("assay-sim", &["assay-model", "assay-scenario"]),
    ("assay-lane", &["assay-model", "assay-scenario", "assay-sim", "assay-stl"]),
    ("assay-dataset", &["assay-model"]),
    ("assay-jail", &["assay-model"]),
    ("assay-judge", &["assay-model"]),
    ("assay-policy", &["assay-jail", "assay-model"]),
    ("assay-report", &["assay-model"]),
    ("assay-store", &["assay-model"]),
    (
        "assay-worker",
        &[
            "assay-jail",
            "assay-judge",
            "assay-model",
            "assay-policy",
            "assay-report",
            "assay-scenario",
            "assay-stl",
            "assay-store",
        ],
    ),
    ("assay-api", &["assay-model", "assay-report", "assay-scenario", "assay-store"]),
    (
        "assay",
        &[
            "assay-api",
            "assay-dataset",
            "assay-jail",
            "assay-judge",
            "assay-model",
            "assay-policy",
            "assay-report",
            "assay-scenario",
            "assay-stl",
            "assay-store",
            "assay-worker",
        ],
    ),
];
/// Crates that only tests may use.
const FOR_TESTS: [&str; 4] = ["assay-fuzz", "assay-store-testing", "assay-test-s3", "assay-testkit"];

/// Crates that know neither the addresses of the service nor its OpenAPI document.
const PURE: [&str; 4] = ["assay-model", "assay-report", "assay-scenario", "assay-stl"];
/// First words of dependencies that belong to the API; no crate of [`PURE`] has them.
const OF_THE_API: [&str; 4] = ["axum", "hyper", "url", "utoipa"];

/// Returns the dependencies of each crate outside its tests. The optional ones are those of its fuzz targets, which no
/// program contains.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let used = |package: &serde_json::Value| {
        let fuzzing = serde_json::json!({ "fuzzing": ["dep:assay-fuzz"] });
        let features = &package["features"];
        assert!([serde_json::json!({}), fuzzing].contains(features), "{} has features: {features}", package["name"]);
        let used = package["dependencies"].as_array().unwrap().iter();
        let used = used.filter(|d| d["kind"] != "dev" && d["optional"] != true);
        let names = used.map(|d| d["name"].as_str().unwrap().to_owned()).collect();
        (package["name"].as_str().unwrap().to_owned(), names)
    };
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(used)
        .filter(|(name, _): &(String, _)| !FOR_TESTS.contains(&name.as_str()))
        .collect()
}

/// Returns the crates of ours that each crate uses outside its tests.
fn edges() -> BTreeMap<String, BTreeSet<String>> {
    let mut edges = dependencies();
    edges.values_mut().for_each(|used| used.retain(|name| name.starts_with("assay")));
    edges
}

#[test]
fn dependencies_point_one_way() {
    let edges = edges();
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.into_iter().collect();
    for (name, used) in &edges {
        let allowed = allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not in the table"));
        for other in used {
            assert!(allowed.contains(&other.as_str()), "{name} must not use {other}");
        }
    }
    assert_eq!(edges.len(), MAY_USE.len());
}

#[test]
fn the_pure_crates_know_neither_addresses_nor_openapi() {
    let dependencies = dependencies();
    for name in PURE {
        for used in &dependencies[name] {
            let part = OF_THE_API.iter().find(|part| used.starts_with(*part));
            assert_eq!(part, None, "{name} must not use {used}");
        }
    }
    let utoipa = dependencies.iter().filter(|(_, used)| used.iter().any(|name| name.starts_with("utoipa")));
    assert_eq!(utoipa.map(|(user, _)| user.as_str()).collect::<Vec<_>>(), ["assay-api"]);
    for (file, text) in production_sources() {
        let is_pure = file.split('/').next().is_some_and(|name| PURE.contains(&name));
        let text = text.to_ascii_lowercase();
        assert!(!is_pure || !(text.contains("openapi") || text.contains("utoipa")), "{file} knows OpenAPI");
    }
}

#[test]
fn only_the_simulator_links_mujoco() {
    let edges = edges();
    let users =
        |name: &str| edges.iter().filter(|(_, used)| used.contains(name)).map(|(user, _)| user.as_str()).collect();
    let sim: Vec<&str> = users("assay-sim");
    assert_eq!(sim, ["assay-lane"]);
    let lane: Vec<&str> = users("assay-lane");
    assert!(lane.is_empty(), "{lane:?}");
}

/// Returns the packages that a build of these crates compiles for the target, each with its features.
fn compiled(selection: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--prefix=none", "--format={p} {f}", "--manifest-path"])
        .arg(assay_testkit::home().join("Cargo.toml"))
        .args(selection)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| line.trim_end_matches(" (*)").trim_end().to_owned()).collect()
}

#[test]
fn the_programs_alone_are_built_from_what_the_workspace_compiled() {
    let alone = compiled(&["-p", "assay", "-p", "assay-lane", "--edges=normal,no-proc-macro"]);
    let workspace = compiled(&["--workspace", "--edges=normal,dev,no-proc-macro"]);
    assert!(alone.len() > 100, "only {} packages were found", alone.len());
    let differing: Vec<_> = alone.difference(&workspace).collect();
    assert!(differing.is_empty(), "tests need more features; name them in Cargo.toml as well: {differing:#?}");
}

/// Maximum length of a comment line, in characters.
const MAX_COMMENT_COLUMNS: usize = 120;
/// Words with which no summary may begin. A summary names the thing, or the action of a function.
const NOT_FIRST: [&str; 4] = ["What", "Who", "How", "Why"];

/// Returns the Rust sources of all crates that are not tests or examples: path below `crates/`, and the text up to the
/// tests at its end.
fn production_sources() -> Vec<(String, String)> {
    fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !["tests", "examples"].contains(&name.as_str()) {
                collect(&path, files);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                files.push(path);
            }
        }
    }
    let crates = assay_testkit::home().join("crates");
    let mut files = Vec::new();
    collect(&crates, &mut files);
    files.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        // A module in a file of its own is declared at the top.
        let is_inline = |at: &usize| text[*at..].lines().nth(1).is_some_and(|line| line.ends_with('{'));
        let mut modules = text.match_indices("#[cfg(test)]\nmod ").map(|(at, _)| at);
        let end = modules.find(is_inline).unwrap_or(text.len());
        (path.strip_prefix(&crates).unwrap().to_str().unwrap().to_owned(), text[..end].to_owned())
    };
    files.into_iter().map(read).collect()
}

/// Returns the name of the type that a line defines.
fn defined_type(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

#[test]
fn a_type_name_exists_once() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in production_sources() {
        // An associated type is indented, and belongs to its trait.
        for line in text.lines().filter(|line| !line.trim_start().starts_with("type ") || !line.starts_with(' ')) {
            if let Some(name) = defined_type(line) {
                places.entry(name.to_owned()).or_default().push(file.clone());
            }
        }
    }
    assert!(places.len() > 500, "only {} types were found", places.len());
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "give each of these types a name of its own: {places:#?}");
}

#[test]
fn summaries_and_comments_are_readable() {
    let mut faults = Vec::new();
    for (file, text) in production_sources() {
        let mut follows_comment = false;
        for (number, line) in (1..).zip(text.lines()) {
            let comment = line.trim_start();
            let words = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!")).map(str::trim_start);
            let first = words.and_then(|words| words.split_whitespace().next());
            if !follows_comment && first.is_some_and(|word| NOT_FIRST.contains(&word)) {
                faults.push(format!("{file}:{number}: a summary begins with {}", first.unwrap_or_default()));
            }
            if comment.starts_with("//") && line.chars().count() > MAX_COMMENT_COLUMNS {
                faults.push(format!("{file}:{number}: a comment of {} columns", line.chars().count()));
            }
            follows_comment = words.is_some();
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Calls that only one file may make, because a second place would be a second implementation.
const ONLY_IN: [(&str, &str, &str); 4] = [
    // Folders that others made: links are not followed, pipes and devices not opened.
    ("", "openat2(", "assay-jail/src/untrusted_folder.rs"),
    ("", "ResolveFlags::", "assay-jail/src/untrusted_folder.rs"),
    // Text of strangers, on a terminal or in the log of a CI system.
    ("assay/src/", "println!(", "assay/src/printing.rs"),
    ("assay/src/", "std::io::stdout().lock()", "assay/src/printing.rs"),
];

#[test]
fn folders_of_strangers_have_one_opener_and_texts_one_printer() {
    for (file, text) in production_sources() {
        for (part, call, place) in ONLY_IN {
            let is_elsewhere = file.starts_with(part) && file != place && text.contains(call);
            assert!(!is_elsewhere, "{file} calls {call}, which only {place} may");
        }
    }
}
