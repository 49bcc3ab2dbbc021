//! Entry points for fuzzing: parsers of the command line's input files.

use std::path::PathBuf;

use crate::commands::stl::evaluate_csv;
use crate::settings::{Effective, SettingSources};

/// Parses a settings file.
pub fn settings(text: &str) {
    let sources = SettingSources::of_file(PathBuf::from("assay.toml"), text.to_owned());
    drop(Effective::load(&sources));
}

/// Evaluates a formula on a recorded trace in CSV, as `assay stl` does.
pub fn stl(formula: &str, csv: &[u8]) {
    drop(evaluate_csv(formula, csv));
}
