//! The import.

use std::path::Path;

use assay_model::Sha256Digest;

use super::RecordsImportError;
use super::source::{SourceRows, TargetColumn};
use super::tables::{ImportTable, TABLES};
use super::target::{self, ContentWriter, TableContent};
use crate::postgres::PostgresOptions;
use crate::postgres::failure::PgFailure;
use crate::postgres::migrate::{STEPS, migrate};
use crate::postgres::open::{Connected, connect};
use crate::postgres::session::PgSession;
use crate::sqlite::RecordsCopy;
use crate::{StorageHealth, StoreError};

/// Number of rows after which progress is reported.
const REPORTED_ROWS: u64 = 256;

/// A table after the import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedTable {
    /// Name of the table.
    pub name: &'static str,
    /// Number of its rows.
    pub rows: u64,
    /// Hash over its rows in the order of their keys, equal in the source and in the database.
    pub sha256: Sha256Digest,
}

/// An import of records into a database.
pub struct RecordsImport<'a> {
    from: &'a RecordsCopy,
    session: PgSession,
    server: String,
    has_records: bool,
}

impl std::fmt::Debug for RecordsImport<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordsImport").field("server", &self.server).finish_non_exhaustive()
    }
}

impl<'a> RecordsImport<'a> {
    /// Connects to the database, creates its schema, and checks that it is empty or has exactly the records of `from`.
    ///
    /// # Errors
    /// [`RecordsImportError::NotEmpty`] if it has others, or it cannot be used.
    pub async fn begin(options: &PostgresOptions, from: &'a RecordsCopy) -> Result<Self, RecordsImportError> {
        let Connected { session, .. } = connect(options, StorageHealth::of_server(Path::new("/"))).await?;
        let server = options.server();
        migrate(&session, STEPS).await.map_err(|problem| problem.at(server.clone()))?;
        let mut import = Self { from, session, server, has_records: false };
        import.lock().await?;
        import.has_records = import.is_complete(&mut |_| {}).await?.is_some();
        import.session.roll_back().await;
        Ok(import)
    }

    /// Returns whether the database had exactly these records at the beginning.
    #[must_use]
    pub fn has_records(&self) -> bool {
        self.has_records
    }

    /// Returns the number of rows to copy.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn rows(&self) -> Result<u64, RecordsImportError> {
        let count = |table: &ImportTable| self.from.count_rows(table.from);
        Ok(TABLES.iter().map(count).sum::<Result<u64, StoreError>>()?)
    }

    /// Copies all records in one transaction, and compares them before it is committed; `progress` receives numbers of
    /// copied rows. Records that are there already are only compared. If the returned future is dropped, nothing is
    /// copied.
    ///
    /// # Errors
    /// [`RecordsImportError`]; nothing is copied.
    pub async fn run(self, progress: &mut dyn FnMut(u64)) -> Result<Vec<ImportedTable>, RecordsImportError> {
        self.lock().await?;
        let tables = match self.is_complete(progress).await? {
            Some(tables) => tables,
            None => {
                let tables = self.copy(progress).await?;
                self.session.commit().await.map_err(writing)?;
                tables
            }
        };
        Ok(tables)
    }

    async fn lock(&self) -> Result<(), RecordsImportError> {
        target::begin(&self.session).await.map_err(writing)
    }

    /// Returns the tables if they have exactly the rows of the source, or `None` if they are empty.
    async fn is_complete(
        &self,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<Vec<ImportedTable>>, RecordsImportError> {
        if target::is_empty(&self.session).await.map_err(reading)? {
            return Ok(None);
        }
        let mut tables = Vec::new();
        for table in TABLES {
            let columns = target::columns(&self.session, table).await.map_err(reading)?;
            let (found, expected) = (self.content(table, &columns).await?, self.expected(table, &columns)?);
            if found != expected {
                return Err(RecordsImportError::NotEmpty { server: self.server.clone(), table: table.name });
            }
            progress(found.rows);
            tables.push(ImportedTable { name: table.name, rows: found.rows, sha256: found.sha256 });
        }
        Ok(Some(tables))
    }

    async fn copy(&self, progress: &mut dyn FnMut(u64)) -> Result<Vec<ImportedTable>, RecordsImportError> {
        target::set_triggers(&self.session, false).await.map_err(writing)?;
        let mut tables = Vec::new();
        for table in TABLES {
            let columns = target::columns(&self.session, table).await.map_err(reading)?;
            let written = self.copy_table(table, &columns, progress).await?;
            if self.content(table, &columns).await? != written {
                return Err(RecordsImportError::Differs { server: self.server.clone(), table: table.name });
            }
            tables.push(ImportedTable { name: table.name, rows: written.rows, sha256: written.sha256 });
        }
        target::set_triggers(&self.session, true).await.map_err(writing)?;
        target::finish(&self.session).await.map_err(writing)?;
        Ok(tables)
    }

    async fn copy_table(
        &self,
        table: &'static ImportTable,
        columns: &[TargetColumn],
        progress: &mut dyn FnMut(u64),
    ) -> Result<TableContent, RecordsImportError> {
        let mut source = SourceRows::prepare(self.from, table, columns)?;
        let (mut rows, mut content, mut unreported) = (source.query()?, ContentWriter::default(), 0);
        let kinds: Vec<_> = columns.iter().map(|column| column.kind.clone()).collect();
        let sink = self.session.copy_in(&target::copy_statement(table, columns), &kinds).await.map_err(writing)?;
        let mut sink = std::pin::pin!(sink);
        while let Some(row) = rows.next()? {
            content.add(&row);
            sink.as_mut().write(&target::parameters(&row)).await.map_err(|error| writing(error.into()))?;
            unreported += 1;
            if unreported == REPORTED_ROWS {
                progress(std::mem::take(&mut unreported));
            }
        }
        sink.finish().await.map_err(|error| writing(error.into()))?;
        progress(unreported);
        Ok(content.finish())
    }

    async fn content(&self, table: &ImportTable, columns: &[TargetColumn]) -> Result<TableContent, RecordsImportError> {
        target::content(&self.session, table, columns).await.map_err(reading)
    }

    /// Returns what a table will contain.
    fn expected(
        &self,
        table: &'static ImportTable,
        columns: &[TargetColumn],
    ) -> Result<TableContent, RecordsImportError> {
        let mut source = SourceRows::prepare(self.from, table, columns)?;
        let (mut rows, mut content) = (source.query()?, ContentWriter::default());
        while let Some(row) = rows.next()? {
            content.add(&row);
        }
        Ok(content.finish())
    }
}

fn writing(failure: PgFailure) -> RecordsImportError {
    RecordsImportError::Store(failure.while_doing("copying the records to the database"))
}

fn reading(failure: PgFailure) -> RecordsImportError {
    RecordsImportError::Store(failure.while_doing("reading the records from the database"))
}
