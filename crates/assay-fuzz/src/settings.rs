//! Input files of the command line.

use crate::pieces::pair;
use crate::text::with_text;

/// Parses the input as a settings file.
pub(crate) fn settings(data: &[u8]) {
    with_text(data, |text| {
        assay::fuzzing::settings(text);
    });
}

/// Parses a formula, and a trace to evaluate it on.
pub(crate) fn csv(data: &[u8]) {
    let (formula, csv) = pair(data);
    with_text(formula, |formula| {
        assay::fuzzing::stl(formula, csv);
    });
}
