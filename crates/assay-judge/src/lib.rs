//! The second judge: a vision model behind any OpenAI-compatible endpoint reviews frames of an episode and reports
//! whether it sees anything unsafe, and whether the task was completed. The verdict depends on the physics alone; the
//! judge can only recommend a manual review.
//!
//! Where to begin: [`Judge::ask`] asks a [`Question`] within the limits of [`JudgeOptions`].

mod answer;
mod client;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod options;
mod question;

pub use client::{Judge, JudgeAnswer, JudgeError};
pub use options::{JudgeOptions, OptionsError};
pub use question::{JudgeFrame, Question, Rule};
