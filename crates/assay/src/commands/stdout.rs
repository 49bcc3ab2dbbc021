//! Printing of text on standard output.

/// Returns the suffix for a number in this unit, which is empty for a ratio (unit 1).
pub(super) fn unit(unit: &str) -> String {
    if unit == "1" { String::new() } else { format!(" {unit}") }
}

/// Prints text with a final newline. A closed pipe (`| head`) is not an error.
pub(super) fn print(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
}
