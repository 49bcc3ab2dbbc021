//! The digest tells what exactly was run.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::folder::Folder;

const ID: &str = "tabletop_reach";

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
}

#[test]
fn place_and_time_do_not_matter() {
    let (one, other) = (Folder::of(ID), Folder::of(ID));
    assert_eq!(one.load().unwrap().digest, other.load().unwrap().digest);
    for file in files(&other.scenario()) {
        let file = File::options().append(true).open(file).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    }
    assert_eq!(one.load().unwrap().digest, other.load().unwrap().digest);
}

#[test]
fn every_byte_of_every_file_counts() {
    let folder = Folder::of(ID);
    let before = folder.load().unwrap().digest;
    let all: Vec<_> = files(&folder.scenario()).into_iter().chain(files(&folder.robots().join("panda"))).collect();
    assert!(all.len() >= 7, "{all:?}");
    for file in all {
        let content = fs::read(&file).unwrap();
        let mut changed = content.clone();
        changed.push(b'\n');
        fs::write(&file, changed).unwrap();
        assert_ne!(folder.load().unwrap().digest, before, "{}", file.display());
        fs::write(&file, content).unwrap();
    }
    assert_eq!(folder.load().unwrap().digest, before);
}

#[test]
fn names_count_and_bytes_do_not_move_between_files() {
    let folder = Folder::of(ID);
    let digest = |name: &str, content: &str| {
        let path = folder.scenario().join(name);
        fs::write(&path, content).unwrap();
        let digest = folder.load().unwrap().digest;
        fs::remove_file(path).unwrap();
        digest
    };
    assert_ne!(digest("a", "bc"), digest("ab", "c"));
    assert_ne!(digest("a", ""), folder.load().unwrap().digest);
}

#[test]
fn a_robot_that_is_not_used_does_not_count() {
    let folder = Folder::of("cartpole_keepin");
    let before = folder.load().unwrap().digest;
    fs::write(folder.robots().join("panda/robot.toml"), "changed").unwrap();
    assert_eq!(folder.load().unwrap().digest, before);
}

#[test]
fn a_link_is_refused() {
    let folder = Folder::of(ID);
    std::os::unix::fs::symlink("/etc/hostname", folder.scenario().join("mesh.obj")).unwrap();
    let error = folder.load().unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("mesh.obj") && source.contains("replace it with a copy"), "{error}: {source}");
}
