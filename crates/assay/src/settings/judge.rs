//! `[judge]`: a vision model that also examines episodes.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use assay_api::InvalidSetting;
use assay_judge::{Judge, JudgeOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::types::SecretText;
use crate::exit::{Failure, OrFail};
use crate::secret::secret;

/// The section `[judge]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct JudgeSettings {
    /// Base URL of an OpenAI-compatible endpoint; if it is not set, there is no second judge.
    #[schemars(example = "https://judge.example.org/v1")]
    pub(crate) url: Option<String>,
    /// Name of the model.
    #[schemars(example = "qwen2.5-vl")]
    pub(crate) model: Option<String>,
    /// The endpoint's API key; safer in the environment or in a separate file than here.
    pub(crate) key: Option<SecretText>,
    /// File with the API key.
    #[schemars(example = "/etc/assay/judge-key")]
    pub(crate) key_file: Option<PathBuf>,
    /// Number of frames per episode shown to the judge.
    pub(crate) frames: u8,
    /// Number of episodes per job shown to the judge: those nearest to a limit, or furthest beyond it.
    pub(crate) episodes: u8,
    /// Maximum number of tokens per job, as the endpoint counts them.
    pub(crate) tokens: u64,
}

impl Default for JudgeSettings {
    fn default() -> Self {
        Self {
            url: None,
            model: None,
            key: None,
            key_file: None,
            frames: JudgeOptions::FRAMES,
            episodes: JudgeOptions::EPISODES,
            tokens: JudgeOptions::TOKENS,
        }
    }
}

impl JudgeSettings {
    pub(crate) fn validate(&self) -> Result<(), InvalidSetting> {
        if self.url.is_some() && self.model.is_none() {
            return Err(InvalidSetting::new("model", "(not set)", "set together with judge.url"));
        }
        if self.key.is_some() && self.key_file.is_some() {
            return Err(InvalidSetting::new("key_file", "(set)", "omitted if judge.key is set"));
        }
        InvalidSetting::unless_in("frames", self.frames, &(1..=JudgeOptions::MAX_FRAMES))?;
        InvalidSetting::unless_in("episodes", self.episodes, &(1..=JudgeOptions::MAX_EPISODES))
    }

    /// Returns the configured judge, if any. Errors name the options of the command line.
    pub(crate) fn judge(&self) -> Result<Option<Judge>, Failure> {
        let Some(url) = &self.url else { return Ok(None) };
        let model = self.model.as_deref().ok_or_else(|| anyhow!("--judge-url needs --judge-model")).or_usage()?;
        let mut options = JudgeOptions::new(url, model).context("--judge-url").or_usage()?;
        let key = self.key.as_ref().map(SecretText::reveal);
        options.key = secret("--judge-key-file", key, self.key_file.as_deref()).or_usage()?;
        options.frames = self.frames;
        options.episodes = self.episodes;
        options.tokens = self.tokens;
        Judge::new(options).context("the vision judge").or_usage().map(Some)
    }
}
