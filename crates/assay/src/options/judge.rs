//! Options for the second judge.

use std::path::PathBuf;

use assay_judge::JudgeOptions;
use clap::Args;

use crate::settings::{JudgeSettings, SecretText};

/// A vision model that also examines episodes. It can only request manual review.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for a second judge")]
pub(crate) struct JudgeArgs {
    /// Base URL of an OpenAI-compatible endpoint: https://HOST/v1
    #[arg(long, value_name = "URL", env = "ASSAY_JUDGE_URL")]
    judge_url: Option<String>,
    /// Name of the model
    #[arg(long, value_name = "NAME", env = "ASSAY_JUDGE_MODEL")]
    judge_model: Option<String>,
    /// The endpoint's API key; safer in the environment or in a file than on the command line
    #[arg(long, value_name = "KEY", env = "ASSAY_JUDGE_KEY", hide_env_values = true)]
    judge_key: Option<String>,
    /// File with the API key
    #[arg(long, value_name = "FILE", conflicts_with = "judge_key")]
    judge_key_file: Option<PathBuf>,
    /// Number of frames per episode shown to the judge
    #[arg(long, value_name = "N", default_value_t = JudgeOptions::FRAMES,
          value_parser = clap::value_parser!(u8).range(1..=i64::from(JudgeOptions::MAX_FRAMES)))]
    judge_frames: u8,
    /// Number of episodes per job shown to the judge: those nearest to a limit, or furthest beyond it
    #[arg(long, value_name = "N", default_value_t = JudgeOptions::EPISODES,
          value_parser = clap::value_parser!(u8).range(1..=i64::from(JudgeOptions::MAX_EPISODES)))]
    judge_episodes: u8,
    /// Maximum number of tokens per job, as the endpoint counts them
    #[arg(long, value_name = "N", default_value_t = JudgeOptions::TOKENS)]
    judge_tokens: u64,
}

impl JudgeArgs {
    /// Returns the options as settings of the service.
    pub(crate) fn settings(&self) -> JudgeSettings {
        JudgeSettings {
            url: self.judge_url.clone(),
            model: self.judge_model.clone(),
            key: self.judge_key.clone().map(SecretText::from),
            key_file: self.judge_key_file.clone(),
            frames: self.judge_frames,
            episodes: self.judge_episodes,
            tokens: self.judge_tokens,
        }
    }
}
