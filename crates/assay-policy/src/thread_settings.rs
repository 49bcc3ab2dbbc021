//! A textual search of a policy's files for settings of more than one thread.
//!
//! Python is not run for it, so a number that is computed is not found, and one inside a string is. The files are
//! untrusted: every length is bounded.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::intake::MAX_ENTRIES;

/// Maximum length of the part of a file that is searched, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Maximum length of all searched parts together, in bytes.
const MAX_TOTAL_BYTES: usize = 8 << 20;
/// Maximum length of a searched line, in bytes: longer ones are data.
const MAX_LINE_BYTES: usize = 1000;
/// Maximum number of settings returned.
const MAX_SETTINGS: usize = 5;

/// Names of options that are assigned or passed by name: those of ONNX Runtime.
const ASSIGNED: [&str; 2] = ["intra_op_num_threads", "inter_op_num_threads"];
/// Names of functions that are called: those of PyTorch.
const CALLED: [&str; 2] = ["set_num_threads", "set_num_interop_threads"];

/// A line that sets a number of threads.
#[derive(Debug, PartialEq, Eq)]
pub struct ThreadSetting {
    /// The file's path in the policy's folder.
    pub file: String,
    /// The line's number, from 1.
    pub line: usize,
    /// The option or function.
    pub name: &'static str,
    /// The number of threads, more than one.
    pub threads: u32,
}

/// Returns settings of more than one thread in the Python files below `folder`, sorted by file and line. Files that
/// can't be read are left out: the policy's import reports them.
#[must_use]
pub fn thread_settings(folder: &Path) -> Vec<ThreadSetting> {
    let (mut found, mut total) = (Vec::new(), 0);
    for path in python_files(folder) {
        let mut source = Vec::new();
        let file = File::open(folder.join(&path));
        if file.and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut source)).is_err() {
            continue;
        }
        total += source.len();
        let name = assay_model::sanitise(&path.to_string_lossy(), MAX_LINE_BYTES);
        found.extend(in_source(&source).map(|(line, (name_of, threads))| ThreadSetting {
            file: name.clone(),
            line,
            name: name_of,
            threads,
        }));
        if found.len() >= MAX_SETTINGS || total > MAX_TOTAL_BYTES {
            break;
        }
    }
    found.truncate(MAX_SETTINGS);
    found
}

