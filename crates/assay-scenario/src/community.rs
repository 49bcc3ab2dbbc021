//! Additional rules for scenarios from untrusted authors, which run on other people's machines.

use assay_model::{AccountId, ScenarioCard, ScenarioId, sanitise};

use crate::markdown::harmless;
use crate::{Budget, Scenario, ScenarioError};

/// Maximum number of simulated seconds of an episode.
pub const MAX_COMMUNITY_TIME_LIMIT_S: u32 = 120;
/// Maximum number of physics steps of an episode.
pub const MAX_COMMUNITY_STEPS: u32 = 200_000;
/// Maximum number of tags of a scenario.
pub const MAX_TAGS: usize = 16;
/// Maximum length of a tag in bytes.
pub const MAX_TAG_BYTES: usize = 32;
/// Maximum length of a version in bytes.
pub const MAX_VERSION_BYTES: usize = 32;
/// Maximum length of a name in bytes.
const MAX_NAME_BYTES: usize = 100;
/// Maximum length of a description or instruction in bytes.
const MAX_SENTENCE_BYTES: usize = 500;
/// Maximum size of `README.md` in bytes.
const MAX_README_BYTES: usize = 64 * 1024;

impl Scenario {
    /// Checks those rules for scenarios from untrusted authors that require no physics.
    ///
    /// # Errors
    /// [`ScenarioError`] names the key and the remedy.
    pub fn check_community(&self) -> Result<(), ScenarioError> {
        let fail = |key: &str, problem: String| Err(ScenarioError::value(key, problem));
        if self.id.as_str().contains('.') {
            return fail(
                "id",
                format!("{:?} contains a dot; omit the account, which is added automatically", self.id.as_str()),
            );
        }
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._+-".contains(&b);
        if self.version.len() > MAX_VERSION_BYTES || !self.version.bytes().all(plain) {
            return fail("version", format!("use letters, digits and . _ + -, at most {MAX_VERSION_BYTES} characters"));
        }
        let texts = [
            ("name", self.name.as_str(), MAX_NAME_BYTES),
            ("description", &self.description, MAX_SENTENCE_BYTES),
            ("instruction", self.instruction.as_deref().unwrap_or_default(), MAX_SENTENCE_BYTES),
        ];
        for (key, text, limit) in texts {
            if text.len() > limit {
                return fail(key, format!("has {} bytes, but at most {limit} are allowed; shorten it", text.len()));
            }
        }
        if self.long_description.len() > MAX_README_BYTES {
            let problem = format!(
                "has {} bytes, but at most {MAX_README_BYTES} are allowed; shorten it",
                self.long_description.len()
            );
            return Err(ScenarioError::Text { file: "README.md", problem });
        }
        self.check_rates()?;
        check_tags(&self.tags).map_err(|problem| ScenarioError::value("tags", problem))?;
        self.check_cost()
    }

    /// Checks the time of the simulator and of the policy.
    fn check_cost(&self) -> Result<(), ScenarioError> {
        let fail = |key: &str, problem: String| Err(ScenarioError::value(key, problem));
        if self.time_limit_s > MAX_COMMUNITY_TIME_LIMIT_S {
            return fail("time_limit_s", format!("must be 1 to {MAX_COMMUNITY_TIME_LIMIT_S} in a published scenario"));
        }
        let steps = f64::from(self.time_limit_s) / self.world.timestep_s;
        if steps > f64::from(MAX_COMMUNITY_STEPS) {
            let problem = format!(
                "results in {steps:.0} physics steps per episode, but a published scenario may have at most \
                 {MAX_COMMUNITY_STEPS}; increase it or reduce time_limit_s"
            );
            return fail("world.timestep_s", problem);
        }
        let (asked, usual) = (&self.budget, Budget::default());
        let times = [
            ("budget.step_cpu_ms", asked.step_cpu_ms, usual.step_cpu_ms),
            ("budget.hard_cpu_ms", asked.hard_cpu_ms, usual.hard_cpu_ms),
            ("budget.first_cpu_ms", asked.first_cpu_ms, usual.first_cpu_ms),
            ("budget.import_cpu_ms", asked.import_cpu_ms, usual.import_cpu_ms),
        ];
        match times.into_iter().find(|(_, asked, usual)| asked > usual) {
            Some((key, _, usual)) => fail(key, format!("may be at most {usual} in a published scenario")),
            None => Ok(()),
        }
    }

    /// Returns the scenario with the id under which `account` publishes it.
    ///
    /// # Errors
    /// The account's name and the id together are too long.
    pub fn published_by(self, account: &AccountId) -> Result<Self, ScenarioError> {
        let id: Result<ScenarioId, _> = format!("{account}.{}", self.id).parse();
        let id = id.map_err(|_| {
            let problem = format!(
                "\"{account}.{}\" is too long to be published: the account's name and the id may have at most 99 \
                 characters together; shorten the id",
                self.id
            );
            ScenarioError::value("id", problem)
        })?;
        Ok(Self { id, ..self })
    }

    /// Returns the description of an untrusted author's scenario for clients, with every text sanitised.
    #[must_use]
    pub fn community_card(&self) -> ScenarioCard {
        let line = |text: &str, limit| sanitise(text, limit).replace(['\n', '\t'], " ");
        let card = self.card();
        ScenarioCard {
            name: line(&card.name, MAX_NAME_BYTES),
            description: line(&card.description, MAX_SENTENCE_BYTES),
            long_description: harmless(&card.long_description),
            ..card
        }
    }
}

/// Checks the tags of a scenario.
///
/// # Errors
/// A message with the problem and the remedy.
pub fn check_tags(tags: &[String]) -> Result<(), String> {
    if tags.len() > MAX_TAGS {
        return Err(format!("{} tags, but at most {MAX_TAGS} are allowed; remove some", tags.len()));
    }
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    let is_tag = |tag: &String| (1..=MAX_TAG_BYTES).contains(&tag.len()) && tag.bytes().all(plain);
    match tags.iter().find(|tag| !is_tag(tag)) {
        Some(tag) => {
            let shown = sanitise(tag, MAX_TAG_BYTES);
            Err(format!("{shown:?} is not a tag: use a-z, 0-9, '_' and '-', at most {MAX_TAG_BYTES} characters"))
        }
        None => Ok(()),
    }
}
