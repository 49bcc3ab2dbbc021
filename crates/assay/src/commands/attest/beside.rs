//! Files beside those of a job's statement.

/// Files in the episodes' folders besides those that the job's statement lists.
#[derive(Default)]
pub(super) struct Beside {
    /// Drawings with a statement that holds.
    pub(super) signed: usize,
    /// Names of drawings that were signed and are not here.
    pub(super) absent: Vec<String>,
    /// Names of files that no statement lists.
    pub(super) unsigned: Vec<String>,
}

impl Beside {
    pub(super) fn words(&self) -> String {
        match (self.signed, self.unsigned.len()) {
            (0, 0) => "none are here".to_owned(),
            (signed, 0) => format!("all {signed} are those that were signed"),
            (signed, unsigned) => format!("{signed} are those that were signed; {unsigned} files are signed by nobody"),
        }
    }
}
