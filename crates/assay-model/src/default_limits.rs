//! Default limits shared by several programs and settings. A service's settings may override them.

/// Maximum size of a policy archive, in bytes.
pub const MAX_ARCHIVE_BYTES: u64 = 100 << 20;
/// Maximum size of a model, in bytes.
pub const MAX_MODEL_BYTES: u64 = 4 << 30;
/// Maximum size of a scenario archive, in bytes.
pub const MAX_SCENARIO_ARCHIVE_BYTES: u64 = 32 << 20;
/// Time that a policy may sleep in any episode, in seconds.
pub const WALL_BUDGET_S: u32 = 60;
/// Additional sleep per simulated second of the scenario's time limit, in seconds.
pub const WALL_BUDGET_PER_SIMULATED_S: u32 = 10;
