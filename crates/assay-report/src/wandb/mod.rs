//! The report as an offline run of Weights & Biases, which `wandb sync` uploads.
//!
//! A run is a folder with a log of records (`records`), each a protobuf message, in the file format of `log`. Each
//! episode is a row of the history, with the margins of its clauses; verdict and scores are the summary; the job is the
//! configuration. Nothing is sent anywhere.

mod log;
mod messages;
mod records;

use assay_model::JobReport;
use prost::Message;

use log::RecordLog;
pub use records::REPORT_FILE;

/// An offline run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WandbRun {
    /// Name of the run's folder, `offline-run-DATE_TIME-ID`.
    pub folder: String,
    /// Name of the log in the folder, `run-ID.wandb`.
    pub log_name: String,
    /// Content of the log.
    pub log: Vec<u8>,
}

/// Converts a report. The same report gives the same bytes, and the same id: a second upload does not add a second run.
#[must_use]
pub fn render(report: &JobReport, version: &str) -> WandbRun {
    let id = report.job_id.0.simple().to_string();
    let mut log = RecordLog::new();
    for record in records::of(report, &id, version) {
        log.append(&record.encode_to_vec());
    }
    let began = records::began(report).strftime("%Y%m%d_%H%M%S");
    WandbRun { folder: format!("offline-run-{began}-{id}"), log_name: format!("run-{id}.wandb"), log: log.into_bytes() }
}
