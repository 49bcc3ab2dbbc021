//! A runtime as one file, which other hosts fetch: a zip archive of its folders, files and links.
//!
//! Unpacking one checks that its files have the digest of its manifest. Compiled files and links are not in that
//! digest: they are as trustworthy as the sender, which names the digest, too.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use assay_model::{RuntimeVersion, Sha256Digest, Sha256Writer};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::error::RuntimeError;
use super::library::{InstalledRuntime, MANIFEST};

/// Maximum number of files, folders and links, and maximum size of all files, in bytes.
const MAX_ENTRIES: usize = 100_000;
const MAX_BYTES: u64 = 64 << 30;
/// Maximum length of a link's target, in bytes.
const MAX_TARGET_BYTES: u64 = 4096;
/// Level of compression: the fastest, since a runtime is packed once and sent to few hosts.
const LEVEL: i64 = 1;
/// Sizes from which an entry needs the larger format.
const LARGE_BYTES: u64 = u32::MAX as u64;

/// The reason why a packed runtime was not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum PackedRuntimeError {
    /// It is not an archive.
    #[error("the packed runtime is not an archive")]
    Archive(#[from] zip::result::ZipError),
    /// It has too many files, or they are too large.
    #[error("the runtime has more than {MAX_ENTRIES} files, or more than {MAX_BYTES} bytes")]
    TooLarge,
    /// An entry lies outside the runtime, or leads there.
    #[error("the entry {0:?} is not inside the runtime")]
    Outside(String),
    /// Its files are not those of the version.
    #[error("the files of the runtime have the digest {found}, not {expected}")]
    OtherContent {
        /// The digest found.
        found: Sha256Digest,
        /// The digest of the version.
        expected: Sha256Digest,
    },
    /// It is not a runtime.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// A file cannot be read or written.
    #[error("could not read or write a file of the runtime")]
    Io(#[from] io::Error),
}

/// Returns the SHA-256 over names and contents of a runtime's files, as its manifest has it.
///
/// # Errors
/// A file cannot be read.
pub fn runtime_digest(folder: &Path) -> io::Result<Sha256Digest> {
    let mut listing = Sha256Writer::default();
    for path in entries(folder)? {
        let (file, is_compiled) = (folder.join(&path), path.extension().is_some_and(|suffix| suffix == "pyc"));
        if is_compiled || path == Path::new(MANIFEST) || !file.symlink_metadata()?.is_file() {
            continue;
        }
        let mut hash = Sha256Writer::default();
        io::copy(&mut File::open(file)?, &mut hash)?;
        writeln!(listing, "{}  {}", hash.finish(), text(&path)?)?;
    }
    Ok(listing.finish())
}

/// Packs a runtime into the new file `to`.
///
/// # Errors
/// [`PackedRuntimeError`].
pub fn pack_runtime(runtime: &InstalledRuntime, to: &Path) -> Result<(), PackedRuntimeError> {
    let mut zip = ZipWriter::new(BufWriter::new(File::create_new(to)?));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let options = options.compression_level(Some(LEVEL));
    for path in entries(&runtime.folder)? {
        let (place, name) = (runtime.folder.join(&path), text(&path)?);
        let about = place.symlink_metadata()?;
        let options = options.unix_permissions(about.permissions().mode() & 0o777);
        if about.is_symlink() {
            zip.add_symlink(name, text(&fs::read_link(&place)?)?, options)?;
        } else if about.is_dir() {
            zip.add_directory(name, options)?;
        } else {
            zip.start_file(name, options.large_file(about.len() >= LARGE_BYTES))?;
            io::copy(&mut File::open(place)?, &mut zip)?;
        }
    }
    zip.finish()?.flush()?;
    Ok(())
}

/// Unpacks a runtime into the new folder `to`, and checks that it is this version.
///
/// # Errors
/// [`PackedRuntimeError`]; the folder may exist then.
pub fn unpack_runtime(
    packed: &Path,
    to: &Path,
    version: &RuntimeVersion,
) -> Result<InstalledRuntime, PackedRuntimeError> {
    let mut zip = ZipArchive::new(BufReader::new(File::open(packed)?))?;
    if zip.len() > MAX_ENTRIES {
        return Err(PackedRuntimeError::TooLarge);
    }
    let folders = |path: &Path| DirBuilder::new().recursive(true).mode(0o755).create(path);
    folders(to)?;
    let (mut links, mut left) = (Vec::new(), MAX_BYTES);
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index)?;
        let name = entry.name()?.into_owned();
        let outside = || PackedRuntimeError::Outside(name.clone());
        let path = Path::new(&name);
        if !path.components().all(|part| matches!(part, Component::Normal(_))) || path == Path::new("") {
            return Err(outside());
        }
        if entry.is_dir() {
            folders(&to.join(path))?;
        } else if entry.is_symlink() {
            let mut target = String::new();
            entry.by_ref().take(MAX_TARGET_BYTES).read_to_string(&mut target)?;
            if !stays_inside(path, Path::new(&target)) {
                return Err(outside());
            }
            links.push((path.to_owned(), target));
        } else {
            let mode = if entry.unix_mode().unwrap_or_default() & 0o100 == 0 { 0o644 } else { 0o755 };
            let place = to.join(path);
            folders(place.parent().unwrap_or(to))?;
            let mut file = File::options().write(true).create_new(true).mode(mode).open(&place)?;
            left -= io::copy(&mut entry.by_ref().take(left), &mut file)?;
            if left == 0 {
                return Err(PackedRuntimeError::TooLarge);
            }
            // Whatever the process masks.
            file.set_permissions(Permissions::from_mode(mode))?;
        }
    }
    // After all files: none is written through a link.
    let root = to.canonicalize()?;
    for (path, target) in links {
        let folder = root.join(path.parent().unwrap_or(Path::new("")));
        folders(&folder)?;
        // In a folder that is a link, it would lead elsewhere than its path says.
        if folder.canonicalize()? != folder {
            return Err(PackedRuntimeError::Outside(path.display().to_string()));
        }
        symlink(target, root.join(path))?;
    }
    let (runtime, found) = (InstalledRuntime::read(to)?, runtime_digest(to)?);
    let expected = version.sha256;
    match found == expected && runtime.manifest.version() == *version {
        true => Ok(runtime),
        false => Err(PackedRuntimeError::OtherContent { found, expected }),
    }
}

