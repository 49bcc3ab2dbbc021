//! Text that must never be printed.

use std::fmt;

/// A secret. It prints as `[secret]`, and cannot be compared or serialised by accident.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret from `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the one place that needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn secrets_are_not_printed() {
        let secret = Secret::new("k-123");
        assert_eq!((format!("{secret:?}").as_str(), secret.reveal()), ("[secret]", "k-123"));
    }
}
