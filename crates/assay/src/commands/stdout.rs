//! Text on standard output.

/// A unit to put behind a number; a ratio (unit 1) has none.
pub(super) fn unit(unit: &str) -> String {
    if unit == "1" { String::new() } else { format!(" {unit}") }
}

/// Writes to standard output; a reader that went away (`| head`) is no error.
pub(super) fn print(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
}
