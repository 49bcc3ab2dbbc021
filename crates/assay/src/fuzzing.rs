//! The fuzz targets of the command line's input files.

use std::path::PathBuf;

use assay_fuzz::{pair, with_text};

use crate::commands::stl::evaluate_csv;
use crate::settings::{Effective, SettingSources};

/// Parses the input as a settings file.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn settings(data: &[u8]) {
    with_text(data, |text| {
        let sources = SettingSources::of_file(PathBuf::from("assay.toml"), text.to_owned());
        drop(Effective::load(&sources));
    });
}

/// Parses a formula, and a trace in CSV to evaluate it on, as `assay stl` does.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn csv(data: &[u8]) {
    let (formula, csv) = pair(data);
    with_text(formula, |formula| drop(evaluate_csv(formula, csv)));
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn csv_accepts_its_corpus() {
        run_corpus("csv", super::csv);
    }

    #[test]
    fn settings_accepts_its_corpus() {
        run_corpus("settings", super::settings);
    }
}
