//! The tests that have a server of their own, and why: all others use one that tests share.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assay_testkit::ServerKind;

/// Modules with tests that start a server of their own, each with the reason.
const OWN_SERVERS: [(&str, &str); 36] = [
    ("after", "an auditor checks without the server, and a server stops during a replay"),
    ("arena", "they are the only ones in a season, search all files and the log, and count fork servers"),
    ("attempts", "the server is killed"),
    ("backup", "the data folder is copied, damaged and restored"),
    ("bucket", "files are in a bucket that fails"),
    ("cancelling", "no process and no file is left"),
    ("closing", "a season closes while the server is killed"),
    ("community", "no file is left in the data folder, jails are counted, and a season closes"),
    ("connecting/command", "no secret is in the log, and a simulator is killed"),
    ("connecting/rules", "waits of other lengths, the log, and a key that the administrator revokes"),
    ("events", "the server is killed, its memory and its forecast measured, and a browser's origin set"),
    ("folder", "two servers want one folder"),
    ("full", "the disk is full"),
    ("jobs", "the data folder has the files of one job and no others, and processes are counted"),
    ("judge", "a second judge is set, and the server is killed"),
    ("keys", "the data folder and the log"),
    ("migrating", "the data folder is moved"),
    ("models", "the server is killed, and a backup is made of its data folder"),
    ("monitoring", "all metrics are compared"),
    ("once", "the server is killed"),
    ("operations", "metrics are counted, and the log is read"),
    ("outages", "the data folder disappears"),
    ("postgres", "the records are in a database that fails"),
    ("remote_operators", "seasons of a shared scenario and keys of all accounts are managed"),
    ("retention", "old files are removed"),
    ("servers", "no secret is in the log and the data folder"),
    ("settings", "settings are changed"),
    ("several_servers", "several servers share records, and are killed"),
    ("sleepers", "the only lane is occupied"),
    ("spare", "processes that wait are counted"),
    ("stopping", "the server is stopped"),
    ("strangers", "a policy searches the server's files, and processes are counted"),
    ("upgrades", "the installation is changed"),
    ("videos", "videos are rendered by lanes that are idle, and the server is killed"),
    ("webhooks", "settings are changed, the log is read, and a season is opened"),
    ("workers", "a server has no lanes, and its workers lie, fail, or are killed"),
];
/// Calls that start a server.
const STARTS: [&str; 6] =
    [".serve(", "serve(&assay", "serve(assay)", "serve_with(&assay", "begin_serving(", "lanes_elsewhere(&"];
/// Files without tests of a server.
const OTHERS: [&str; 2] = ["mod", "own_servers"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve")
}

/// Returns the modules below a folder, by their path, with their source.
fn modules(folder: &Path, above: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{above}{}", path.file_stem().unwrap().to_str().unwrap());
        if path.is_dir() {
            found.extend(modules(&path, &format!("{name}/")));
        } else if path.extension().is_some_and(|extension| extension == "rs") && !OTHERS.contains(&name.as_str()) {
            found.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    found
}

#[test]
fn whoever_starts_a_server_says_why() {
    let modules = modules(&folder(), "");
    let reason = |module: &str| {
        let is_of = |name: &str| module == name || module.starts_with(&format!("{name}/"));
        OWN_SERVERS.iter().find(|(name, _)| is_of(name)).map(|(name, _)| *name)
    };
    let mut used = BTreeSet::new();
    for (module, source) in &modules {
        let starts = STARTS.iter().any(|call| source.contains(call));
        used.extend(reason(module).filter(|_| starts));
        assert!(!starts || reason(module).is_some(), "{module}: use shared_server, or say in OWN_SERVERS why not");
        let is_test = source.contains("#[test]") && source.contains("client");
        assert!(!is_test || starts || source.contains("shared_server("), "{module} uses neither");
    }
    let unused: Vec<_> = OWN_SERVERS.iter().filter(|(name, _)| !used.contains(name)).collect();
    assert!(unused.is_empty(), "they start no server: {unused:?}");
}

#[test]
fn each_kind_of_shared_servers_is_used() {
    let modules = modules(&folder(), "");
    let kinds = ServerKind::all();
    assert!(!kinds.is_empty());
    for kind in kinds {
        let call = format!("shared_server(\"{}\")", kind.name);
        let users = modules.iter().filter(|(_, source)| source.contains(&call)).count();
        assert!(users > 0, "no test uses the shared server {}", kind.name);
    }
}
