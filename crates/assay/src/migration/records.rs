//! The records: copied to a database.

use std::time::Duration;

use assay_store::{ImportedTable, PostgresOptions, RecordsCopy, RecordsImport, RecordsImportError};
use assay_worker::Cancel;
use indicatif::ProgressBar;

use crate::exit::{Failure, OrFail};

/// Interval at which a signal is looked for.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// Checks that the database can be used, and is empty or has these records. Returns whether it has them.
pub(super) async fn check(records: &RecordsCopy, options: &PostgresOptions) -> Result<bool, Failure> {
    RecordsImport::begin(options, records).await.map(|import| import.has_records()).map_err(failure)
}

/// Copies the records.
pub(super) async fn import(
    records: &RecordsCopy,
    options: &PostgresOptions,
    bar: &ProgressBar,
    cancel: &Cancel,
) -> Result<Vec<ImportedTable>, Failure> {
    let import = RecordsImport::begin(options, records).await.map_err(failure)?;
    bar.set_length(import.rows().or_internal()?);
    let mut progress = |rows| bar.inc(rows);
    let mut running = std::pin::pin!(import.run(&mut progress));
    loop {
        tokio::select! {
            done = &mut running => return done.map_err(failure),
            () = tokio::time::sleep(SIGNAL_INTERVAL) => {}
        }
        if cancel.is_cancelled() {
            return Err(Failure::Interrupted);
        }
    }
}

fn failure(error: RecordsImportError) -> Failure {
    let is_usage = matches!(error, RecordsImportError::NotEmpty { .. } | RecordsImportError::Open(_));
    let error = anyhow::Error::from(error).context("--store");
    if is_usage { Failure::Usage(error) } else { Failure::Internal(error) }
}
