//! The error for an invalid setting.

use std::fmt::{Debug, Display};
use std::ops::RangeInclusive;

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: must be {allowed}")]
pub struct InvalidSetting {
    /// Path of the setting, such as `limits.rate.get_per_minute`.
    pub key: String,
    /// The invalid value.
    pub value: String,
    /// The allowed values.
    pub allowed: String,
}

impl InvalidSetting {
    /// Creates the error for the `key` of a section whose `value` is not `allowed`.
    pub fn new(key: &str, value: impl Display, allowed: impl Into<String>) -> Self {
        Self { key: key.to_owned(), value: value.to_string(), allowed: allowed.into() }
    }

    /// Prefixes the key with the path of its section.
    #[must_use]
    pub fn within(mut self, section: &str) -> Self {
        self.key = format!("{section}.{}", self.key);
        self
    }

    /// Checks that the `value` of `key` lies in `range`.
    ///
    /// # Errors
    /// The value lies outside.
    pub fn unless_in<T: PartialOrd + Display + Debug>(
        key: &str,
        value: T,
        range: &RangeInclusive<T>,
    ) -> Result<(), Self> {
        if range.contains(&value) {
            return Ok(());
        }
        Err(Self::new(key, value, format!("from {} to {}", range.start(), range.end())))
    }
}
