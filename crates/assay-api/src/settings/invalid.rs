//! Why a setting can't be.

use std::fmt::{Debug, Display};
use std::ops::RangeInclusive;

/// A setting that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: must be {allowed}")]
pub struct InvalidSetting {
    /// Its path, such as `limits.rate.get_per_minute`.
    pub key: String,
    /// What it was set to.
    pub value: String,
    /// What it may be.
    pub allowed: String,
}

impl InvalidSetting {
    /// `key` of a section has a `value` that is not `allowed`.
    pub fn new(key: &str, value: impl Display, allowed: impl Into<String>) -> Self {
        Self { key: key.to_owned(), value: value.to_string(), allowed: allowed.into() }
    }

    /// The same, told from outside the section.
    #[must_use]
    pub fn within(mut self, section: &str) -> Self {
        self.key = format!("{section}.{}", self.key);
        self
    }

    /// Checks that the `value` of `key` lies in `range`.
    ///
    /// # Errors
    /// It doesn't.
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
