//! The isolation of untrusted code from the machine and from other policies.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The tier of a jail, the strongest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Linux namespaces, Landlock where the kernel has it, system call filters, resource limits.
    #[default]
    Namespaces,
    /// Landlock, system call filters, resource limits. No namespaces: names of the host's files can be asked for.
    Landlock,
    /// System call filters and resource limits only: what the host's user can read, a policy can.
    None,
}

impl Isolation {
    /// Every tier, the strongest first.
    pub const ALL: [Self; 3] = [Self::Namespaces, Self::Landlock, Self::None];

    /// The word for it in settings, reports and logs.
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
