//! The records of the service, and the data folder with its other files: of one server, or shared by several.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use assay_api::{FolderLocks, OsEntropy};
use assay_model::{Entropy, ErrorChain};
use assay_store::sqlite::DataLock;
use assay_store::{PostgresRecords, Records, RecordsCopy, Site, SiteRecords, SqliteRecords, StorageHealth};
use tempfile::NamedTempFile;
use uuid::Uuid;

use crate::printing::complain;
use crate::settings::Settings;

/// The entry in the lock file of the data folder.
const HOLDER: &str = "assay serve";
/// File in the data folder with the id of the shared records that its files belong to.
pub(crate) const SITE_FILE: &str = "site";

/// The open records, and what this server shares with others.
pub(super) struct ServiceRecords {
    pub(super) records: Arc<dyn Records>,
    pub(super) health: StorageHealth,
    pub(super) site: Site,
    pub(super) locks: FolderLocks,
    /// Holds the data folder for its other files. `None` if the records hold it.
    lock: Option<DataLock>,
}

impl ServiceRecords {
    /// Opens the records of the settings: on a server, or in the data folder, where it reserves the disk space that
    /// commits need.
    pub(super) async fn open(settings: &Settings, data: &Path) -> anyhow::Result<Self> {
        let opened = match settings.store.postgres()? {
            Some(options) => {
                let lock = DataLock::join(data, HOLDER)?;
                let records = Arc::new(PostgresRecords::open(&options, data).await?);
                remember(data, records.site_id().await?, records.server())?;
                if data.join(RecordsCopy::FILE_NAME).exists() {
                    let (file, server) = (RecordsCopy::FILE_NAME, records.server());
                    complain!(
                        "assay: warning: {file} in the data folder is not used; the records are those of {server}"
                    );
                }
                let site = Site::shared(Arc::clone(&records) as _, process_id());
                let locks = FolderLocks::shared(data).context("the folder of locks")?;
                Self { health: records.health(), records, site, locks, lock: Some(lock) }
            }
            None => {
                let file = data.join(SITE_FILE);
                ensure!(
                    !file.exists(),
                    "the files of this data folder belong to the jobs of a database on a server: set store.url or, if that \
                     database is gone for good, delete {}",
                    file.display()
                );
                let records = SqliteRecords::open(data, HOLDER)?;
                if let Err(error) = records.hold_reserve(settings.limits.disk.records_reserve_mib << 20) {
                    let why = ErrorChain(&error);
                    complain!("assay: warning: {why}; this is tried again while the server runs");
                }
                let (health, site, locks) = (records.health(), Site::default(), FolderLocks::default());
                Self { health, records: Arc::new(records), site, locks, lock: None }
            }
        };
        opened.health.keep_free(settings.limits.disk.min_free_mib << 20);
        Ok(opened)
    }

    /// Returns whether no other server has files in the data folder, so that unfinished ones are leftovers.
    pub(super) fn has_folder_alone(&self) -> bool {
        self.lock.as_ref().is_none_or(DataLock::is_exclusive)
    }

    /// Lets other servers of the site use the data folder, too.
    pub(super) fn share_folder(&mut self, data: &Path) -> anyhow::Result<()> {
        match &mut self.lock {
            Some(lock) => Ok(lock.share(data)?),
            None => Ok(()),
        }
    }
}

/// Returns a unique id of this process.
fn process_id() -> Uuid {
    let mut random = [0; 16];
    OsEntropy.fill(&mut random);
    uuid::Builder::from_random_bytes(random).into_uuid()
}

/// Writes the id of the records to the data folder, unless its files belong to others, which would be removed as files
/// that no job needs.
fn remember(data: &Path, site: Uuid, server: &str) -> anyhow::Result<()> {
    let file = data.join(SITE_FILE);
    match fs::read_to_string(&file) {
        Ok(known) if known.trim() == site.to_string() => Ok(()),
        Ok(_) => bail!(
            "the files of this data folder belong to the jobs of another database than {server}: set store.url to that \
             one or, if you have restored it under this address, delete {}",
            file.display()
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let mut written = NamedTempFile::new_in(data)?;
            writeln!(written, "{site}")?;
            written.as_file().sync_all()?;
            written.persist(&file).with_context(|| file.display().to_string())?;
            Ok(())
        }
        Err(error) => Err(error).with_context(|| file.display().to_string()),
    }
}
