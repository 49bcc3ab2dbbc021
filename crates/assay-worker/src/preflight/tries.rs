//! The observations of a preflight.

use std::time::Duration;

use assay_model::EpisodeError;
use assay_model::lane::Probed;
use assay_policy::remote::AnswerCounts;

/// The observations of one try.
#[derive(Debug, Default)]
pub(super) struct Tried {
    pub(super) speaks: Option<String>,
    pub(super) import_cpu: Option<Duration>,
    /// CPU time and sleep of the policy; of a server, the wall-clock time of its answers.
    pub(super) used: Duration,
    /// The import was abandoned after this much CPU time.
    pub(super) given_up: Option<Duration>,
    /// True if an answer, or a server's first message, took too long.
    pub(super) silent: bool,
    pub(super) probed: Probed,
    pub(super) answers: Option<AnswerCounts>,
    pub(super) error: Option<EpisodeError>,
}

impl Tried {
    /// Returns true if the try was completed.
    pub(super) fn is_whole(&self) -> bool {
        self.error.is_none() && self.given_up.is_none() && !self.silent
    }

    pub(super) fn sees_images(&self) -> bool {
        self.probed.observation.iter().any(|spec| spec.dtype.is_picture())
    }
}

/// The observations of all tries.
#[derive(Debug)]
pub(super) struct Tries {
    pub(super) first: Tried,
    /// A repetition; omitted if the first try failed or the import takes long.
    pub(super) second: Option<Tried>,
    /// A try with black images; omitted if there are no images or the result would prove nothing.
    pub(super) blind: Option<Tried>,
}

impl Tries {
    pub(super) fn failed(error: EpisodeError) -> Self {
        Self { first: Tried { error: Some(error), ..Tried::default() }, second: None, blind: None }
    }
}
