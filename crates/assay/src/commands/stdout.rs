//! Text on standard output.

pub(super) use crate::printing::print;

/// Returns the suffix for a number in this unit, which is empty for a ratio (unit 1).
pub(super) fn unit(unit: &str) -> String {
    if unit == "1" { String::new() } else { format!(" {unit}") }
}
