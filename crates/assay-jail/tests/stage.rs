//! Copies for the jail's user: made only if root needs them, once, and again when the original changes.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use assay_jail::{Bind, Jail, JailSpec, Profile, SpawnError, check_reachable, jail_uid, stage_readable};

fn folder(mode: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
    folder
}

fn tree(root: &Path) {
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/b/file"), "content").unwrap();
    fs::write(root.join("a/program"), "#!").unwrap();
    fs::set_permissions(root.join("a/program"), Permissions::from_mode(0o700)).unwrap();
    symlink("b/file", root.join("a/link")).unwrap();
}

#[test]
fn a_closed_tree_is_copied_once_and_again_when_it_changes() {
    let (closed, cache) = (folder(0o700), folder(0o755));
    let original = closed.path().join("tree");
    tree(&original);
    let cache = cache.path().join("made");
    let first = stage_readable(&original, &cache).unwrap();
    if jail_uid().is_none() {
        assert_eq!(first, original);
        return;
    }
    assert!(first.starts_with(&cache) && check_reachable(&original).is_err());
    assert_eq!(check_reachable(&first), Ok(()));
    assert_eq!(fs::read_to_string(first.join("a/link")).unwrap(), "content");
    assert_eq!(fs::metadata(first.join("a/program")).unwrap().mode() & 0o777, 0o555);
    assert_eq!(fs::metadata(first.join("a/b/file")).unwrap().mode() & 0o777, 0o444);
    assert_eq!(stage_readable(&original, &cache).unwrap(), first);

    fs::write(original.join("a/b/file"), "longer content").unwrap();
    let second = stage_readable(&original, &cache).unwrap();
    assert_ne!(second, first);
    assert_eq!(fs::read_to_string(second.join("a/b/file")).unwrap(), "longer content");
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 2, "an incomplete copy was left");
}

#[test]
fn an_open_tree_stays_where_it_is() {
    let (open, cache) = (folder(0o755), folder(0o755));
    let original = open.path().join("file");
    fs::write(&original, "content").unwrap();
    fs::set_permissions(&original, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(stage_readable(&original, cache.path()).unwrap(), original);
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
}

#[test]
fn a_source_that_the_jail_can_not_reach_is_named() {
    let closed = folder(0o700);
    let source = closed.path().join("file");
    fs::write(&source, "").unwrap();
    fs::set_permissions(&source, Permissions::from_mode(0o644)).unwrap();
    let mut spec = JailSpec::new(Profile::Step, ["/x"]);
    spec.binds = vec![Bind::read_only(&source, "/x")];
    let spawned = Jail::find().unwrap().spawn(spec);
    if jail_uid().is_none() {
        assert!(spawned.is_ok());
        return;
    }
    let error = spawned.unwrap_err();
    let SpawnError::Unreachable(obstacle) = &error else { panic!("{error:?}") };
    assert_eq!(obstacle.at, closed.path().canonicalize().unwrap());
    assert!(obstacle.to_string().contains("chmod o+rX"));
}

#[test]
fn threads_that_stage_the_same_tree_get_the_same_copy() {
    let (closed, cache) = (folder(0o700), folder(0o755));
    let original = closed.path().join("tree");
    tree(&original);
    (0..200).for_each(|i| fs::write(original.join(format!("a/file-{i}")), "content").unwrap());
    let stage = || stage_readable(&original, cache.path()).unwrap();
    let copies: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(stage)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(copies.iter().all(|copy| *copy == copies[0] && copy.join("a/file-199").is_file()));
    if jail_uid().is_some() {
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1, "an incomplete copy was left");
    }
}
