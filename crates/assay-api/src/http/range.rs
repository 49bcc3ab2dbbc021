//! The `Range` header (RFC 9110, 14): one range of bytes.

use std::ops::Range;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Everything: no range, one that is not understood, or several.
    All,
    /// These bytes.
    Part(Range<u64>),
    /// Nothing that there is.
    Nothing,
}

/// Reads the header's value for something of `length` bytes.
pub(crate) fn wanted(header: Option<&str>, length: u64) -> Wanted {
    let Some(range) = header.and_then(|text| text.strip_prefix("bytes=")) else { return Wanted::All };
    let Some((first, last)) = range.trim().split_once('-') else { return Wanted::All };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        // A number past all bounds is past the end.
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let part = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
        (Some(first), None) if last.is_empty() => first..length,
        (None, Some(count)) if first.is_empty() => length.saturating_sub(count)..length,
        _ => return Wanted::All,
    };
    if part.is_empty() { Wanted::Nothing } else { Wanted::Part(part) }
}

#[cfg(test)]
mod tests {
    use super::{Wanted, wanted};

    #[test]
    fn ranges() {
        for (header, expected) in [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=2-5", Wanted::Part(2..6)),
            ("bytes=7-", Wanted::Part(7..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-99", Wanted::Part(0..10)),
            ("bytes=5-99999999999999999999999", Wanted::Part(5..10)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=99999999999999999999999-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=5-2", Wanted::All),
            ("bytes=0-1,4-5", Wanted::All),
            ("bytes=+1-2", Wanted::All),
            ("bytes=-", Wanted::All),
            ("lines=0-1", Wanted::All),
            ("", Wanted::All),
        ] {
            assert_eq!(wanted(Some(header), 10), expected, "{header}");
        }
        assert_eq!(wanted(None, 10), Wanted::All);
        assert_eq!(wanted(Some("bytes=0-"), 0), Wanted::Nothing);
    }
}
