//! Typed ids. A bare `Uuid` or `String` never crosses a crate boundary.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Uuid::parse_str(text).map(Self).map_err(|_| IdError::Uuid)
            }
        }
    };
}

uuid_id!(
    /// Id of a verification job (UUIDv7: ids sort by time of creation).
    JobId
);

uuid_id!(
    /// Id of the upload of a model (UUIDv7).
    ModelUploadId
);

impl JobId {
    /// Creates an id (UUIDv7) from the current time and 10 random bytes.
    #[must_use]
    pub fn new(now: jiff::Timestamp, random: [u8; 10]) -> Self {
        let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
        Self(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }
}

/// Error for an invalid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is not a UUID.
    #[error("not a UUID")]
    Uuid,
    /// The text is not a name of a scenario, an account or a runtime.
    #[error("{0:?} is not a name: use a-z, 0-9, '_' and '-', starting with a letter or digit, at most 100 characters")]
    Name(String),
}

/// Maximum length of a name of a scenario, an account or a runtime, in bytes.
const MAX_NAME_BYTES: usize = 100;

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let starts_well = bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    starts_well && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
}

macro_rules! name_id {
    ($(#[$doc:meta])* $name:ident, $pattern:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        #[schemars(extend("maxLength" = MAX_NAME_BYTES, "pattern" = $pattern))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Returns the id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                let valid: fn(&str) -> bool = $valid;
                if text.len() <= MAX_NAME_BYTES && valid(&text) { Ok(Self(text)) } else { Err(IdError::Name(text)) }
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_id!(
    /// Id of a scenario: `[a-z0-9][a-z0-9_-]*`, or `account.name` for a community scenario.
    ScenarioId,
    r"^[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)?$",
    |text| match text.split_once('.') {
        Some((account, name)) => is_name(account) && is_name(name),
        None => is_name(text),
    }
);
name_id!(
    /// Name of an account, the owner of keys, jobs and submissions.
    AccountId,
    "^[a-z0-9][a-z0-9_-]*$",
    is_name
);

name_id!(
    /// Name of a runtime that policies run in, such as `base` or `onnx`.
    RuntimeName,
    "^[a-z0-9][a-z0-9_-]*$",
    is_name
);

impl RuntimeName {
    /// Returns the name of the runtime for policies that need nothing but numpy.
    #[must_use]
    pub fn base() -> Self {
        Self("base".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["tabletop_reach", "9lives", "a", "lab.my-scene"] {
            assert!(good.parse::<ScenarioId>().is_ok(), "{good}");
        }
        for bad in ["", "_x", "Upper", "a.b.c", "a..b", "../etc", "a b", &"x".repeat(101)] {
            assert!(bad.parse::<ScenarioId>().is_err(), "{bad}");
        }
        assert!("a.b".parse::<AccountId>().is_err());
    }
}
