//! Intake of a policy or scenario from a zip archive.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use assay_model::Sha256Digest;
use zip::read::{ArchiveOffset, Config};
use zip::{ZipArchive, result::ZipError};

use super::accepted::Intake;
use super::adapters::{self, read_start};
use super::declared::DeclarationText;
use super::directory::{self, DirectoryEntry, EntryKind};
use super::error::{EntryProblem, IntakeError, io};
use super::left_out::LeftOut;
use super::limits::{IntakeLimits, RATIO_FREE_BYTES};
use super::locals;
use super::models;
use super::names::{Clashes, components, place};
use super::other_format;
use super::write::{CopyError, WriteCount, hash_all};

/// The remedy for names in another encoding.
const OTHER_PACKER: &str =
    "pack the folder with a program that writes names in UTF-8: `tar -a -cf policy.zip *`, or 7-Zip";
/// Prefix of names in archives of some programs.
const HERE: &str = "./";
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Checks an archive completely, as [`super::intake`] does, without writing anything to the disk.
///
/// # Errors
/// As for [`super::intake`].
pub fn check_archive(path: &Path, limits: &IntakeLimits) -> Result<Intake, IntakeError> {
    read(path, None, limits)
}

/// Checks the archive and unpacks it into `dest`.
pub(super) fn take(path: &Path, dest: &Path, limits: &IntakeLimits) -> Result<Intake, IntakeError> {
    read(path, Some(dest), limits)
}

/// Reads every entry, and unpacks it if there is a `dest`.
fn read(path: &Path, dest: Option<&Path>, limits: &IntakeLimits) -> Result<Intake, IntakeError> {
    let (file, plan, left_out) = open(path, limits)?;
    let sha256 = hash(&file).map_err(io(path))?;
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let mut archive = ZipArchive::with_config(config, BufReader::new(&file)).map_err(|error| not_zip(&error))?;
    if archive.has_overlapping_entries().map_err(|error| not_zip(&error))? {
        return Err(IntakeError::NotZip { why: "its entries overlap".to_owned() });
    }
    let (mut written, mut declared) = (WriteCount::default(), DeclarationText::default());
    for item in &plan {
        let damaged = |why: String| IntakeError::entry(&item.name, EntryProblem::Damaged(why));
        let mut source = archive.by_index(item.index).map_err(|error| damaged(error.to_string()))?;
        if source.name_raw() != item.name.as_bytes() {
            return Err(damaged("the directory is ambiguous".to_owned()));
        }
        let target = dest.map(|dest| dest.join(&item.target));
        let mut observer = declared.file(&item.target);
        written.copy(&mut source, target.as_deref(), limits, &mut observer).map_err(|error| match error {
            CopyError::Read(error) => damaged(error.to_string()),
            CopyError::Refused(error) => error,
        })?;
    }
    let targets: Vec<PathBuf> = plan.iter().map(|item| item.target.clone()).collect();
    let declaration = declared.read(&targets, limits)?;
    let models = models::outside(&declaration.models, &targets, limits, |index| {
        let damaged = |why: String| IntakeError::entry(&plan[index].name, EntryProblem::Damaged(why));
        let source = archive.by_index(plan[index].index).map_err(|error| damaged(error.to_string()))?;
        hash_all(source).map_err(|error| damaged(error.to_string()))
    })?;
    adapters::check(&declaration, &targets, |index, limit| {
        let damaged = |why: String| IntakeError::entry(&plan[index].name, EntryProblem::Damaged(why));
        let source = archive.by_index(plan[index].index).map_err(|error| damaged(error.to_string()))?;
        let total = source.size();
        read_start(source, total, limit).map_err(|error| damaged(error.to_string()))
    })?;
    Ok(Intake { sha256, files: written.files, bytes: written.bytes, declaration, models, left_out: left_out.names() })
}

