//! The second judge: a vision model behind any OpenAI-compatible endpoint reviews frames of an episode and reports
//! whether it sees anything unsafe, and whether the task was completed. The verdict depends on the physics alone; the
//! judge can only recommend a manual review.
//!
//! Where to begin: [`Judge::ask`] asks a [`Question`] within the limits of [`JudgeOptions`].

mod answer;
mod client;
mod options;
mod question;

/// Entry points for fuzzing an endpoint's answers.
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    pub use crate::answer::read as answer;
}

pub use client::{Judge, JudgeAnswer, JudgeError};
pub use options::{JudgeOptions, OptionsError};
pub use question::{JudgeFrame, Question, Rule};
