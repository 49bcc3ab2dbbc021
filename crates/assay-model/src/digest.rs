//! SHA-256 digests of files, policies, scenarios and traces.

use std::borrow::Cow;
use std::fmt;
use std::io;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::hex::{PATTERN_OF_256_BITS, from_hex, write_hex};

/// Length of a digest, in bytes.
const BYTES: usize = 32;
/// Length of a digest's text form, in hexadecimal digits.
const DIGITS: usize = 2 * BYTES;

/// A SHA-256 digest. Its text and JSON form is exactly 64 lower-case hexadecimal digits. A precision (`{digest:.12}`)
/// writes only the first digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Digest([u8; BYTES]);

/// Error for text that is not a SHA-256 digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256 digest: use 64 lower-case hexadecimal digits")]
pub struct InvalidDigest;

impl Sha256Digest {
    /// Creates a digest from its bytes.
    #[must_use]
    pub const fn new(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    /// Computes the digest of `content`. [`Sha256Writer`] computes it incrementally.
    #[must_use]
    pub fn of(content: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; DIGITS];
        f.pad(write_hex(&self.0, &mut digits))
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Sha256Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        from_hex(text).map(Self).ok_or(InvalidDigest)
    }
}

impl JsonSchema for Sha256Digest {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Sha256Digest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": PATTERN_OF_256_BITS })
    }
}

impl Serialize for Sha256Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A report contains many digests, so avoid an allocation for each.
        let mut digits = [0; DIGITS];
        serializer.serialize_str(write_hex(&self.0, &mut digits))
    }
}

impl<'de> Deserialize<'de> for Sha256Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Sha256Digest;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a SHA-256 of 64 lower-case hexadecimal digits")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Sha256Digest, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

/// Deserialises a digest from a file that may be untrusted. Text that is not a digest becomes `None`.
///
/// # Errors
/// The value is not a string.
pub fn digest_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Sha256Digest>, D::Error> {
    Ok(String::deserialize(deserializer)?.parse().ok())
}

/// Writer that computes the digest of the data written to it.
#[derive(Debug, Clone, Default)]
pub struct Sha256Writer(Sha256);

impl Sha256Writer {
    /// Adds data to the digest.
    pub fn update(&mut self, piece: impl AsRef<[u8]>) {
        self.0.update(piece);
    }

    /// Returns the digest of all data added.
    #[must_use]
    pub fn finish(self) -> Sha256Digest {
        Sha256Digest(self.0.finalize().into())
    }
}

impl io::Write for Sha256Writer {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.update(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