/// A file to unpack.
struct Item {
    /// Index in the archive's directory.
    index: usize,
    name: String,
    target: PathBuf,
}

fn open(path: &Path, limits: &IntakeLimits) -> Result<(File, Vec<Item>, LeftOut), IntakeError> {
    let file = File::open(path).map_err(io(path))?;
    let length = file.metadata().map_err(io(path))?.len();
    if length > limits.archive_bytes {
        return Err(IntakeError::TooLarge { what: limits.content, bytes: length, limit: limits.archive_bytes });
    }
    if let Some(other) = other_format::of_file(path, &file, limits.content) {
        return Err(other);
    }
    let (entries, directory_start) = directory::read(&file, length, limits)?;
    let (plan, left_out) = plan(&entries, limits)?;
    locals::check(&file, &entries, directory_start)?;
    Ok((file, plan, left_out))
}

fn plan(entries: &[DirectoryEntry], limits: &IntakeLimits) -> Result<(Vec<Item>, LeftOut), IntakeError> {
    let names = entries.iter().filter_map(|entry| std::str::from_utf8(&entry.name).ok());
    let mut left_out = LeftOut::with_environments(names.map(|name| name.strip_prefix(HERE).unwrap_or(name)));
    let (mut clashes, mut items, mut files, mut total) = (Clashes::default(), Vec::new(), Vec::new(), 0_u64);
    for (index, entry) in entries.iter().enumerate() {
        let lossy = String::from_utf8_lossy(&entry.name);
        let refuse = |problem| IntakeError::entry(&lossy, problem);
        let name = std::str::from_utf8(&entry.name).map_err(|_| refuse(EntryProblem::NotUtf8(OTHER_PACKER)))?;
        let is_folder = entry.kind == EntryKind::Folder;
        // Some programs name what they pack by its path from the folder itself.
        let plain = name.strip_prefix(HERE).unwrap_or(name);
        if is_folder && plain.is_empty() && !name.is_empty() {
            continue;
        }
        let parts = components(plain, limits).map_err(refuse)?;
        if left_out.add(&parts) {
            continue;
        }
        check(entry, limits).map_err(refuse)?;
        clashes.add(&parts, is_folder).map_err(refuse)?;
        total += u64::from(entry.unpacked);
        if total > limits.unpacked_bytes {
            return Err(IntakeError::TooLargeUnpacked { what: limits.content, limit: limits.unpacked_bytes });
        }
        if !is_folder {
            files.push(parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>());
            items.push((index, name.to_owned()));
        }
    }
    let targets = place(&files, limits.content)?;
    let item = |((index, name), target)| Item { index, name, target };
    Ok((items.into_iter().zip(targets).map(item).collect(), left_out))
}

fn check(entry: &DirectoryEntry, limits: &IntakeLimits) -> Result<(), EntryProblem> {
    match entry.kind {
        EntryKind::File | EntryKind::Folder => {}
        EntryKind::Symlink => return Err(EntryProblem::Symlink),
        EntryKind::Special => return Err(EntryProblem::Special),
    }
    if entry.is_encrypted {
        return Err(EntryProblem::Encrypted);
    }
    if entry.method != STORED && entry.method != DEFLATED {
        return Err(EntryProblem::Method(entry.method));
    }
    let ratio = u64::from(entry.unpacked / entry.packed.max(1));
    if u64::from(entry.unpacked) > RATIO_FREE_BYTES && ratio > limits.ratio {
        return Err(EntryProblem::Ratio { ratio, limit: limits.ratio });
    }
    Ok(())
}

fn hash(mut file: &File) -> std::io::Result<Sha256Digest> {
    std::io::Seek::rewind(&mut file)?;
    let (sha256, _) = hash_all(file)?;
    std::io::Seek::rewind(&mut file)?;
    Ok(sha256)
}

fn not_zip(error: &ZipError) -> IntakeError {
    IntakeError::NotZip { why: error.to_string() }
}
