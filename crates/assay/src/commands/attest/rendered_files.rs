//! Files in the episodes' folders that a job's statement does not list.

/// Files in the episodes' folders besides those that the job's statement lists: logs and videos.
#[derive(Default)]
pub(super) struct RenderedFiles {
    /// Number of files with a valid statement.
    pub(super) signed: usize,
    /// Names of signed files that are missing.
    pub(super) absent: Vec<String>,
    /// Names of files that no statement lists.
    pub(super) unsigned: Vec<String>,
}

impl RenderedFiles {
    pub(super) fn summary(&self) -> String {
        match (self.signed, self.unsigned.len()) {
            (0, 0) => "no files".to_owned(),
            (signed, 0) => format!("all {signed} files match the signed statements"),
            (signed, unsigned) => format!("{signed} files match the signed statements; {unsigned} files are unsigned"),
        }
    }
}
