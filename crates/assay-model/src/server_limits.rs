//! Limits for policy servers, for requests from the command line, the API, or a scenario.

/// Most episodes of one job that may talk to its server at the same time.
pub const MAX_CONCURRENCY: u32 = 16;
/// Most actions of one answer that are carried out before the next is asked for.
pub const MAX_REPLAN_STEPS: u32 = 1000;
