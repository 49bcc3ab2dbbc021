//! Files that are given in place of a policy's archive, each with its own next step.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::error::{IntakeError, shown};
use super::limits::ArchiveKind;

/// Number of bytes at the beginning of a file that show its format.
const HEAD_BYTES: usize = 512;
/// Maximum length of a text that is taken for a file's name.
const MAX_NAME_BYTES: usize = 200;
/// Place of the signature of a tar archive.
const TAR_AT: usize = 257;

const ZIP: &str = "unpack it, and give the folder, or pack the folder as a zip archive: `zip -r policy.zip .` in it";
const ONNX: &str = "a network needs a policy.toml beside it that says which observations are its inputs: \
                    `assay init FOLDER --template onnx` writes an example; then give the folder";
const WEIGHTS: &str = "weights need a policy.py beside them that loads them and acts: `assay init FOLDER --template torch` \
                       writes an example; then give the folder";
const NOTEBOOK: &str = "save its code as a module, `jupyter nbconvert --to script --output policy FILE`, which must define \
                        `policy(observation)` or `class Policy`; then give policy.py";
const DECLARATION: &str = "give the folder that has it and the files that it names, or a zip archive of that folder";
const SCRIPT: &str = "pack it as policy.py: `zip policy.zip policy.py`";

/// Formats by their first bytes.
const BY_HEAD: [(&[u8], &str, &str); 6] = [
    (b"\x1f\x8b", "a gzip archive, such as .tar.gz", ZIP),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", ZIP),
    (b"Rar!", "a RAR archive", ZIP),
    (b"BZh", "a bzip2 archive", ZIP),
    (b"\xfd7zXZ", "an xz archive", ZIP),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", ZIP),
];
/// Formats by the end of a file's name.
const BY_NAME: [(&[&str], &str, &str); 6] = [
    (&["onnx"], "an ONNX model", ONNX),
    (&["pt", "pth", "ckpt", "safetensors", "pkl", "npz", "npy", "h5", "keras"], "a file with weights", WEIGHTS),
    (&["ipynb"], "a notebook", NOTEBOOK),
    (&["toml"], "a declaration", DECLARATION),
    (&["gz", "tgz", "tar", "bz2", "xz", "zst", "7z", "rar"], "an archive of another format", ZIP),
    (&["json", "yaml", "yml", "txt", "md"], "a text", DECLARATION),
];

/// Returns the error for a file that is not a zip archive but of a known format; `None` for all others.
pub(super) fn of_file(path: &Path, file: &File, kind: ArchiveKind) -> Option<IntakeError> {
    if kind != ArchiveKind::Policy {
        return None;
    }
    let mut head = [0; HEAD_BYTES];
    let mut length = 0;
    while let Ok(count @ 1..) = file.read_at(&mut head[length..], length as u64) {
        length += count;
    }
    let head = &head[..length];
    let error = |(what, next): (&'static str, &str)| IntakeError::OtherFormat { what, next: next.to_owned() };
    if let Some(named) = by_name(path, head) {
        return Some(error(named));
    }
    if head.starts_with(b"PK") {
        return None;
    }
    by_head(head).map(error).or_else(|| name_instead(head))
}

/// A checkpoint of PyTorch, and an archive of numpy, are zip archives.
fn by_name(path: &Path, head: &[u8]) -> Option<(&'static str, &'static str)> {
    let extension = path.extension()?.to_str()?.to_lowercase();
    let found = BY_NAME.iter().find(|(names, ..)| names.contains(&extension.as_str()));
    // The exact format is known by the content.
    found.map(|(_, what, next)| by_head(head).unwrap_or((*what, *next)))
}

fn by_head(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let known = BY_HEAD.iter().find(|(start, ..)| head.starts_with(start)).map(|(_, what, next)| (*what, *next));
    let is_tar = || head.get(TAR_AT..).is_some_and(|rest| rest.starts_with(b"ustar"));
    let text = || std::str::from_utf8(head).or_else(|error| std::str::from_utf8(&head[..error.valid_up_to()])).ok();
    let has = |words: &[&str]| text().is_some_and(|text| words.iter().any(|word| text.contains(word)));
    known
        .or_else(|| is_tar().then_some(("a tar archive", ZIP)))
        .or_else(|| (head.starts_with(b"{") && has(&["\"cells\"", "\"nbformat\""])).then_some(("a notebook", NOTEBOOK)))
        // The first field of a model, its version, and a later one, its producer or graph.
        .or_else(|| matches!(head, [0x08, 1..=20, 0x12 | 0x3a, ..]).then_some(("an ONNX model", ONNX)))
        .or_else(|| {
            has(&["def policy(", "class Policy", "import numpy", "def act("]).then_some(("a Python file", SCRIPT))
        })
        .or_else(|| has(&["[adapter]"]).then_some(("a declaration", DECLARATION)))
}

/// A short text in place of a file is often its name, sent by curl without the `@`.
fn name_instead(head: &[u8]) -> Option<IntakeError> {
    let name = std::str::from_utf8(head).ok()?.trim();
    let is_name = !name.is_empty()
        && head.len() <= MAX_NAME_BYTES
        && !name.contains(|c: char| c.is_control() || c.is_whitespace())
        && [".zip", ".py"].iter().any(|end| name.ends_with(end));
    is_name.then(|| IntakeError::OtherFormat {
        what: "the name of a file, not its content",
        next: format!("with curl, send the file: `-F policy=@{}`", shown(name)),
    })
}
