//! `report.json`: the job object, indented, in the order of its fields. Parsing the output yields an equal report;
//! numbers are bit-identical.

use assay_model::JobReport;

/// Error for a report that could not be written or read as JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// The report cannot be represented in JSON.
    #[error("the report could not be written as JSON")]
    Write(#[source] serde_json::Error),
    /// The text is not a report.
    #[error("not a report.json of assay")]
    Read(#[source] serde_json::Error),
}

/// Renders the report as indented JSON, with a newline at the end.
///
/// # Errors
/// [`JsonError::Write`] if a value of the report cannot be represented in JSON.
pub fn render(report: &JobReport) -> Result<String, JsonError> {
    let mut text = serde_json::to_string_pretty(report).map_err(JsonError::Write)?;
    text.push('\n');
    Ok(text)
}

/// Parses the output of [`render`].
///
/// # Errors
/// [`JsonError::Read`] if the text is not JSON or lacks a field.
pub fn parse(text: &str) -> Result<JobReport, JsonError> {
    serde_json::from_str(text).map_err(JsonError::Read)
}
