//! Isolation of untrusted code from the machine and from other policies.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Isolation tier of a jail, strongest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Linux namespaces, Landlock where the kernel supports it, system call filters and resource limits.
    #[default]
    Namespaces,
    /// Landlock, system call filters and resource limits, without namespaces: a policy can test whether files of the
    /// host exist.
    Landlock,
    /// System call filters and resource limits only: a policy can read every file that the service's user can read.
    None,
}

impl Isolation {
    /// All tiers, strongest first.
    pub const ALL: [Self; 3] = [Self::Namespaces, Self::Landlock, Self::None];

    /// Returns the name used in settings, reports and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Isolation {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|tier| tier.name() == text);
        known.ok_or("use namespaces, landlock or none")
    }
}

#[cfg(test)]
mod tests {
    use super::Isolation;

    #[test]
    fn names_are_the_same_in_settings_and_reports() {
        for tier in Isolation::ALL {
            assert_eq!(tier.name().parse(), Ok(tier));
            assert_eq!(serde_json::to_value(tier).ok(), Some(tier.name().into()));
        }
        assert!("docker".parse::<Isolation>().is_err());
        assert!(Isolation::Namespaces < Isolation::Landlock && Isolation::Landlock < Isolation::None);
    }
}
