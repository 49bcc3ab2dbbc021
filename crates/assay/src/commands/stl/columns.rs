//! The columns of a trace.

use anyhow::{anyhow, bail};

/// Maximum number of values in a trace: 1 GiB.
pub(super) const MAX_VALUES: usize = 1 << 27;
/// Maximum number of columns.
pub(super) const MAX_COLUMNS: usize = 4096;
/// Names of the column with the times, in s: that of the traces of this project is the second.
const TIMES: [&str; 2] = ["time", "time_s"];
/// Maximum number of columns that an error names.
const MAX_NAMED: usize = 20;

/// The columns of a trace, all of the same length.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) names: Vec<String>,
    /// One column for each name; NaN where there is no number.
    pub(super) values: Vec<Vec<f64>>,
    /// The reason why a column can't be used, if it can't.
    pub(super) problems: Vec<Option<String>>,
    /// Place of the column with the times.
    pub(super) time_at: usize,
    /// Maximum deviation of a time from its exact value because it is written with few digits; 0 if unknown.
    pub(super) rounding_s: f64,
}

/// Returns the place of the column with the times.
pub(super) fn time_column(names: &[String]) -> anyhow::Result<usize> {
    let found = TIMES.iter().find_map(|time| names.iter().position(|name| name == time));
    found.ok_or_else(|| {
        let named: Vec<String> = names.iter().take(MAX_NAMED).map(|name| format!("{name:?}")).collect();
        let dots = if names.len() > MAX_NAMED { ", ..." } else { "" };
        let columns = named.join(", ");
        anyhow!("no column is called \"time\" (in s): rename the one with the times; the columns are {columns}{dots}")
    })
}

impl Columns {
    /// Checks the columns that a formula uses.
    pub(super) fn check(&self, used: &[String]) -> anyhow::Result<()> {
        for name in used {
            let mut found = (0..self.names.len()).filter(|index| self.names[*index] == *name);
            let (Some(index), more) = (found.next(), found.next()) else { continue };
            if more.is_some() {
                bail!("two columns are called {name:?}; rename one");
            }
            if let Some(problem) = &self.problems[index] {
                bail!("{problem}");
            }
        }
        Ok(())
    }
}
