//! Hexadecimal text. This is the only parser for it in the workspace: every value has exactly one text form, so text
//! that is signed, compared or looked up has no second spelling. The integer parsers of the standard library accept
//! `+f` as a byte.

/// Text form of 256 bits written by [`to_hex`], as a regular expression for schemas.
pub(crate) const PATTERN_OF_256_BITS: &str = "^[0-9a-f]{64}$";

/// Writes `bytes` as lower-case hexadecimal digits, two for each byte.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|&byte| digits(byte)).map(char::from).collect()
}

/// Writes the digits of `bytes` to `text` and returns it. `text` should be twice as long as `bytes`; a shorter one
/// receives the digits that fit.
pub(crate) fn write_hex<'a>(bytes: &[u8], text: &'a mut [u8]) -> &'a str {
    for (pair, &byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&digits(byte));
    }
    // The digits are ASCII.
    str::from_utf8(text).unwrap_or_default()
}

fn digits(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

/// Parses the text that [`to_hex`] writes for any number of bytes. Returns `None` for any other text.
#[must_use]
pub fn bytes_from_hex(text: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?);
    text.as_bytes().chunks(2).map(byte).collect()
}

/// Parses the text that [`to_hex`] writes for `N` bytes. Returns `None` for any other text, including upper-case
/// digits, signs, white space and text of another length.
#[must_use]
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{from_hex, to_hex};

    #[test]
    fn every_byte_has_one_text() {
        for value in 0..=255_u8 {
            let text = to_hex(&[value]);
            assert_eq!((text.as_str(), from_hex::<1>(&text)), (format!("{value:02x}").as_str(), Some([value])));
        }
        // Exactly 256 of all pairs of ASCII characters are bytes.
        let pairs = (0..128_u8).flat_map(|a| (0..128_u8).map(move |b| [char::from(a), char::from(b)]));
        let taken = pairs.filter(|pair| from_hex::<1>(&pair.iter().collect::<String>()).is_some());
        assert_eq!(taken.count(), 256);
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "0", "0f0", "+f", "-f", " f", "f ", "0F", "0x", "f\u{0}", "é", "０f"] {
            assert_eq!(from_hex::<1>(text), None, "{text:?}");
        }
        assert_eq!(from_hex::<2>("0f10"), Some([15, 16]));
    }
}
