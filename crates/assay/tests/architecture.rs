//! The crates' dependencies point one way: this table is ARCHITECTURE.md's, and any other edge fails.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Crate, and the crates of ours that it may use.
const MAY_USE: [(&str, &[&str]); 13] = [
    ("assay-model", &[]),
    ("assay-stl", &[]),
    ("assay-scenario", &["assay-model", "assay-stl"]),
    ("assay-sim", &["assay-model", "assay-scenario"]),
    ("assay-lane", &["assay-model", "assay-scenario", "assay-sim", "assay-stl"]),
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
/// For tests only: nothing but tests may use them.
const FOR_TESTS: [&str; 2] = ["assay-testkit", "assay-fuzz"];

/// Crates of ours that each crate uses outside its tests.
fn edges() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let ours = |package: &serde_json::Value| {
        let used = package["dependencies"].as_array().unwrap().iter().filter(|d| d["kind"] != "dev");
        let names = used.map(|d| d["name"].as_str().unwrap().to_owned()).filter(|name| name.starts_with("assay"));
        (package["name"].as_str().unwrap().to_owned(), names.collect())
    };
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(ours)
        .filter(|(name, _): &(String, _)| !FOR_TESTS.contains(&name.as_str()))
        .collect()
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
fn only_the_simulator_links_mujoco() {
    let edges = edges();
    let users =
        |name: &str| edges.iter().filter(|(_, used)| used.contains(name)).map(|(user, _)| user.as_str()).collect();
    let sim: Vec<&str> = users("assay-sim");
    assert_eq!(sim, ["assay-lane"]);
    let lane: Vec<&str> = users("assay-lane");
    assert!(lane.is_empty(), "{lane:?}");
}
