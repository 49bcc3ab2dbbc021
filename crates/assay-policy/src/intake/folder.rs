//! Intake of a policy from a folder or a single Python file.

use std::fs::File;
use std::path::{Path, PathBuf};

use assay_model::Sha256Writer;

use super::accepted::Intake;
use super::adapters::{self, read_start};
use super::declared::{DeclarationObserver, DeclarationText};
use super::error::{EntryProblem, IntakeError, io};
use super::fullest::CountedFolders;
use super::left_out::LeftOut;
use super::limits::IntakeLimits;
use super::links::{LinkRoots, LinkTarget};
use super::models;
use super::names::{Clashes, ENVIRONMENT, components, is_left_out, place};
use super::write::{CopyError, Observer, WriteCount, hash_all};
use crate::runtime::SCRIPT_FILE;

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

/// Copies a folder. A link is followed if it leads to a file of the folder, or of the download that the folder is part
/// of.
pub(super) fn take(root: &Path, dest: &Path, limits: &IntakeLimits) -> Result<Intake, IntakeError> {
    let roots = LinkRoots::of(root).map_err(io(root))?;
    let Walked { mut found, left_out } = walk(root, &roots, limits)?;
    found.sort_unstable_by(|a, b| a.parts.cmp(&b.parts));
    let names: Vec<_> = found.iter().map(|file| file.parts.clone()).collect();
    let targets = place(&names, limits.content)?;
    let folders = roots.open().map_err(io(root))?;
    let open = |index: usize| {
        let FoundFile { parts, source } = &found[index];
        folders.file(source).map_err(io(&root.join(parts.iter().collect::<PathBuf>())))
    };
    copy(&open, &targets, left_out.names(), (dest, limits))
}

/// Copies one file of any name as `policy.py`.
pub(super) fn take_file(path: &Path, dest: &Path, limits: &IntakeLimits) -> Result<Intake, IntakeError> {
    let targets = [PathBuf::from(SCRIPT_FILE)];
    copy(&|_| File::open(path).map_err(io(path)), &targets, Vec::new(), (dest, limits))
}

/// Opens the source with this index.
type Open<'a> = &'a dyn Fn(usize) -> Result<File, IntakeError>;

fn copy(
    open: Open<'_>,
    targets: &[PathBuf],
    left_out: Vec<String>,
    (dest, limits): (&Path, &IntakeLimits),
) -> Result<Intake, IntakeError> {
    let (mut written, mut listing) = (WriteCount::default(), Sha256Writer::default());
    let mut declared = DeclarationText::default();
    for (index, target) in targets.iter().enumerate() {
        let mut file = open(index)?;
        let length = file.metadata().map_err(io(target))?.len();
        let name = target.as_os_str().as_encoded_bytes();
        listing.update((name.len() as u64).to_le_bytes());
        listing.update(name);
        listing.update(length.to_le_bytes());
        let mut observer = ListedFile { listing: &mut listing, declared: declared.file(target) };
        written.copy(&mut file, Some(&dest.join(target)), limits, &mut observer).map_err(|error| match error {
            CopyError::Read(error) => io(target)(error),
            CopyError::Refused(error) => error,
        })?;
    }
    let declaration = declared.read(targets, limits)?;
    // Of the copies: the originals may have changed since.
    let models = models::outside(&declaration.models, targets, limits, |index| {
        let copy = dest.join(&targets[index]);
        File::open(&copy).and_then(hash_all).map_err(io(&copy))
    })?;
    adapters::check(&declaration, targets, |index, limit| {
        let copy = dest.join(&targets[index]);
        let open = || {
            let file = File::open(&copy)?;
            let total = file.metadata()?.len();
            read_start(file, total, limit)
        };
        open().map_err(io(&copy))
    })?;
    let (sha256, files, bytes) = (listing.finish(), written.files, written.bytes);
    Ok(Intake { sha256, files, bytes, declaration, models, left_out })
}

/// A file to copy: its names below the folder, and its place.
struct FoundFile {
    parts: Vec<String>,
    source: LinkTarget,
}

/// The content of a folder.
struct Walked {
    found: Vec<FoundFile>,
    left_out: LeftOut,
}

/// Returns the files below `root` that are not left out.
fn walk(root: &Path, roots: &LinkRoots, limits: &IntakeLimits) -> Result<Walked, IntakeError> {
    let (mut walked, mut clashes) = (Walked { found: Vec::new(), left_out: LeftOut::default() }, Clashes::default());
    let (mut count, mut folders) = (0, CountedFolders::default());
    let mut open = vec![(Vec::<String>::new(), roots.root().to_owned())];
    while let Some((inside, path)) = open.pop() {
        if !inside.is_empty() && path.join(ENVIRONMENT).is_file() && !path.join(SCRIPT_FILE).is_file() {
            walked.left_out.insert(&words(&inside));
            continue;
        }
        for entry in std::fs::read_dir(&path).map_err(io(&path))? {
            let entry = entry.map_err(io(&path))?;
            let mut parts = inside.clone();
            let lossy = entry.file_name().to_string_lossy().into_owned();
            let shown = root.join(inside.iter().collect::<PathBuf>()).join(&lossy).to_string_lossy().into_owned();
            let refuse = |problem| IntakeError::entry(&shown, problem);
            let rename = EntryProblem::NotUtf8("rename the file");
            parts.push(entry.file_name().into_string().map_err(|_| refuse(rename))?);
            if is_left_out(&words(&parts[inside.len()..])) {
                walked.left_out.insert(&words(&parts));
                continue;
            }
            (count, _) = (count + 1, folders.add(&parts.join("/")));
            if count > limits.entries {
                let (what, limit, fullest) = (limits.content, limits.entries, folders.fullest());
                return Err(IntakeError::TooManyEntries { what, found: count, limit, fullest });
            }
            let kind = entry.file_type().map_err(io(&path))?;
            let name = parts.join("/");
            if kind.is_symlink() {
                components(&name, limits).map_err(refuse)?;
            }
            let (target, kind) = match kind.is_symlink() {
                true => roots.follow(&entry.path()).map_err(refuse)?,
                false => (entry.path(), kind),
            };
            if !kind.is_dir() && !kind.is_file() {
                return Err(refuse(EntryProblem::Special));
            }
            clashes.add(&components(&name, limits).map_err(refuse)?, kind.is_dir()).map_err(refuse)?;
            if kind.is_dir() {
                open.push((parts, target));
            } else {
                let source = roots.place(&target).ok_or_else(|| refuse(EntryProblem::Outside))?;
                walked.found.push(FoundFile { parts, source });
            }
        }
    }
    Ok(walked)
}

fn words(parts: &[String]) -> Vec<&str> {
    parts.iter().map(String::as_str).collect()
}