/// Returns true if a link at `path`, relative to the runtime, leads to a place inside it: first up, then down, so that
/// no other link changes where it leads.
fn stays_inside(path: &Path, target: &Path) -> bool {
    let up = target.components().take_while(|part| *part == Component::ParentDir).count();
    let is_plain = target.components().skip(up).all(|part| matches!(part, Component::Normal(_)));
    is_plain && up < path.components().count()
}

/// Lists everything in a folder, by path relative to it, in the order of the manifest's digest.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(inside) = open.pop() {
        for entry in fs::read_dir(folder.join(&inside))? {
            let entry = entry?;
            let path = inside.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                open.push(path.clone());
            }
            found.push(path);
        }
        if found.len() > MAX_ENTRIES {
            return Err(io::Error::other(format!("more than {MAX_ENTRIES} files")));
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn text(path: &Path) -> io::Result<&str> {
    path.to_str().ok_or_else(|| io::Error::other(format!("{} is not UTF-8", path.display())))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// A small folder with everything that a runtime has.
    fn runtime(folder: &Path) -> InstalledRuntime {
        for name in ["py/bin", "py/lib/a", "policy", "lib"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("py/bin/python3.11"), "an interpreter").unwrap();
        fs::set_permissions(folder.join("py/bin/python3.11"), Permissions::from_mode(0o755)).unwrap();
        symlink("python3.11", folder.join("py/bin/python3")).unwrap();
        symlink("lib", folder.join("lib64")).unwrap();
        fs::write(folder.join("py/lib/a/b.py"), "text = 1\n".repeat(1000)).unwrap();
        fs::write(folder.join("py/lib/a.py"), "").unwrap();
        fs::write(folder.join("py/lib/a/b.pyc"), "compiled").unwrap();
        let sha256 = runtime_digest(folder).unwrap();
        let manifest = serde_json::json!({
            "name": "small", "python": "3.11.7", "packages": {}, "imports": [], "env": {}, "address_space_bytes": 0,
            "sha256": sha256, "size_bytes": 9,
        });
        fs::write(folder.join(MANIFEST), manifest.to_string()).unwrap();
        assert_eq!(runtime_digest(folder).unwrap(), sha256, "the manifest is not in its own digest");
        InstalledRuntime::read(folder).unwrap()
    }

    #[test]
    fn a_shipped_runtime_has_the_digest_of_its_manifest() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vendor/runtimes/base");
        let installed = InstalledRuntime::read(&folder).unwrap();
        assert_eq!(runtime_digest(&folder).unwrap(), installed.manifest.sha256);
    }

    #[test]
    fn a_runtime_comes_back_as_it_was_and_another_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let original = runtime(&place("original"));
        pack_runtime(&original, &place("packed")).unwrap();
        let version = original.manifest.version();
        let copy = unpack_runtime(&place("packed"), &place("copy"), &version).unwrap();
        assert_eq!(copy.manifest, original.manifest);
        assert_eq!(entries(&copy.folder).unwrap(), entries(&original.folder).unwrap());
        assert_eq!(fs::read_link(place("copy/lib64")).unwrap(), Path::new("lib"));
        let mode = |name: &str| place(name).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("copy/py/bin/python3.11"), mode("copy/py/lib/a.py")), (0o755, 0o644));

        let wanted = RuntimeVersion { sha256: Sha256Digest::of("another"), ..version.clone() };
        let refused = unpack_runtime(&place("packed"), &place("wanted"), &wanted);
        assert!(matches!(refused, Err(PackedRuntimeError::OtherContent { .. })), "{refused:?}");
        fs::write(place("original/py/lib/a.py"), "import os").unwrap();
        pack_runtime(&original, &place("changed")).unwrap();
        let refused = unpack_runtime(&place("changed"), &place("other"), &version);
        assert!(matches!(refused, Err(PackedRuntimeError::OtherContent { .. })), "{refused:?}");
        fs::write(place("no archive"), "text").unwrap();
        let refused = unpack_runtime(&place("no archive"), &place("none"), &version);
        assert!(matches!(refused, Err(PackedRuntimeError::Archive(_))), "{refused:?}");
    }

    #[test]
    fn nothing_is_written_outside_the_runtime() {
        let folder = tempfile::tempdir().unwrap();
        let version = RuntimeVersion { name: "small".parse().unwrap(), sha256: Sha256Digest::of("x") };
        let options = SimpleFileOptions::default();
        for (name, target) in [
            ("../out", None),
            ("/out", None),
            ("a/../../out", None),
            ("link", Some("/etc")),
            ("link", Some("..")),
            ("a/link", Some("../../out")),
            ("a/link", Some("b/../../c")),
        ] {
            let packed = folder.path().join("packed");
            let mut zip = ZipWriter::new(File::create(&packed).unwrap());
            match target {
                Some(target) => zip.add_symlink(name, target, options).unwrap(),
                None => zip.start_file(name, options).unwrap(),
            }
            zip.finish().unwrap();
            let refused = unpack_runtime(&packed, &folder.path().join("runtime"), &version);
            assert!(matches!(refused, Err(PackedRuntimeError::Outside(_))), "{name} {target:?}: {refused:?}");
        }
        let packed = folder.path().join("packed");
        let mut zip = ZipWriter::new(File::create(&packed).unwrap());
        zip.add_directory("near", options).unwrap();
        zip.add_symlink("a/folder", "../near", options).unwrap();
        zip.add_symlink("a/folder/link", "../../out", options).unwrap();
        zip.finish().unwrap();
        let refused = unpack_runtime(&packed, &folder.path().join("runtime"), &version);
        assert!(matches!(refused, Err(PackedRuntimeError::Outside(_))), "through a link: {refused:?}");
        assert!(stays_inside(Path::new("a/b/link"), Path::new("../../c")));
        let found: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
