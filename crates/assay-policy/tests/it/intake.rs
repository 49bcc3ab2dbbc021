//! Intake of untrusted archives, folders and files.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use assay_model::Sha256Digest;
use assay_policy::{Intake, IntakeError, IntakeLimits, check_archive, intake};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

const POLICY: &str = "def policy(observation):\n    return [0]\n";

/// Files of an archive: name, content, Unix mode with type.
type Entries<'a> = &'a [(&'a str, &'a [u8], u32)];

fn archive(entries: Entries<'_>) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content, mode) in entries {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        if mode & 0o170_000 == 0o120_000 {
            writer.add_symlink(*name, std::str::from_utf8(content).unwrap(), options).unwrap();
        } else {
            writer.start_file(*name, options.unix_permissions(*mode)).unwrap();
            writer.write_all(content).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

/// Replaces every occurrence of `from`, for names that ordinary zip programs do not write.
fn patched(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<_> = (0..=bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

/// Sets a field of every central directory entry.
fn with_field(mut bytes: Vec<u8>, offset: usize, value: &[u8]) -> Vec<u8> {
    let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"PK\x01\x02")).collect();
    for at in places {
        bytes[at + offset..at + offset + value.len()].copy_from_slice(value);
    }
    bytes
}

struct Taken {
    folder: tempfile::TempDir,
    result: Result<assay_policy::Intake, IntakeError>,
}

impl Taken {
    fn dest(&self) -> PathBuf {
        self.folder.path().join("dest")
    }

    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut open = vec![self.dest()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    names.push(path.strip_prefix(self.dest()).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        names.sort();
        names
    }
}

fn take(bytes: &[u8]) -> Taken {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.zip");
    std::fs::write(&path, bytes).unwrap();
    let limits = IntakeLimits::default();
    let result = intake(&path, &folder.path().join("dest"), &limits);
    let outcome = |taken: &Result<Intake, IntakeError>| taken.as_ref().map_err(ToString::to_string).cloned();
    assert_eq!(outcome(&check_archive(&path, &limits)), outcome(&result), "the same without unpacking");
    Taken { folder, result }
}

#[track_caller]
fn refused(bytes: &[u8], expected: &str) {
    let taken = take(bytes);
    let error = taken.result.as_ref().unwrap_err();
    assert!(!error.is_internal(), "{error:?}");
    assert!(error.to_string().contains(expected), "{error}");
    assert!(!taken.dest().exists(), "left behind: {:?}", taken.dest());
}

const MAIN: (&str, &[u8], u32) = ("policy.py", POLICY.as_bytes(), 0o644);

#[test]
fn an_ordinary_archive_is_unpacked() {
    let junk: Entries<'_> =
        &[MAIN, ("lib/net.py", b"x", 0o600), ("__pycache__/p.pyc", b"x", 0o644), (".git/config", b"x", 0o644)];
    let bytes = archive(junk);
    let taken = take(&bytes);
    let intake = taken.result.as_ref().unwrap();
    assert_eq!(taken.names(), ["lib/net.py", "policy.py"]);
    assert_eq!((intake.files, intake.bytes), (2, POLICY.len() as u64 + 1));
    assert_eq!(intake.sha256, assay_model::Sha256Digest::of(&bytes));
    assert_eq!(std::fs::metadata(taken.dest().join("lib/net.py")).unwrap().mode() & 0o777, 0o644);
}

#[test]
fn one_top_folder_is_taken_away() {
    let taken =
        take(&archive(&[("mine/policy.py", b"x", 0o644), ("mine/a/b", b"y", 0o644), ("__MACOSX/._m", b"", 0o644)]));
    assert!(taken.result.is_ok());
    assert_eq!(taken.names(), ["a/b", "policy.py"]);
}

#[test]
fn invalid_archives_are_rejected() {
    refused(b"", "no directory");
    refused(b"this is no zip", "not a usable zip archive");
    refused(&[0; 100_000], "no directory");
    let whole = archive(&[MAIN]);
    refused(&whole[..whole.len() - 4], "zip");
    refused(&whole[10..], "directory is not at the declared offset");
    refused(&[b"#!/bin/sh\n", whole.as_slice()].concat(), "directory is not at the declared offset");
    refused(&[whole.as_slice(), b"trailing"].concat(), "ambiguous");
    refused(&[whole.as_slice(), whole.as_slice()].concat(), "zip");
    refused(&archive(&[]), "no policy.py");
}

#[test]
fn unusual_names_are_rejected() {
    refused(
        &patched(archive(&[MAIN, ("xxxevil.py", b"", 0o644)]), b"xxxevil.py", b"../evil.py"),
        "leads out of the archive",
    );
    refused(&patched(archive(&[MAIN, ("a/bbbb/evil", b"", 0o644)]), b"a/bbbb/evil", b"a/../..evil"), "leads out");
    refused(&patched(archive(&[MAIN, ("xetc/passwd", b"", 0o644)]), b"xetc/passwd", b"/etc/passwd"), "absolute");
    refused(&patched(archive(&[MAIN, ("xx/evil", b"", 0o644)]), b"xx/evil", b"C:/evil"), "absolute");
    refused(&patched(archive(&[MAIN, ("a-b", b"", 0o644)]), b"a-b", b"a\\b"), "its name has a backslash; pack");
    refused(&patched(archive(&[MAIN, ("a-b", b"", 0o644)]), b"a-b", b"a\x1bb"), "control characters");
    refused(&patched(archive(&[MAIN, ("a-b", b"", 0o644)]), b"a-b", b"a\0b"), "control characters");
    refused(&patched(archive(&[MAIN, ("a-b", b"", 0o644)]), b"a-b", b"a\xffb"), "not UTF-8");
    refused(&archive(&[MAIN, ("1/2/3/4/5/6/7/8/9", b"", 0o644)]), "9 folders deep");
    refused(&archive(&[MAIN, (&"n".repeat(300), b"", 0o644)]), "too long");
}

#[test]
fn entries_that_are_not_regular_files_are_rejected() {
    refused(&archive(&[MAIN, ("link", b"/etc/passwd", 0o120_777)]), "entry 'link': it is a symbolic link");
    let empty = ("empty", b"".as_slice(), 0o644);
    for (mode, what) in [(0o010_644_u32, "pipe"), (0o060_644, "device"), (0o140_644, "socket")] {
        let bytes = with_field(archive(&[empty]), 38, &(mode << 16).to_le_bytes());
        refused(&bytes, "neither a file nor a folder");
        let bytes = with_field(archive(&[MAIN]), 38, &(mode << 16).to_le_bytes());
        if what == "pipe" {
            // What was packed from a pipe.
            assert_eq!(take(&bytes).names(), ["policy.py"]);
            continue;
        }
        refused(&bytes, "neither a file nor a folder");
        assert!(!what.is_empty());
    }
    refused(&with_field(archive(&[MAIN]), 8, &[1, 0]), "encrypted");
    refused(&with_field(archive(&[MAIN]), 10, &[14, 0]), "method 14");
}

#[test]
fn a_name_that_occurs_twice_is_rejected() {
    refused(
        &patched(archive(&[MAIN, ("data-1", b"", 0o644), ("data-2", b"", 0o644)]), b"data-2", b"data-1"),
        "same name",
    );
    refused(&archive(&[MAIN, ("a.py", b"", 0o644), ("A.py", b"", 0o644)]), "same name as 'a.py'");
    refused(&archive(&[MAIN, ("POLICY.PY", b"", 0o644)]), "same name");
    refused(&archive(&[MAIN, ("a", b"", 0o644), ("a/b", b"", 0o644)]), "same name");
}

#[test]
fn names_that_look_alike_are_rejected() {
    let twin =
        |one: &str, other: &str| refused(&archive(&[MAIN, (one, b"1", 0o644), (other, b"2", 0o644)]), "same name");
    twin("caf\u{e9}.py", "cafe\u{301}.py");
    twin("\u{fb01}lter.py", "filter.py");
    twin("weights\u{b2}.npy", "weights2.npy");
    twin("stra\u{df}e.py", "STRASSE.py");
    refused(&archive(&[MAIN, ("\u{ff50}olicy.py", b"", 0o644)]), "same name as 'policy.py'");
    refused(&archive(&[MAIN, ("policy.py.", b"", 0o644)]), "same name as 'policy.py'");
    for unseen in
        ["a\u{202e}yp.x", "a\u{2066}b", "pol\u{200b}icy.py", "a\u{feff}", "\u{3164}.py", "a\u{a0}b", "t\u{e0041}"]
    {
        refused(&archive(&[MAIN, (unseen, b"", 0o644)]), "invisible characters");
    }
}

/// Sets a field of the header of the first entry, and of its first one only.
fn with_local(mut bytes: Vec<u8>, offset: usize, value: &[u8]) -> Vec<u8> {
    assert!(bytes.starts_with(b"PK\x03\x04"));
    bytes[offset..offset + value.len()].copy_from_slice(value);
    bytes
}

/// Inserts `inserted` before the central directory, and updates the offset of the directory.
fn before_directory(bytes: &[u8], inserted: &[u8]) -> Vec<u8> {
    let end = bytes.len() - 22;
    let start = u32::from_le_bytes(bytes[end + 16..end + 20].try_into().unwrap());
    let (files, rest) = bytes.split_at(start as usize);
    let mut moved = [files, inserted, rest].concat();
    let end = moved.len() - 22;
    moved[end + 16..end + 20].copy_from_slice(&(start + u32::try_from(inserted.len()).unwrap()).to_le_bytes());
    moved
}

#[test]
fn local_headers_must_agree_with_the_directory() {
    let whole = archive(&[MAIN, ("a/b.py", b"y = 1", 0o644)]);
    for (offset, value, what) in [
        (6, &[0x00, 0x08][..], "its flags"),
        (6, &[0x01, 0x00], "its flags"),
        (6, &[0x08, 0x00], "its flags"),
        (8, &[0, 0], "its compression method"),
        (14, &[1, 2, 3, 4], "its checksum"),
        (18, &[1, 0, 0, 0], "its packed size"),
        (22, &[1, 0, 0, 0], "its size"),
        (26, &[5, 0], "the length of its name"),
        (30, b"runner.py", "its name"),
        (30, b"../../.py", "its name"),
        (0, b"PK\x01\x02", "its offset"),
    ] {
        let expected = format!(
            "entry 'policy.py': its data is damaged (its header and the archive's directory disagree on {what})"
        );
        refused(&with_local(whole.clone(), offset, value), &expected);
    }
    // An entry that only programs reading from the beginning would find.
    let hidden = archive(&[("hidden.py", b"import evil", 0o644)]);
    let hidden = &hidden[..30 + "hidden.py".len() + 13];
    refused(&before_directory(&whole, hidden), "bytes between its last entry and its directory");
    refused(&before_directory(&whole, b"x"), "bytes between its last entry and its directory");
    refused(&with_field(whole, 42, &1_u32.to_le_bytes()), "overlap, or there are bytes between them");
}

#[test]
fn sizes_that_follow_the_data_are_checked_too() {
    // The form written by programs that do not know the size in advance: flag 3, zeros in the header, a descriptor.
    let streamed = |crc: u32, signed: bool| {
        let (name, data) = (b"policy.py", POLICY.as_bytes());
        let (true_crc, size) = (crc32(data).to_le_bytes(), bytes_of(data.len()));
        let sizes = [crc.to_le_bytes(), size, size].concat();
        let mut bytes =
            [b"PK\x03\x04", &[20, 0, 8, 0, 0, 0, 0, 0, 0x21, 0][..], &[0; 12], &[9, 0, 0, 0], name, data].concat();
        if signed {
            bytes.extend(b"PK\x07\x08");
        }
        bytes.extend(sizes);
        let start = bytes_of(bytes.len());
        let entry = [
            b"PK\x01\x02",
            &[20, 0, 20, 0, 8, 0, 0, 0, 0, 0, 0x21, 0][..],
            &true_crc,
            &size,
            &size,
            &[9, 0],
            &[0; 16],
            name,
        ];
        let entry = entry.concat();
        let length = bytes_of(entry.len());
        let end = [b"PK\x05\x06", &[0, 0, 0, 0, 1, 0, 1, 0][..], &length, &start, &[0, 0]].concat();
        [bytes, entry, end].concat()
    };
    let right = crc32(POLICY.as_bytes());
    for signed in [true, false] {
        let taken = take(&streamed(right, signed));
        assert!(taken.result.is_ok(), "{:?}", taken.result);
        assert_eq!(taken.names(), ["policy.py"]);
        refused(&streamed(right ^ 1, signed), "disagree on its data descriptor");
    }
}

/// Returns a length as encoded in a header.
fn bytes_of(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap().to_le_bytes()
}

/// Computes the CRC-32 of zip archives (ISO 3309), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[test]
fn decompression_bombs_are_rejected() {
    refused(&archive(&[MAIN, ("zeroes", &vec![0; 8 << 20], 0o644)]), "times its size");
    let names: Vec<String> = (0..513).map(|n| format!("f{n}")).collect();
    let many: Vec<(&str, &[u8], u32)> = names.iter().map(|name| (name.as_str(), b"".as_slice(), 0o644)).collect();
    refused(&archive(&many), "513 entries, but at most 512");
    // A declared size that is too small does not help, because the unpacked bytes are counted.
    let small = with_field(archive(&[("policy.py", &vec![b'#'; 1 << 20], 0o644)]), 24, &10_u32.to_le_bytes());
    refused(&small, "entry 'policy.py'");
    let noise: Vec<u8> = (0..1_000_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let limits = IntakeLimits { unpacked_bytes: 1_000_000, ..IntakeLimits::default() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.zip");
    std::fs::write(&path, archive(&[MAIN, ("noise", &noise, 0o644)])).unwrap();
    let error = intake(&path, &folder.path().join("dest"), &limits).unwrap_err();
    assert!(matches!(error, IntakeError::TooLargeUnpacked { .. }), "{error}");
    let limits = IntakeLimits { archive_bytes: 1000, ..IntakeLimits::default() };
    let error = intake(&path, &folder.path().join("dest"), &limits).unwrap_err();
    assert!(matches!(error, IntakeError::TooLarge { .. }), "{error}");
}

#[test]
fn entries_that_share_their_data_are_rejected() {
    // Two entries of the directory refer to the same bytes, so that a small archive unpacks to a huge one.
    let bytes = archive(&[MAIN, ("other1.py", b"x = 1", 0o644)]);
    refused(&with_field(bytes, 42, &0_u32.to_le_bytes()), "zip");
}

#[test]
fn damaged_data_names_the_entry() {
    let mut bytes = archive(&[MAIN]);
    bytes[45] ^= 0xff;
    refused(&bytes, "entry 'policy.py': its data is damaged");
}

#[test]
fn an_archive_without_a_policy_is_rejected() {
    refused(&archive(&[("readme", b"", 0o644)]), "there is no policy.py");
    refused(&archive(&[("a/policy.py", b"", 0o644), ("readme", b"", 0o644)]), "it is at 'a/policy.py'");
}

#[test]
fn truncated_and_corrupted_archives_never_cause_a_panic() {
    let whole = archive(&[MAIN, ("a/b.py", b"y = 1", 0o644)]);
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0xff;
        for bytes in [&whole[..at], &flipped] {
            if let Err(error) = take(bytes).result {
                assert!(!error.is_internal(), "{at}: {error:?}");
            }
        }
    }
}

#[test]
fn a_folder_and_a_file_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::create_dir_all(source.join("lib")).unwrap();
    std::fs::create_dir_all(source.join(".git")).unwrap();
    for (name, text) in [("policy.py", POLICY), ("lib/net.py", "x"), (".git/config", "y"), (".env", "secret")] {
        std::fs::write(source.join(name), text).unwrap();
    }
    let take = |from: &Path, to: &str| intake(from, &folder.path().join(to), &IntakeLimits::default());
    let first = take(&source, "a").unwrap();
    assert_eq!((first.files, first.bytes), (2, POLICY.len() as u64 + 1));
    assert!(folder.path().join("a/lib/net.py").exists() && !folder.path().join("a/.env").exists());
    assert_eq!(take(&source, "b").unwrap().sha256, first.sha256);
    std::fs::write(source.join("lib/net.py"), "z").unwrap();
    assert_ne!(take(&source, "c").unwrap().sha256, first.sha256);

    let single = take(&source.join("lib/net.py"), "d").unwrap();
    assert_eq!(single.files, 1);
    assert_eq!(std::fs::read_to_string(folder.path().join("d/policy.py")).unwrap(), "z");

    symlink("/etc/passwd", source.join("link")).unwrap();
    let error = take(&source, "e").unwrap_err();
    assert!(error.to_string().contains("a link to a file outside of the folder"), "{error}");
    assert!(!folder.path().join("e").exists());
    let error = take(&folder.path().join("nothing"), "f").unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
}

/// Returns a `policy.toml` that declares a model with this path and content.
fn declaring(path: &str, content: &[u8], more: &str) -> String {
    format!("[[models]]\npath = \"{path}\"\nsha256 = \"{}\"\n{more}\n", Sha256Digest::of(content))
}

#[test]
fn models_in_the_archive_are_compared_and_others_are_listed() {
    let (near, far) = (declaring("nets/near.onnx", b"near", "size_bytes = 4"), declaring("far.onnx", b"far", ""));
    let toml = format!("{near}{far}");
    let entries = [MAIN, ("nets/near.onnx", b"near", 0o644), ("policy.toml", toml.as_bytes(), 0o644)];
    let taken = take(&archive(&entries)).result.unwrap();
    assert_eq!(taken.declaration.models.len(), 2);
    let listed: Vec<_> = taken.models.iter().map(|model| (model.path.as_str(), model.sha256)).collect();
    assert_eq!(listed, [("far.onnx", Sha256Digest::of("far"))]);
    // The same from a folder.
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::create_dir_all(source.join("nets")).unwrap();
    for (name, content, _) in entries {
        std::fs::write(source.join(name), content).unwrap();
    }
    let limits = IntakeLimits::default();
    assert_eq!(intake(&source, &folder.path().join("dest"), &limits).unwrap().models, taken.models);
    std::fs::write(source.join("nets/near.onnx"), "other").unwrap();
    let error = intake(&source, &folder.path().join("again"), &limits).unwrap_err();
    assert!(error.to_string().contains("the model 'nets/near.onnx': the file in the policy's folder has the SHA-256"));
}

#[test]
fn models_that_do_not_fit_are_refused() {
    let with = |path: &str, more: &str, expected: &str| {
        let toml = declaring(path, b"near", more);
        let near: (&str, &[u8], u32) = ("nets/near.onnx", b"near", 0o644);
        refused(&archive(&[MAIN, near, ("policy.toml", toml.as_bytes(), 0o644)]), expected);
    };
    with("policy.py", "", "is the name of a program");
    with("nets/near.onnx", "size_bytes = 5", "has 4 bytes, but 5 are declared");
    for path in ["/etc/passwd", "../near", "nets/../near", "", "nets/", ".hidden/near", "__pycache__/x", "a\\\\b"] {
        with(path, "", "its path must lead to a file");
    }
    with("nets", "", "its path is that of 'nets'");
    with("policy.py/near", "", "its path is that of 'policy.py'");
    with("NETS/NEAR.onnx", "", "its path is that of 'nets");
    let twice = format!("x\"\nsha256 = \"{}\"\n[[models]]\npath = \"x", Sha256Digest::of("x"));
    with(&twice, "", "its path is that of 'x'");
}
