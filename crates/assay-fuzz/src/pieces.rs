//! Inputs with several parts, with a separator that a fuzzer can move, duplicate and remove.

/// Separator between two parts.
const SEPARATOR: &[u8] = b"\n%%%\n";

/// Returns the parts of an input, at least one.
#[must_use]
pub fn pieces(data: &[u8]) -> Vec<&[u8]> {
    let (mut found, mut rest) = (Vec::new(), data);
    while let Some(at) = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR) {
        found.push(&rest[..at]);
        rest = &rest[at + SEPARATOR.len()..];
    }
    found.push(rest);
    found
}

/// Returns the first part and the second, which may be empty.
#[must_use]
pub fn pair(data: &[u8]) -> (&[u8], &[u8]) {
    let parts = pieces(data);
    (parts[0], parts.get(1).copied().unwrap_or_default())
}
