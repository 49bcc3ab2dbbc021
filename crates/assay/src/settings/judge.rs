//! `[judge]`: a vision model that looks at episodes too.

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
    /// Base address of an OpenAI-compatible endpoint; without it there is no second judge.
    #[schemars(example = "https://judge.example.org/v1")]
    pub(crate) url: Option<String>,
    /// The model's name there.
    #[schemars(example = "qwen2.5-vl")]
    pub(crate) model: Option<String>,
    /// The endpoint's key; better in the environment or in a file of its own than here.
    pub(crate) key: Option<SecretText>,
    /// A file that holds the key.
    #[schemars(example = "/etc/assay/judge-key")]
    pub(crate) key_file: Option<PathBuf>,
    /// Frames of an episode that it sees.
    pub(crate) frames: u8,
    /// Episodes of a job that it sees: those nearest to a limit, or furthest beyond it.
    pub(crate) episodes: u8,
    /// Tokens that a job may use, by the endpoint's count.
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
            return Err(InvalidSetting::new("key_file", "(set)", "left out where judge.key is set"));
        }
        InvalidSetting::unless_in("frames", self.frames, &(1..=JudgeOptions::MAX_FRAMES))?;
        InvalidSetting::unless_in("episodes", self.episodes, &(1..=JudgeOptions::MAX_EPISODES))
    }

    /// The judge that is asked for, if one is. Errors name the options of the command line.
    pub(crate) fn judge(&self) -> Result<Option<Judge>, Failure> {
        let Some(url) = &self.url else { return Ok(None) };
        let model = self.model.as_deref().ok_or_else(|| anyhow!("--judge-model is needed with --judge-url")).usage()?;
        let mut options = JudgeOptions::new(url, model).context("--judge-url").usage()?;
        let key = self.key.as_ref().map(SecretText::reveal);
        options.key = secret("--judge-key-file", key, self.key_file.as_deref()).usage()?;
        options.frames = self.frames;
        options.episodes = self.episodes;
        options.tokens = self.tokens;
        Judge::new(options).context("the vision judge").usage().map(Some)
    }
}
