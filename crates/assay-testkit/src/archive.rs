//! Policies as zip archives.

use std::io::Write;
use std::path::{Path, PathBuf};

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// A zip archive with these files: name and content.
#[must_use]
pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, content) in files {
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A zip archive of the files in a folder (not of those in folders below).
#[must_use]
pub fn zip_folder(folder: &Path) -> Vec<u8> {
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        path.is_file().then(|| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
    };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().filter_map(read).collect();
    files.sort();
    archive(&files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect::<Vec<_>>())
}

/// The folder of an example policy that ships with the source.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn example(scenario: &str, name: &str) -> PathBuf {
    let path = crate::program::home().join("examples/policies").join(scenario).join(name);
    assert!(path.join("policy.py").is_file(), "{} has no policy.py", path.display());
    path
}
