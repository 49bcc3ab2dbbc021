//! The steps of a migration.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use assay_store::sqlite::DataLock;
use assay_store::{ImportedTable, ModelFiles, PostgresOptions, PostgresRecords, Records, RecordsCopy};
use assay_worker::{Cancel, Engine};
use tokio::runtime::Runtime;

use super::evidence::{self, RecordedFile};
use super::folder::{MigrationPlan, NewDataFolder};
use super::{other_files, records};
use crate::backup::named::Named;
use crate::backup::progress;
use crate::backup::replay::{Replayable, Replayed};
use crate::exit::{Failure, OrFail};
use crate::service::file_storage::{FileStorage, bucket_of};
use crate::service::replayer::LocalReplayer;
use crate::settings::Settings;

/// The entry in the lock file of the old data folder.
const HOLDER: &str = "assay migrate";

/// A finished migration.
#[derive(Debug)]
pub(crate) struct Migrated {
    /// Address of the database without password.
    pub(crate) store: String,
    /// Address of the bucket.
    pub(crate) blobs: Option<String>,
    /// The tables.
    pub(crate) tables: Vec<ImportedTable>,
    /// Number of files of evidence and archives, including those with problems.
    pub(crate) files: usize,
    /// Problems, one line each.
    pub(crate) problems: Vec<String>,
    /// The replay of an episode from the new place.
    pub(crate) replay: MigratedReplay,
}

/// The replay of an episode from the new place.
#[derive(Debug)]
pub(crate) enum MigratedReplay {
    /// An episode was replayed.
    Done(Replayed),
    /// None was, for this reason.
    None(String),
}

/// Migrates the data folder `from` to the places of the settings. `engine` returns the engine for a replay, given the
/// new data folder.
///
/// # Errors
/// [`Failure`]; the same migration can be repeated, and continues.
pub(crate) fn migrate(
    from: &Path,
    settings: &Settings,
    cancel: &Cancel,
    engine: impl FnOnce(&Path) -> Result<Engine, Failure>,
) -> Result<Migrated, Failure> {
    let from = source(from).or_usage()?;
    let place = settings.server.data().or_usage()?;
    let store = settings.store.postgres().or_usage()?;
    let store = store.ok_or_else(|| Failure::Usage(anyhow!("--store: name the database of the records")))?;
    let is_in_bucket = files_are_in_bucket(&from, settings.blobs.url.as_deref()).or_usage()?;
    let inside = std::path::absolute(place).or_usage()?.starts_with(&from);
    if inside {
        return Err(Failure::Usage(anyhow!("--data {}: it is in the old data folder", place.display())));
    }
    let _lock = DataLock::take(&from, HOLDER).or_usage()?;
    let plan = MigrationPlan { from, store: store.server(), blobs: settings.blobs.url.clone() };
    let folder = NewDataFolder::begin(place, &plan).context("--data").or_usage()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().or_internal()?;

    let copy = copy_records(&plan.from, &folder)?;
    if runtime.block_on(records::check(&copy, &store))? && folder.is_new() {
        drop(copy);
        folder.abandon().or_internal()?;
        return Err(Failure::Usage(anyhow!(
            "--store: it has these records already, from another migration: repeat that one if it was interrupted, or \
             name an empty database"
        )));
    }
    let storage = FileStorage::open(&settings.blobs, folder.path()).or_usage()?;
    let files = if is_in_bucket { Vec::new() } else { RecordedFile::all(&copy).or_internal()? };
    let bar = progress("evidence", "files");
    let found = runtime.block_on(evidence::migrate(&files, &plan.from, &storage, &bar, cancel));
    bar.finish_and_clear();
    let mut problems = found.or_internal()?.ok_or(Failure::Interrupted)?;
    other_files::copy(&plan.from, folder.path()).or_internal()?;
    problems.extend(missing(&copy, folder.path()).or_internal()?);
    let bar = progress("records", "rows");
    let imported = runtime.block_on(records::import(&copy, &store, &bar, cancel));
    bar.finish_and_clear();
    let tables = imported?;
    let replay = replay(&store, storage, folder.path(), &runtime, engine);
    if let MigratedReplay::Done(replayed) = &replay {
        problems.extend(replayed.contradiction());
    }
    drop(copy);
    folder.finish().or_internal()?;
    Ok(Migrated { store: plan.store, blobs: plan.blobs, tables, files: files.len(), problems, replay })
}

/// Returns the absolute path of the old data folder.
fn source(from: &Path) -> anyhow::Result<std::path::PathBuf> {
    let path = from.canonicalize().with_context(|| format!("--from {}", from.display()))?;
    match path.join(RecordsCopy::FILE_NAME).is_file() {
        true => Ok(path),
        false => Err(anyhow!("--from {}: no records found ({})", from.display(), RecordsCopy::FILE_NAME)),
    }
}

/// Returns true if the files of the old data folder are in the bucket `wanted` already.
fn files_are_in_bucket(from: &Path, wanted: Option<&str>) -> anyhow::Result<bool> {
    match bucket_of(from)? {
        None => Ok(false),
        Some(bucket) if wanted.map(|wanted| wanted.trim_end_matches('/')) == Some(bucket.as_str()) => Ok(true),
        Some(bucket) => Err(anyhow!("--blobs: the evidence of {} is in {bucket}; name that bucket", from.display())),
    }
}

/// Copies the records of the old data folder, and checks that they are not damaged.
fn copy_records(from: &Path, folder: &NewDataFolder) -> Result<RecordsCopy, Failure> {
    let to = folder.records_folder().or_internal()?;
    let copy = RecordsCopy::of_stopped_server(from, &to).or_internal()?;
    match copy.check_integrity().or_internal()? {
        None => Ok(copy),
        Some(damage) => Err(Failure::Internal(anyhow!("{} is damaged: {damage}", RecordsCopy::FILE_NAME))),
    }
}

/// Returns the files other than evidence and archives that the records name and the new data folder does not have.
fn missing(records: &RecordsCopy, folder: &Path) -> anyhow::Result<Vec<String>> {
    let is_other = |named: &Named| !matches!(named, Named::Policy(_) | Named::Artifact(..));
    let is_missing = |place: &String| !folder.join(place).exists();
    let places = Named::all(records, folder)?.into_iter().filter(is_other).filter_map(|named| named.places().pop());
    Ok(places.filter(is_missing).map(|place| format!("{place}: not found in the old data folder")).collect())
}

/// Replays an episode from the new place.
fn replay(
    store: &PostgresOptions,
    storage: FileStorage,
    folder: &Path,
    runtime: &Runtime,
    engine: impl FnOnce(&Path) -> Result<Engine, Failure>,
) -> MigratedReplay {
    let replay = || -> anyhow::Result<Option<Replayed>> {
        let records: Arc<dyn Records> = Arc::new(runtime.block_on(PostgresRecords::open(store, folder))?);
        let Some(replayable) = Replayable::newest(&*records, runtime)? else { return Ok(None) };
        let engine = engine(folder).map_err(|failure| anyhow!("{failure}"))?;
        engine.runs_policies().map_err(|refusal| anyhow!("{refusal}"))?;
        let files = (storage.archives, ModelFiles::at(&folder.join(ModelFiles::FOLDER)));
        let replayer = LocalReplayer::new(Arc::new(engine), records, storage.blobs, files);
        replayable.replay_with(&replayer, runtime).map(Some)
    };
    match replay() {
        Ok(Some(replayed)) => MigratedReplay::Done(replayed),
        Ok(None) => MigratedReplay::None("no job has a policy and a recording".to_owned()),
        Err(error) => MigratedReplay::None(format!("{error:#}")),
    }
}
