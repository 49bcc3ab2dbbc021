//! Limits that several programs and settings share. The settings of a service may differ from them.

/// Largest archive of a policy, in bytes.
pub const MAX_ARCHIVE_BYTES: u64 = 100 << 20;
/// Largest archive of a scenario, in bytes.
pub const MAX_SCENARIO_ARCHIVE_BYTES: u64 = 32 << 20;
/// Seconds that a policy may sleep in any episode.
pub const WALL_BUDGET_S: u32 = 60;
/// Further seconds that it may sleep for each simulated second of the scenario's time limit.
pub const WALL_BUDGET_PER_SIMULATED_S: u32 = 10;
