//! The digest of a scenario, which identifies its exact content.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use assay_model::{Sha256Digest, Sha256Writer};

use crate::Robot;
use crate::scenario::robot_folders;

/// Maximum nesting depth of folders.
const MAX_DEPTH: usize = 8;
/// Maximum number of files of a scenario or robot.
const MAX_FILES: usize = 4096;
/// Maximum size of a file of a scenario or robot in bytes (a large mesh).
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Returns the SHA-256 over the sorted list of (path, size, content) of the scenario's folder and of every robot it
/// uses.
///
/// # Errors
/// A file cannot be read; a link, whose target the digest would not cover; too many files, a file that is too large or
/// a folder that is too deep.
pub fn digest(folder: &Path, robots: &[Robot]) -> io::Result<Sha256Digest> {
    let mut hash = Sha256Writer::default();
    add_folder(&mut hash, "scenario", folder)?;
    for (id, folder) in robot_folders(robots) {
        add_folder(&mut hash, &format!("robots/{id}"), folder)?;
    }
    Ok(hash.finish())
}

/// Returns the files of a scenario's or robot's folder, sorted, relative to it.
///
/// # Errors
/// Like [`digest`].
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    list(folder, Path::new(""), 0, &mut files)?;
    files.sort();
    Ok(files)
}

fn add_folder(hash: &mut Sha256Writer, label: &str, folder: &Path) -> io::Result<()> {
    for file in files(folder)? {
        let mut content = Vec::new();
        fs::File::open(folder.join(&file))?.take(MAX_FILE_BYTES + 1).read_to_end(&mut content)?;
        if content.len() as u64 > MAX_FILE_BYTES {
            return Err(io::Error::other(format!("{} is larger than {MAX_FILE_BYTES} bytes", file.display())));
        }
        let name = format!("{label}/{}", file.to_string_lossy());
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name.as_bytes());
        hash.update((content.len() as u64).to_le_bytes());
        hash.update(&content);
    }
    Ok(())
}

fn list(root: &Path, inside: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other(format!("folders nested more than {MAX_DEPTH} deep")));
    }
    for entry in fs::read_dir(root.join(inside))? {
        let entry = entry?;
        let path = inside.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list(root, &path, depth + 1, files)?;
        } else if kind.is_file() {
            files.push(path);
        } else {
            let problem = format!("{} is neither a file nor a folder; replace it with a copy", path.display());
            return Err(io::Error::other(problem));
        }
        if files.len() > MAX_FILES {
            return Err(io::Error::other(format!("more than {MAX_FILES} files")));
        }
    }
    Ok(())
}
