//! The address of a bucket, `s3://BUCKET/PREFIX`.

use std::fmt;
use std::str::FromStr;

/// Maximum length of a prefix in bytes: keys have at most 1024, and the longest key below a prefix has 114.
const MAX_PREFIX: usize = 512;
/// Length of a bucket's name (Amazon S3, "General purpose bucket naming rules").
const BUCKET_LENGTH: std::ops::RangeInclusive<usize> = 3..=63;

/// A bucket and a prefix in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketAddress {
    pub(super) bucket: String,
    /// Without slashes at its ends; may be empty.
    pub(super) prefix: String,
}

/// A text that is not the address of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be s3://BUCKET or s3://BUCKET/PREFIX, with letters, digits, '-', '_', '.' and '/' in the prefix")]
pub struct InvalidBucketAddress;

impl FromStr for BucketAddress {
    type Err = InvalidBucketAddress;

    fn from_str(text: &str) -> Result<Self, InvalidBucketAddress> {
        let rest = text.strip_prefix("s3://").ok_or(InvalidBucketAddress)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let in_bucket = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        let in_prefix = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_part = |part: &str| !part.is_empty() && part != "." && part != ".." && part.chars().all(in_prefix);
        let is_bucket = BUCKET_LENGTH.contains(&bucket.len()) && bucket.chars().all(in_bucket);
        let is_prefix = prefix.is_empty() || (prefix.len() <= MAX_PREFIX && prefix.split('/').all(is_part));
        match is_bucket && is_prefix {
            true => Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() }),
            false => Err(InvalidBucketAddress),
        }
    }
}

impl fmt::Display for BucketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for (text, bucket, prefix) in [
            ("s3://evidence", "evidence", ""),
            ("s3://evidence/", "evidence", ""),
            ("s3://my.bucket-1/lab/assay_2/", "my.bucket-1", "lab/assay_2"),
        ] {
            let address: BucketAddress = text.parse().unwrap();
            assert_eq!((address.bucket.as_str(), address.prefix.as_str()), (bucket, prefix));
            assert_eq!(address.to_string(), text.trim_end_matches('/'));
        }
    }

    #[test]
    fn anything_else_is_rejected() {
        let long = format!("s3://bucket/{}", "x".repeat(MAX_PREFIX + 1));
        assert!(long[..long.len() - 1].parse::<BucketAddress>().is_ok());
        for text in [
            "",
            "bucket",
            "s3://",
            "s3://ab",
            "s3:///prefix",
            "s3://Bucket",
            "s3://bucket//x",
            "s3://bucket/a//b",
            "s3://bucket/..",
            "s3://bucket/a/../b",
            "s3://bucket/a b",
            "s3://user:key@bucket",
            "https://bucket/x",
            &long,
        ] {
            assert_eq!(text.parse::<BucketAddress>(), Err(InvalidBucketAddress), "{text}");
        }
    }
}
