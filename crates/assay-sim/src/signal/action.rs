//! The signal of a number in the policy's action.

use assay_scenario::Scenario;

use super::physics_signal::{PhysicsSignal, StepState};

/// A number of the action in effect, clipped, by its index.
pub(super) struct ActionSignal(usize);

impl ActionSignal {
    pub(super) fn resolve(scenario: &Scenario, name: &str) -> Self {
        Self(scenario.control.action.iter().position(|spec| spec.name == name).unwrap_or(0))
    }
}

impl PhysicsSignal for ActionSignal {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        step.action[self.0]
    }
}
