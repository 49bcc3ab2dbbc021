//! Statistics of a server's answers, read at the end of the episode.

use std::sync::{Mutex, PoisonError};

/// The counts of a server's answers in an episode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnswerCounts {
    /// Number of answers.
    pub count: u32,
    /// Actions in the shortest.
    pub shortest: u32,
    /// Actions in the longest.
    pub longest: u32,
    /// Messages that arrived after the last request was answered. One of them may have been due earlier; then answers
    /// were taken for those to later requests, which the protocol cannot detect.
    pub unasked: u32,
}

/// Statistics written by the relay, and read when it has ended.
#[derive(Debug, Default)]
pub(crate) struct ServerLog(Mutex<AnswerCounts>);

impl ServerLog {
    pub(crate) fn answered(&self, actions: usize) {
        let actions = u32::try_from(actions).unwrap_or(u32::MAX);
        self.change(|answers| {
            answers.shortest = if answers.count == 0 { actions } else { answers.shortest.min(actions) };
            answers.longest = answers.longest.max(actions);
            answers.count += 1;
        });
    }

    pub(crate) fn unasked(&self, messages: u32) {
        self.change(|answers| answers.unasked = messages);
    }

    pub(crate) fn read(&self) -> AnswerCounts {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut AnswerCounts)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