/// Returns the regular Python files below `folder`, relative to it and sorted.
fn python_files(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut open, mut visited) = (Vec::new(), vec![PathBuf::new()], 0);
    while let Some(inside) = open.pop() {
        let Ok(entries) = std::fs::read_dir(folder.join(&inside)) else { continue };
        for entry in entries.flatten() {
            visited += 1;
            if visited > MAX_ENTRIES {
                break;
            }
            let path = inside.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "py") => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

/// Returns the settings in the text of a file, each with its line's number.
fn in_source(source: &[u8]) -> impl Iterator<Item = (usize, (&'static str, u32))> {
    let lines = source.split(|byte| *byte == b'\n').enumerate();
    let short = lines.filter(|(_, line)| line.len() <= MAX_LINE_BYTES);
    short.filter_map(|(index, line)| Some((index + 1, in_line(line)?)))
}

/// Returns the first setting of a line.
fn in_line(line: &[u8]) -> Option<(&'static str, u32)> {
    let line = std::str::from_utf8(line).ok()?;
    let code = line.split('#').next().unwrap_or(line);
    let assigned = ASSIGNED.into_iter().map(|name| (name, '='));
    let called = CALLED.into_iter().map(|name| (name, '('));
    let mut settings = assigned.chain(called).filter_map(|(name, sign)| Some((name, number_after(code, name, sign)?)));
    settings.find(|(_, threads)| *threads > 1)
}

/// Returns the integer that follows the word `name` and `sign` in `code`, with nothing but spaces in between.
fn number_after(code: &str, name: &str, sign: char) -> Option<u32> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).find_map(|(start, _)| {
        if code[..start].ends_with(is_part) {
            return None;
        }
        let value = code[start + name.len()..].trim_start().strip_prefix(sign)?.trim_start();
        let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
        let (digits, rest) = value.split_at(end);
        // Not a part of a name or of another number.
        (!rest.starts_with(|c: char| is_part(c) || c == '.')).then(|| digits.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn numbers_of_threads_above_one_are_found() {
        for (line, expected) in [
            ("options.intra_op_num_threads = 4", Some(("intra_op_num_threads", 4))),
            ("    o.inter_op_num_threads=24  # all of them", Some(("inter_op_num_threads", 24))),
            ("f(intra_op_num_threads = 2, x=1)", Some(("intra_op_num_threads", 2))),
            ("torch.set_num_threads(8)", Some(("set_num_threads", 8))),
            ("torch.set_num_threads( 8 )", Some(("set_num_threads", 8))),
            ("import torch; torch.set_num_interop_threads(3)\r", Some(("set_num_interop_threads", 3))),
            ("set_num_threads(1); set_num_threads(2)", None),
            ("options.intra_op_num_threads = 1", None),
            ("options.intra_op_num_threads = 0", None),
            ("options.intra_op_num_threads == 4", None),
            ("options.intra_op_num_threads = N4", None),
            ("options.intra_op_num_threads = 4.5", None),
            ("options.intra_op_num_threads = 4x", None),
            ("my_intra_op_num_threads = 4", None),
            ("intra_op_num_threads_max = 4", None),
            ("  # options.intra_op_num_threads = 4", None),
            ("x = 1  # set_num_threads(4)", None),
            ("torch.set_num_threads(os.cpu_count())", None),
            ("options.intra_op_num_threads = 99999999999999999999", None),
            ("options.intra_op_num_threads", None),
            ("set_num_threads(", None),
            ("\u{e4}set_num_threads(4)", None),
        ] {
            assert_eq!(in_line(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn files_are_searched_in_order_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("policy.py", b"import torch\n\ntorch.set_num_threads(4)\n");
        write("lib/network.py", b"o.intra_op_num_threads = 2\n");
        write("notes.txt", b"o.intra_op_num_threads = 3\n");
        std::os::unix::fs::symlink("policy.py", folder.path().join("link.py")).unwrap();
        let found = thread_settings(folder.path());
        let places: Vec<_> = found.iter().map(|one| (one.file.as_str(), one.line, one.threads)).collect();
        assert_eq!(places, [("lib/network.py", 1, 2), ("policy.py", 3, 4)]);
        assert_eq!(thread_settings(&folder.path().join("nowhere")), []);
    }

    #[test]
    fn hostile_files_are_searched_in_bounded_time() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).unwrap();
        let line = b"torch.set_num_threads(4)\n";
        // As much as is searched of a file.
        let full = [&[b'x'; 511][..], b"\n"].concat().repeat(1 << 11);
        // A line that is too long, binary data, and a setting behind the searched part.
        write("a.py", &[&b"set_num_threads(4);".repeat(1 << 16)[..], b"\n"].concat());
        write("b.py", &[&[0, 0xff, b'\n'].repeat(1 << 16)[..], b"\xff", line].concat());
        write("c.py", &[&full[..], line].concat());
        assert_eq!(thread_settings(folder.path()), []);
        write("d.py", &[&[0, 0xff, b'\n'].repeat(3)[..], line].concat());
        assert_eq!(thread_settings(folder.path()).first().map(|one| one.line), Some(4));
        write("e.py", &line.repeat(1000));
        assert_eq!(thread_settings(folder.path()).len(), MAX_SETTINGS);
        // The names of the settings again and again: each is compared once.
        write("f.py", &b"set_num_threads".repeat(60));
        assert_eq!(thread_settings(folder.path()).len(), MAX_SETTINGS);
        let many = tempfile::tempdir().unwrap();
        for number in 0..20 {
            std::fs::write(many.path().join(format!("{number:02}.py")), &full).unwrap();
        }
        std::fs::write(many.path().join("99.py"), line).unwrap();
        assert_eq!(thread_settings(many.path()), [], "the limit of all files together is exceeded before");
    }
}
