//! Copies for the jail's user: made only if root needs them, of exactly the content that is asked for, closed to other
//! users, and removed.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use assay_jail::{Bind, Jail, JailSpec, Profile, SpawnError, check_reachable, jail_uid, stage_lasting, stage_readable};

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
        assert_eq!(*first, *original);
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
    let second_path = second.to_path_buf();
    assert_eq!(names(&cache), 4, "two copies with their locks, nothing incomplete");
    let clone = second.clone();
    drop((first, second));
    assert!(second_path.exists(), "a clone uses it");
    drop(clone);
    let left: Vec<_> = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "removed at the end: {left:?}, of {second_path:?}");
}

fn names(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// Sets all times of a tree, as unpacking an archive does.
fn set_times(root: &Path) {
    let earlier = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            set_times(&path);
        }
        if !path.is_symlink() {
            fs::File::open(&path).unwrap().set_modified(earlier).unwrap();
        }
    }
    fs::File::open(root).unwrap().set_modified(earlier).unwrap();
}

/// Changes a tree without changing a name, a size or a time that its owner can set.
type Change = fn(&Path);

/// The first was seen: another limit in `scenario.toml`.
const CHANGES: [(&str, Change); 7] = [
    ("the content of a file", |root| fs::write(root.join("a/b/file"), "CONTENT").unwrap()),
    ("two files swapped", |root| {
        fs::write(root.join("a/b/file"), "#!nnnnn").unwrap();
        fs::write(root.join("a/program"), "co").unwrap();
    }),
    ("a folder replaced by another with the same names", |root| {
        fs::rename(root.join("a/b"), root.join("old")).unwrap();
        fs::create_dir(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "tnetnoc").unwrap();
        fs::remove_dir_all(root.join("old")).unwrap();
    }),
    ("the target of a link", |root| {
        fs::remove_file(root.join("a/link")).unwrap();
        symlink("b/eliF", root.join("a/link")).unwrap();
    }),
    ("a file for a link of its length", |root| {
        fs::remove_file(root.join("a/link")).unwrap();
        fs::write(root.join("a/link"), "b/file").unwrap();
    }),
    ("a program that is none", |root| {
        fs::set_permissions(root.join("a/program"), Permissions::from_mode(0o600)).unwrap();
    }),
    ("an empty folder for an empty file", |root| {
        fs::remove_file(root.join("a/empty")).unwrap();
        fs::create_dir(root.join("a/empty")).unwrap();
    }),
];

#[test]
fn a_tree_with_the_same_names_sizes_and_times_is_not_taken_for_another() {
    if jail_uid().is_none() {
        return;
    }
    for (what, change) in CHANGES {
        let (closed, other, cache) = (folder(0o700), folder(0o700), folder(0o755));
        let [first, second] = [&closed, &other].map(|folder| folder.path().join("tree"));
        for root in [&first, &second] {
            tree(root);
            fs::write(root.join("a/empty"), "").unwrap();
        }
        change(&second);
        [&first, &second].into_iter().for_each(|root| set_times(root));
        let copies = [&first, &second].map(|root| stage_lasting(root, &cache.path().join("made")).unwrap());
        assert_ne!(copies[0], copies[1], "{what}");
        // In place, as an unpacked archive replaces a folder.
        fs::remove_dir_all(&first).unwrap();
        fs::rename(&second, &first).unwrap();
        assert_eq!(stage_lasting(&first, &cache.path().join("made")).unwrap(), copies[1], "{what}");
    }
}

#[test]
fn copies_are_closed_to_other_users_and_those_of_killed_processes_are_removed() {
    if jail_uid().is_none() {
        return;
    }
    let (closed, cache) = (folder(0o700), folder(0o755));
    let original = closed.path().join("tree");
    tree(&original);
    let root = cache.path().join("made");
    // Earlier versions left the folder open.
    fs::create_dir(&root).unwrap();
    fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
    let copy = stage_readable(&original, &root).unwrap();
    let about = fs::metadata(&root).unwrap();
    assert_eq!((about.mode() & 0o777, Some(about.gid())), (0o710, jail_uid()));
    // A process that was killed has left its copy, and released its lock.
    std::mem::forget(copy);
    let leftover = root.join("0".repeat(64));
    fs::create_dir(&leftover).unwrap();
    fs::write(leftover.with_extension("lock"), "7 while used").unwrap();
    fs::write(original.join("a/b/file"), "another").unwrap();
    let _next = stage_readable(&original, &root).unwrap();
    assert!(!leftover.exists() && names(&root) == 4, "the forgotten copy is still locked by this process");
    fs::set_permissions(&root, Permissions::from_mode(0o777)).unwrap();
    assert!(stage_readable(&original, &root).unwrap_err().to_string().contains("could not make a copy"));
}

#[test]
fn a_pipe_in_a_tree_is_an_error_and_is_not_read() {
    if jail_uid().is_none() {
        return;
    }
    let (closed, cache) = (folder(0o700), folder(0o755));
    let original = closed.path().join("tree");
    tree(&original);
    rustix::fs::mkfifoat(rustix::fs::CWD, original.join("pipe"), 0o600.into()).unwrap();
    assert!(stage_readable(&original, &cache.path().join("made")).is_err());
}

#[test]
fn an_open_tree_stays_where_it_is() {
    let (open, cache) = (folder(0o755), folder(0o755));
    let original = open.path().join("file");
    fs::write(&original, "content").unwrap();
    fs::set_permissions(&original, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(*stage_readable(&original, cache.path()).unwrap(), *original);
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
    let root = cache.path().join("made");
    let stage = || stage_readable(&original, &root).unwrap();
    let copies: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(stage)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(copies.iter().all(|copy| *copy == copies[0] && copy.join("a/file-199").is_file()));
    if jail_uid().is_some() {
        assert_eq!(names(&root), 2, "a copy with its lock, nothing incomplete");
    }
}
