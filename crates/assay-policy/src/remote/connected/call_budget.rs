//! The hard limits of a policy's CPU time, where it runs on its own machine and a service cannot see its process.

use std::time::Duration;

use assay_model::PolicyErrorCode;
use assay_model::frame::FrameKind;

use crate::{PolicyConnection, PolicyFailure};

/// CPU time that ends an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallBudget {
    /// For the start (constructor, `reset`) and for the first action, each.
    pub first: Duration,
    /// For each later action.
    pub later: Duration,
}

/// The CPU time of a policy since its last answer.
pub(super) struct CallClock {
    budget: Option<CallBudget>,
    at_answer: Duration,
    /// The limit of the current call, and its name for the author.
    limit: Duration,
    call: String,
}

impl CallClock {
    /// Creates the clock of a loaded policy. `None`, and a policy server, have no limits.
    pub(super) fn new(budget: Option<CallBudget>, policy: &dyn PolicyConnection) -> Self {
        let at_answer = policy.cpu_time().unwrap_or_default();
        Self { budget, at_answer, limit: Duration::MAX, call: String::new() }
    }

    /// Begins a call with the frame that the policy is sent.
    pub(super) fn begin(&mut self, kind: FrameKind, seq: u32) {
        let Some(budget) = self.budget else { return };
        let is_first = kind == FrameKind::Init || seq == 0;
        self.limit = if is_first { budget.first } else { budget.later };
        self.call = if is_first { "the first call".to_owned() } else { format!("step {seq}") };
    }

    /// Returns the failure of a call that has taken too long.
    pub(super) fn check(&self, policy: &dyn PolicyConnection) -> Option<PolicyFailure> {
        let used = policy.cpu_time()?.saturating_sub(self.at_answer);
        (used > self.limit).then(|| {
            let message = format!(
                "{} took more than {} ms of CPU time, the scenario's hard limit",
                self.call,
                self.limit.as_secs_f64() * 1e3
            );
            PolicyFailure::observed(PolicyErrorCode::Timeout, message)
        })
    }

    /// Ends a call: the policy has answered.
    pub(super) fn answered(&mut self, policy: &dyn PolicyConnection) -> Option<PolicyFailure> {
        let failure = self.check(policy);
        self.at_answer = policy.cpu_time().unwrap_or_default();
        failure
    }
}
