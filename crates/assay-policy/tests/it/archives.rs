//! Archives of the usual writers, and what is given in place of an archive.
//!
//! The archives in the folder `archives` were written by the programs that they are named after, except `powershell*`
//! and `finder`, which have the form of System.IO.Compression and of the Finder. Each has `policy.py`, most have
//! `net/__init__.py` too.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_policy::{Intake, IntakeError, IntakeLimits, check_archive, intake};

const POLICY: &str = "def policy(o):\n    return [0]*7\n";

/// The archives by name, and whether they have the second file.
const ACCEPTED: [(&str, bool); 26] = [
    ("7z", true),
    ("7z_stdin", false),
    ("admzip", true),
    ("archiver", true),
    ("bsdtar", true),
    ("bsdtar_dot", true),
    ("bsdtar_pipe", true),
    // cat policy.py | zip out.zip -
    ("catzip", false),
    ("fflate", true),
    ("finder", true),
    // force_zip64 of Python's zipfile, into a file and into a stream.
    ("force64", false),
    ("py_stream64", false),
    ("git_archive", true),
    // With a comment, and a folder around everything.
    ("github", true),
    ("infozip", true),
    ("infozip_fz", true),
    ("infozip_pipe", true),
    ("jar", true),
    ("jar_manifest", true),
    ("jszip", true),
    ("jszip_stream", true),
    ("make_archive", true),
    ("powershell", true),
    ("python_cli", true),
    ("yazl", true),
    ("yazl64", false),
];

fn archives() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/archives")
}

fn take(path: &Path) -> (Result<Intake, IntakeError>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (intake(path, &folder.path().join("dest"), &IntakeLimits::default()), folder)
}

#[test]
fn archives_of_the_usual_writers_are_accepted() {
    let mut left: BTreeSet<String> = std::fs::read_dir(archives())
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    for (name, has_package) in ACCEPTED {
        assert!(left.remove(name), "{name}");
        let path = archives().join(format!("{name}.zip"));
        let (taken, folder) = take(&path);
        let taken = taken.unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = |file: &str| std::fs::read_to_string(folder.path().join("dest").join(file));
        assert_eq!(text("policy.py").unwrap(), POLICY, "{name}");
        assert_eq!(text("net/__init__.py").ok().as_deref(), has_package.then_some("x=1\n"), "{name}");
        assert_eq!(check_archive(&path, &IntakeLimits::default()).unwrap(), taken, "{name}");
    }
    assert_eq!(Vec::from_iter(left), ["powershell_backslash"], "archives without a row");
}

#[test]
fn a_damaged_archive_of_64_bits_is_refused() {
    // Every byte of the 64-bit records and fields: none is ignored, or leads to a panic.
    for name in ["catzip", "yazl64", "py_stream64", "force64"] {
        let bytes = std::fs::read(archives().join(format!("{name}.zip"))).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.zip");
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            std::fs::write(&path, &changed).unwrap();
            if let Err(error) = check_archive(&path, &IntakeLimits::default()) {
                assert!(!error.is_internal(), "{name}, {at}: {error:?}");
            }
        }
        let place = |mark: &[u8]| (0..bytes.len()).find(|at| bytes[*at..].starts_with(mark));
        let record = place(b"PK\x06\x06").map(|at| [at + 4, at + 16, at + 24, at + 32, at + 40, at + 48]);
        let locator = place(b"PK\x06\x07").map(|at| [at + 4, at + 8, at + 16]);
        for at in record.into_iter().flatten().chain(locator.into_iter().flatten()) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x7f;
            std::fs::write(&path, &changed).unwrap();
            let error = check_archive(&path, &IntakeLimits::default()).unwrap_err().to_string();
            assert!(error.contains("not a usable zip archive"), "{name}, {at}: {error}");
        }
    }
}

#[test]
fn what_is_given_instead_has_its_own_next_step() {
    let notebook = br#"{"cells": [], "nbformat": 4}"#.as_slice();
    let script = b"def policy(observation):\n    return [0.0]\n".as_slice();
    let mut tar = vec![0; 1024];
    tar[257..262].copy_from_slice(b"ustar");
    let rows: [(&str, &[u8], &str); 22] = [
        ("model.onnx", b"\x08\x08\x12\x07pytorch", "it is an ONNX model; a network needs a policy.toml beside it"),
        ("upload", b"\x08\x08\x12\x07pytorch", "it is an ONNX model; a network needs a policy.toml beside it"),
        ("model.pt", b"PK\x03\x04...", "it is a file with weights; weights need a policy.py beside them"),
        ("model.safetensors", b"\x10\0\0\0\0\0\0\0{}", "it is a file with weights"),
        ("weights.npz", b"PK\x03\x04...", "it is a file with weights"),
        ("policy.ipynb", notebook, "it is a notebook; save its code as a module, `jupyter nbconvert --to script"),
        ("upload", notebook, "it is a notebook"),
        ("policy.toml", b"[adapter]\nkind = \"onnx\"\n", "it is a declaration; give the folder that has it"),
        ("upload", b"[adapter]\nkind = \"onnx\"\n", "it is a declaration; give the folder that has it"),
        ("policy.tar.gz", b"\x1f\x8b\x08\0", "it is a gzip archive, such as .tar.gz; unpack it"),
        ("renamed.zip", b"\x1f\x8b\x08\0", "it is a gzip archive, such as .tar.gz; unpack it"),
        ("policy.tar", &tar, "it is a tar archive; unpack it"),
        ("upload", &tar, "it is a tar archive; unpack it"),
        ("policy.7z", b"7z\xbc\xaf\x27\x1c", "it is a 7z archive; unpack it"),
        ("renamed.zip", b"7z\xbc\xaf\x27\x1c", "it is a 7z archive; unpack it"),
        (
            "upload",
            b"policy.zip",
            "it is the name of a file, not its content; with curl, send the file: `-F policy=@policy.zip`",
        ),
        ("upload", b"my/policy.py\n", "`-F policy=@my/policy.py`"),
        ("upload", script, "it is a Python file; pack it as policy.py: `zip policy.zip policy.py`"),
        ("config.json", b"{}", "it is a text; give the folder"),
        ("policy.rar", b"Rar!\x1a\x07", "it is a RAR archive; unpack it"),
        ("policy.tar.zst", b"\x28\xb5\x2f\xfd", "it is a Zstandard archive; unpack it"),
        ("policy.ckpt", b"\x80\x02", "it is a file with weights"),
    ];
    for (name, content, expected) in rows {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let error = take(&path).0.unwrap_err();
        assert!(!error.is_internal() && error.to_string().contains(expected), "{name}: {error}");
    }
}

#[test]
fn a_single_file_may_have_capital_letters() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["Policy.py", "POLICY.PY", "net.py"] {
        std::fs::write(folder.path().join(name), POLICY).unwrap();
        assert_eq!(take(&folder.path().join(name)).0.unwrap().files, 1, "{name}");
    }
}

#[test]
fn backslashes_and_names_of_another_encoding_are_no_matter_of_the_file() {
    let error = take(&archives().join("powershell_backslash.zip")).0.unwrap_err().to_string();
    assert!(error.contains("its name has a backslash; pack the folder with a program that writes /"), "{error}");
}
