//! Intake of a policy from a folder or a single Python file.

use std::fs::File;
use std::path::{Path, PathBuf};

use assay_jail::UntrustedFolder;
use assay_model::Sha256Writer;

use super::accepted::Intake;
use super::adapters::{self, read_start};
use super::declared::{DeclarationObserver, DeclarationText};
use super::error::{EntryProblem, IntakeError, io};
use super::limits::IntakeLimits;
use super::models;
use super::names::{Clashes, components, is_left_out, place};
use super::write::{CopyError, Observer, WriteCount, hash_all};

/// Observes one file: its content is hashed, and kept if it may declare the policy's runtime.
struct ListedFile<'a> {
    /// Hash over the name, length and content of every file.
    listing: &'a mut Sha256Writer,
    declared: DeclarationObserver<'a>,
}

impl Observer for ListedFile<'_> {
    fn update(&mut self, bytes: &[u8]) {
        self.listing.update(bytes);
        self.declared.update(bytes);
    }
}

/// Copies a folder. Links are rejected, because their targets may be anything.
pub(super) fn take(root: &Path, dest: &Path, limits: &IntakeLimits) -> Result<Intake, IntakeError> {
    let mut found = walk(root, limits)?;
    found.sort_unstable();
    let targets = place(&found, limits.content)?;
    let folder = UntrustedFolder::open(root).map_err(io(root))?;
    let sources = found.iter().map(|parts| parts.iter().collect::<PathBuf>());
    copy(&|path| folder.file(path).map_err(io(&root.join(path))), sources.zip(targets), dest, limits)
}

/// Copies one file of any name as `policy.py`.
pub(super) fn take_file(path: &Path, dest: &Path, limits: &IntakeLimits) -> Result<Intake, IntakeError> {
    let source = std::iter::once((path.to_owned(), PathBuf::from("policy.py")));
    copy(&|path| File::open(path).map_err(io(path)), source, dest, limits)
}

/// Opens a source.
type Open<'a> = &'a dyn Fn(&Path) -> Result<File, IntakeError>;

fn copy(
    open: Open<'_>,
    files: impl Iterator<Item = (PathBuf, PathBuf)>,
    dest: &Path,
    limits: &IntakeLimits,
) -> Result<Intake, IntakeError> {
    let (mut written, mut listing) = (WriteCount::default(), Sha256Writer::default());
    let mut declared = DeclarationText::default();
    let files: Vec<(PathBuf, PathBuf)> = files.collect();
    for (source, target) in &files {
        let mut file = open(source)?;
        let length = file.metadata().map_err(io(source))?.len();
        let name = target.as_os_str().as_encoded_bytes();
        listing.update((name.len() as u64).to_le_bytes());
        listing.update(name);
        listing.update(length.to_le_bytes());
        let mut observer = ListedFile { listing: &mut listing, declared: declared.file(target) };
        written.copy(&mut file, Some(&dest.join(target)), limits, &mut observer).map_err(|error| match error {
            CopyError::Read(error) => io(source)(error),
            CopyError::Refused(error) => error,
        })?;
    }
    let targets: Vec<PathBuf> = files.into_iter().map(|(_, target)| target).collect();
    let declaration = declared.read(&targets, limits)?;
    // Of the copies: the originals may have changed since.
    let models = models::outside(&declaration.models, &targets, limits, |index| {
        let copy = dest.join(&targets[index]);
        File::open(&copy).and_then(hash_all).map_err(io(&copy))
    })?;
    adapters::check(&declaration, &targets, |index, limit| {
        let copy = dest.join(&targets[index]);
        let open = || {
            let file = File::open(&copy)?;
            let total = file.metadata()?.len();
            read_start(file, total, limit)
        };
        open().map_err(io(&copy))
    })?;
    Ok(Intake { sha256: listing.finish(), files: written.files, bytes: written.bytes, declaration, models })
}

/// Returns the files below `root` that are not ignored, as lists of names.
fn walk(root: &Path, limits: &IntakeLimits) -> Result<Vec<Vec<String>>, IntakeError> {
    let (mut files, mut clashes, mut count) = (Vec::new(), Clashes::default(), 0);
    let mut open = vec![Vec::new()];
    while let Some(folder) = open.pop() {
        let path = root.join(folder.iter().collect::<PathBuf>());
        for entry in std::fs::read_dir(&path).map_err(io(&path))? {
            let entry = entry.map_err(io(&path))?;
            let name = entry.file_name();
            let lossy = path.join(&name).to_string_lossy().into_owned();
            let refuse = |problem| IntakeError::entry(&lossy, problem);
            let name = name.into_string().map_err(|_| refuse(EntryProblem::Name("not UTF-8")))?;
            if is_left_out(&[&name]) {
                continue;
            }
            count += 1;
            if count > limits.entries {
                return Err(IntakeError::TooManyEntries { what: limits.content, found: count, limit: limits.entries });
            }
            let mut parts: Vec<String> = folder.clone();
            parts.push(name);
            let kind = entry.file_type().map_err(io(&path))?;
            check(&parts, kind, &mut clashes, limits).map_err(refuse)?;
            if kind.is_dir() { open.push(parts) } else { files.push(parts) }
        }
    }
    Ok(files)
}

fn check(
    parts: &[String],
    kind: std::fs::FileType,
    clashes: &mut Clashes,
    limits: &IntakeLimits,
) -> Result<(), EntryProblem> {
    if kind.is_symlink() {
        return Err(EntryProblem::Symlink);
    }
    if !kind.is_dir() && !kind.is_file() {
        return Err(EntryProblem::Special);
    }
    let name = parts.join("/");
    clashes.add(&components(&name, limits)?, kind.is_dir())
}
