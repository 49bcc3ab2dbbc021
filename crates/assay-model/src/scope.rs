//! Permissions of an API key.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Permission of an API key. No permission implies another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Read scenarios and the account's own jobs.
    Read,
    /// Start and cancel verifications.
    Verify,
    /// Submit to the arena.
    Submit,
    /// Publish community scenarios.
    Publish,
    /// Read other accounts' jobs and submissions, and write reviews.
    Review,
    /// Manage API keys and read everything.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 6] = [Self::Read, Self::Verify, Self::Submit, Self::Publish, Self::Review, Self::Admin];

    /// Returns the name used in messages and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Verify => "verify",
            Self::Submit => "submit",
            Self::Publish => "publish",
            Self::Review => "review",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Error for text that is not the name of a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a scope: use read, verify, submit, publish, review or admin")]
pub struct ScopeError(pub String);

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        Self::ALL.into_iter().find(|s| s.as_str() == text).ok_or_else(|| ScopeError(text.to_owned()))
    }
}

/// Permissions of an API key. The text form is a comma-separated list of names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Scopes(BTreeSet<Scope>);

impl Scopes {
    /// Returns the set of all scopes.
    #[must_use]
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Returns whether the set contains `scope`.
    #[must_use]
    pub fn has(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// Returns whether `other` contains all scopes of this set.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Returns whether the set contains no scope.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an iterator over the scopes, in the order of [`Scope::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = Scope> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, scope) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            f.write_str(scope.as_str())?;
        }
        Ok(())
    }
}

impl FromStr for Scopes {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::parse).collect()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn text_round_trips() {
        assert_eq!(Scopes::all().to_string().parse(), Ok(Scopes::all()));
        let two: Scopes = "verify, read".parse().unwrap();
        assert_eq!(two.to_string(), "read,verify");
        assert!(two.is_subset(&Scopes::all()) && !Scopes::all().is_subset(&two));
        assert_eq!("read,fly".parse::<Scopes>(), Err(ScopeError("fly".to_owned())));
    }
}
