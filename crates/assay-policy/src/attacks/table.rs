//! Table of attacks.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_model::Isolation;
use serde::Deserialize;

/// The time limit of an answer: much more than an answer takes, also on a machine where it waits for a processor.
const ANSWER_LIMIT: Duration = Duration::from_secs(300);
/// The beginning of the outcome of an attack that succeeds.
const GOT: &str = "got:";
/// The code that runs an attempt and reports its outcome; `attempt()` comes from the attack.
const ATTEMPT: &str = include_str!("../../attacks/attempt.py");
const TABLE: &str = include_str!("../../attacks/attacks.toml");

/// Every attack.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The attacks, in the order of the file.
    #[serde(rename = "attack")]
    pub attacks: Vec<Attack>,
}

/// A hostile policy and its expected outcome.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attack {
    /// Unique name.
    pub name: String,
    /// Its target: files, network, processes, ...
    pub kind: String,
    /// Body of a function that is called at the first step: the attack succeeds when it returns.
    attempt: Option<String>,
    /// The whole `policy.py`, if an attempt is not enough.
    policy: Option<String>,
    /// Files beside `policy.py`.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Time to wait for an answer that will not come, in milliseconds.
    patience_ms: Option<u64>,
    /// The expected outcome, as in [`super::AttackReport::outcome`].
    expected: String,
    /// The expected outcome in the tier without namespaces, if it differs. `got: ...` is an attack that succeeds there:
    /// a weakness of the tier.
    landlock: Option<String>,
    /// The expected outcome if the policy was forked, if it differs.
    forked: Option<String>,
}

/// The kind of jail that an attack meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JailVariant {
    /// Its tier.
    pub isolation: Isolation,
    /// True if a fork server started the policy.
    pub is_forked: bool,
}

impl Table {
    /// Reads the built-in table.
    ///
    /// # Errors
    /// The table is invalid. It is part of the program and read by its tests, so this is a bug.
    pub fn load() -> Result<Self, toml::de::Error> {
        toml::from_str(TABLE)
    }
}

impl Attack {
    /// Returns the expected outcome.
    #[must_use]
    pub fn expected(&self, variant: JailVariant) -> &str {
        let weaker = self.landlock.as_deref().filter(|_| variant.isolation != Isolation::Namespaces);
        let forked = self.forked.as_deref().filter(|_| variant.is_forked);
        weaker.or(forked).unwrap_or(&self.expected)
    }

    /// Returns whether it is known to succeed.
    #[must_use]
    pub fn succeeds(&self, variant: JailVariant) -> bool {
        self.expected(variant).starts_with(GOT)
    }

    /// Returns the time limit of each of its answers.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.patience_ms.map_or(ANSWER_LIMIT, Duration::from_millis)
    }

    /// Returns the files of the policy: name and text.
    #[must_use]
    pub fn files(&self) -> Vec<(&str, String)> {
        let main = match (&self.policy, &self.attempt) {
            (Some(policy), _) => policy.clone(),
            (None, attempt) => {
                let body: Vec<_> =
                    attempt.iter().flat_map(|text| text.lines()).map(|line| format!("    {line}")).collect();
                format!("{ATTEMPT}\n\ndef attempt():\n{}\n", body.join("\n"))
            }
        };
        let others = self.files.iter().map(|(name, text)| (name.as_str(), text.clone()));
        std::iter::once(("policy.py", main)).chain(others).collect()
    }
}
