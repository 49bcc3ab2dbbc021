//! The table of attacks.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_model::Isolation;
use serde::Deserialize;

/// Time for an answer: far more than an answer takes.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// How the outcome of an attack that succeeds begins.
const GOT: &str = "got:";
/// How an attempt is made and told: `attempt()` is the attack's own.
const ATTEMPT: &str = include_str!("../../attacks/attempt.py");
const TABLE: &str = include_str!("../../attacks/attacks.toml");

/// Every attack.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// In the order of the file.
    #[serde(rename = "attack")]
    pub attacks: Vec<Attack>,
}

/// One hostile policy and what it must get.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attack {
    /// Unique.
    pub name: String,
    /// What it goes for: files, network, processes, ...
    pub kind: String,
    /// Body of a function that is called at the first step: the attack succeeds when it returns.
    attempt: Option<String>,
    /// The whole `policy.py`, where an attempt is not enough.
    policy: Option<String>,
    /// Files beside `policy.py`.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// How long to wait for an answer that will not come, in milliseconds.
    patience_ms: Option<u64>,
    /// What it must get, as [`super::AttackReport::outcome`] puts it.
    expected: String,
    /// What it gets in the tier without namespaces, where that is something else. `got: ...` is an attack that succeeds
    /// there: what the tier is weaker by.
    landlock: Option<String>,
}

impl Table {
    /// The built-in table.
    ///
    /// # Errors
    /// It is part of the program, and the tests read it: an error here is a mistake of ours.
    pub fn load() -> Result<Self, toml::de::Error> {
        toml::from_str(TABLE)
    }
}

impl Attack {
    /// What it must get in a tier.
    #[must_use]
    pub fn expected(&self, isolation: Isolation) -> &str {
        let weaker = self.landlock.as_deref().filter(|_| isolation != Isolation::Namespaces);
        weaker.unwrap_or(&self.expected)
    }

    /// Whether it succeeds in a tier, as far as we know.
    #[must_use]
    pub fn succeeds(&self, isolation: Isolation) -> bool {
        self.expected(isolation).starts_with(GOT)
    }

    /// How long to wait for each of its answers.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.patience_ms.map_or(ANSWER_LIMIT, Duration::from_millis)
    }

    /// The files of the policy: name and text.
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
