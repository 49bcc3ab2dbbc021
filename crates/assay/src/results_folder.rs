//! Reading of results folders, which others may have made: a link in one may lead to a file of the user, a pipe may
//! block its reader.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, anyhow};
use assay_jail::UntrustedFolder;
use assay_model::JobReport;
use assay_report::json;

/// Maximum size of a report, in bytes.
const MAX_REPORT_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum size of a statement or key list, in bytes.
pub(crate) const MAX_STATEMENT_BYTES: u64 = 64 * 1024 * 1024;

/// A report with its folder.
#[derive(Debug)]
pub(crate) struct StoredReport {
    /// The folder of the report.
    pub(crate) folder: UntrustedFolder,
    /// The file's content.
    pub(crate) text: String,
    /// The report in it.
    pub(crate) report: JobReport,
}

/// Returns the folder of `file`, and its name there.
pub(crate) fn beside(file: &Path) -> anyhow::Result<(UntrustedFolder, OsString)> {
    let name = file.file_name().ok_or_else(|| anyhow!("{} does not name a file", file.display()))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let folder = UntrustedFolder::open(folder).with_context(|| format!("can't read {}", file.display()))?;
    Ok((folder, name.to_owned()))
}

/// Reads the report in `file`.
pub(crate) fn report(file: &Path) -> anyhow::Result<StoredReport> {
    let (folder, name) = beside(file)?;
    let text = folder.read(&name, MAX_REPORT_BYTES).with_context(|| format!("can't read {}", file.display()))?;
    let text = String::from_utf8(text).with_context(|| file.display().to_string())?;
    let report = json::parse(&text).with_context(|| file.display().to_string())?;
    Ok(StoredReport { folder, text, report })
}
