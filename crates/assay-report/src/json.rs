//! `report.json`: the job object, indented, in the order of its fields. What is written reads back equal, to the last
//! bit of every number.

use assay_model::JobReport;

/// A report that could not be written or read as JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// The report does not fit JSON.
    #[error("the report could not be written as JSON")]
    Write(#[source] serde_json::Error),
    /// The text is not a report.
    #[error("this is not a report.json of assay")]
    Read(#[source] serde_json::Error),
}

/// The report as indented JSON with a newline at the end.
///
/// # Errors
/// [`JsonError::Write`] when a value of the report has no form in JSON.
pub fn render(report: &JobReport) -> Result<String, JsonError> {
    let mut text = serde_json::to_string_pretty(report).map_err(JsonError::Write)?;
    text.push('\n');
    Ok(text)
}

/// Reads [`render`]'s text back.
///
/// # Errors
/// [`JsonError::Read`] when the text is not JSON or lacks a field.
pub fn parse(text: &str) -> Result<JobReport, JsonError> {
    serde_json::from_str(text).map_err(JsonError::Read)
}
