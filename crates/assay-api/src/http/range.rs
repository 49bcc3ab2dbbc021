//! The `Range` header (RFC 9110, 14): one range of bytes.

use std::ops::Range;

/// The range that a client requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestedRange {
    /// Everything: no range, an unsupported one, or several ranges.
    All,
    /// These bytes.
    Part(Range<u64>),
    /// No byte that exists.
    Nothing,
}

/// Parses the header's value for a resource of `length` bytes.
pub(crate) fn parse_range(header: Option<&str>, length: u64) -> RequestedRange {
    let Some(range) = header.and_then(|text| text.strip_prefix("bytes=")) else { return RequestedRange::All };
    let Some((first, last)) = range.trim().split_once('-') else { return RequestedRange::All };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        // A number that overflows lies beyond the end.
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let part = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
        (Some(first), None) if last.is_empty() => first..length,
        (None, Some(count)) if first.is_empty() => length.saturating_sub(count)..length,
        _ => return RequestedRange::All,
    };
    if part.is_empty() { RequestedRange::Nothing } else { RequestedRange::Part(part) }
}

#[cfg(test)]
mod tests {
    use super::{RequestedRange, parse_range};

    #[test]
    fn parse_range_supports_single_byte_ranges() {
        for (header, expected) in [
            ("bytes=0-0", RequestedRange::Part(0..1)),
            ("bytes=2-5", RequestedRange::Part(2..6)),
            ("bytes=7-", RequestedRange::Part(7..10)),
            ("bytes=-3", RequestedRange::Part(7..10)),
            ("bytes=-99", RequestedRange::Part(0..10)),
            ("bytes=5-99999999999999999999999", RequestedRange::Part(5..10)),
            ("bytes=10-", RequestedRange::Nothing),
            ("bytes=99999999999999999999999-", RequestedRange::Nothing),
            ("bytes=-0", RequestedRange::Nothing),
            ("bytes=5-2", RequestedRange::All),
            ("bytes=0-1,4-5", RequestedRange::All),
            ("bytes=+1-2", RequestedRange::All),
            ("bytes=-", RequestedRange::All),
            ("lines=0-1", RequestedRange::All),
            ("", RequestedRange::All),
        ] {
            assert_eq!(parse_range(Some(header), 10), expected, "{header}");
        }
        assert_eq!(parse_range(None, 10), RequestedRange::All);
        assert_eq!(parse_range(Some("bytes=0-"), 0), RequestedRange::Nothing);
    }
}
