//! The second judge: a vision model behind any OpenAI-compatible endpoint looks at frames of an episode and says
//! whether it saw something unsafe, and whether the task was done. The physics decides; the judge can only ask for a
//! person.
//!
//! Where to begin: [`Judge::ask`] puts a [`Question`] and keeps within the limits of [`JudgeOptions`].

mod answer;
mod client;
mod options;
mod question;

/// Entry points for fuzzing: what an endpoint answers.
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    pub use crate::answer::read as answer;
}

pub use client::{Judge, JudgeAnswer, JudgeError};
pub use options::{JudgeOptions, OptionsError};
pub use question::{JudgeFrame, Question, Rule};
