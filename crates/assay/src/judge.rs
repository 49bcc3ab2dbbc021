//! The second judge's options, for the command line and for the service.

use anyhow::{Context, anyhow};
use assay_judge::{Judge, JudgeOptions};

use crate::cli::JudgeArgs;
use crate::exit::{Failure, OrFail};
use crate::source::secret;

/// The judge that the arguments ask for, if they do.
pub(crate) fn of(arguments: &JudgeArgs) -> Result<Option<Judge>, Failure> {
    let Some(address) = &arguments.judge_url else { return Ok(None) };
    let model = arguments.judge_model.as_deref().ok_or_else(|| anyhow!("--judge-model is needed with --judge-url"));
    let mut options = JudgeOptions::new(address, model.usage()?).context("--judge-url").usage()?;
    options.key =
        secret("--judge-key-file", arguments.judge_key.as_deref(), arguments.judge_key_file.as_deref()).usage()?;
    options.frames = arguments.judge_frames;
    options.episodes = arguments.judge_episodes;
    options.tokens = arguments.judge_tokens;
    Judge::new(options).context("the vision judge").usage().map(Some)
}
