//! Options of the engine.

use std::time::Duration;

use assay_model::{Isolation, WALL_BUDGET_PER_SIMULATED_S, WALL_BUDGET_S};
use assay_scenario::Scenario;

/// Resources of the machine that the engine uses.
#[derive(Debug, Clone, Copy)]
pub struct EngineOptions {
    /// Number of lanes that run at the same time.
    pub lanes: usize,
    /// The weakest acceptable isolation of policies. The strongest available is always used.
    pub accepted: Isolation,
    /// Number of policies that will run, if it is known: nothing is prepared in advance for more.
    pub policies: Option<usize>,
}

/// Maximum time in an episode during which no thread of its policy is ready to run while the simulator waits for an
/// action. Other limits apply to policy servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WallBudget {
    /// Part that is the same for every episode.
    pub base: Duration,
    /// Additional seconds for each simulated second of the scenario's time limit.
    pub per_simulated_s: f64,
}

impl WallBudget {
    /// Returns the budget for an episode of `scenario`.
    #[must_use]
    pub fn of(&self, scenario: &Scenario) -> Duration {
        self.base + Duration::from_secs_f64(self.per_simulated_s * f64::from(scenario.time_limit_s))
    }
}

impl Default for WallBudget {
    fn default() -> Self {
        Self { base: Duration::from_secs(WALL_BUDGET_S.into()), per_simulated_s: WALL_BUDGET_PER_SIMULATED_S.into() }
    }
}

impl EngineOptions {
    /// Creates options for `lanes` lanes that accept only the strongest isolation.
    #[must_use]
    pub fn new(lanes: usize) -> Self {
        Self { lanes, accepted: Isolation::Namespaces, policies: None }
    }
}
