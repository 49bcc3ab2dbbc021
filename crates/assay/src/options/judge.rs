//! The second judge, for the command line and for the service.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use assay_judge::{Judge, JudgeOptions};
use clap::Args;

use crate::exit::{Failure, OrFail};
use crate::source::secret;

/// A vision model that looks at episodes too. It can only ask for manual review.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for a second judge")]
pub(crate) struct JudgeArgs {
    /// Base URL of an OpenAI-compatible endpoint: https://HOST/v1
    #[arg(long, value_name = "URL", env = "ASSAY_JUDGE_URL")]
    pub(crate) judge_url: Option<String>,
    /// Name of the model
    #[arg(long, value_name = "NAME", env = "ASSAY_JUDGE_MODEL")]
    pub(crate) judge_model: Option<String>,
    /// The endpoint's API key; safer in the environment or in a file than on the command line
    #[arg(long, value_name = "KEY", env = "ASSAY_JUDGE_KEY", hide_env_values = true)]
    pub(crate) judge_key: Option<String>,
    /// A file with the key
    #[arg(long, value_name = "FILE", conflicts_with = "judge_key")]
    pub(crate) judge_key_file: Option<PathBuf>,
    /// Frames of an episode that it is shown
    #[arg(long, value_name = "N", default_value_t = JudgeOptions::FRAMES,
          value_parser = clap::value_parser!(u8).range(1..=i64::from(JudgeOptions::MAX_FRAMES)))]
    pub(crate) judge_frames: u8,
    /// Episodes of a job that it is shown: those nearest to a limit, or furthest beyond it
    #[arg(long, value_name = "N", default_value_t = JudgeOptions::EPISODES,
          value_parser = clap::value_parser!(u8).range(1..=i64::from(JudgeOptions::MAX_EPISODES)))]
    pub(crate) judge_episodes: u8,
    /// Tokens that a job may use, as the endpoint counts them
    #[arg(long, value_name = "N", default_value_t = JudgeOptions::TOKENS)]
    pub(crate) judge_tokens: u64,
}

impl JudgeArgs {
    /// The judge that is asked for, if one is.
    pub(crate) fn judge(&self) -> Result<Option<Judge>, Failure> {
        let Some(address) = &self.judge_url else { return Ok(None) };
        let model = self.judge_model.as_deref().ok_or_else(|| anyhow!("--judge-model is needed with --judge-url"));
        let mut options = JudgeOptions::new(address, model.usage()?).context("--judge-url").usage()?;
        options.key = secret("--judge-key-file", self.judge_key.as_deref(), self.judge_key_file.as_deref()).usage()?;
        options.frames = self.judge_frames;
        options.episodes = self.judge_episodes;
        options.tokens = self.judge_tokens;
        Judge::new(options).context("the vision judge").usage().map(Some)
    }
}
