//! Limits for policy servers, shared by the command line, the API and scenarios.

/// Maximum number of episodes of one job that may use its policy server at the same time.
pub const MAX_CONCURRENCY: u32 = 16;
/// Maximum number of actions of one answer that are executed before the next request.
pub const MAX_REPLAN_STEPS: u32 = 1000;
