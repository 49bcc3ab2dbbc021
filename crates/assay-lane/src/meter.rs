//! Measures the cost of an episode, by part.

use std::time::{Duration, Instant};

use assay_model::lane::Cost;

use crate::cpu_clock::CpuClock;

/// The parts of the lane's work.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    World,
    Physics,
    Signals,
    Clauses,
    Hash,
    Observation,
    Policy,
}

/// Measures all parts with the wall clock, whose reading takes 20 ns; that of a CPU clock takes ten times as long.
#[derive(Debug)]
pub(crate) struct Meter {
    began: Instant,
    cpu_at_start: Duration,
    lap: Instant,
    parts: [Duration; 7],
    first_action: Duration,
}

impl Meter {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        let cpu_at_start = CpuClock::own().read().unwrap_or_default();
        Self { began: now, cpu_at_start, lap: now, parts: [Duration::ZERO; 7], first_action: Duration::ZERO }
    }

    /// Adds the time since the last lap to `part`.
    pub(crate) fn lap(&mut self, part: Part) {
        let now = Instant::now();
        self.parts[part as usize] += now - self.lap;
        self.lap = now;
    }

    /// Records the time of the policy's first answer.
    pub(crate) fn first_action(&mut self) {
        self.first_action = self.elapsed();
    }

    /// Returns the wall-clock time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns the cost so far, including the policy's CPU time.
    pub(crate) fn cost(&self, policy_cpu: Duration) -> Cost {
        let part = |part: Part| ms(self.parts[part as usize]);
        Cost {
            lane_cpu_ms: ms(CpuClock::own().read().unwrap_or_default().saturating_sub(self.cpu_at_start)),
            policy_cpu_ms: ms(policy_cpu),
            world_ms: part(Part::World),
            physics_ms: part(Part::Physics),
            signals_ms: part(Part::Signals),
            clauses_ms: part(Part::Clauses),
            hash_ms: part(Part::Hash),
            observation_ms: part(Part::Observation),
            policy_ms: part(Part::Policy),
            first_action_ms: ms(self.first_action),
            evidence_cpu_ms: 0.0,
        }
    }
}

pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::{Meter, Part, ms};

    #[test]
    fn time_is_added_to_the_part_that_took_it() {
        let mut meter = Meter::start();
        std::thread::sleep(std::time::Duration::from_millis(20));
        meter.lap(Part::Policy);
        meter.lap(Part::Hash);
        let cost = meter.cost(std::time::Duration::from_millis(3));
        let in_all = ms(meter.elapsed());
        assert!(cost.policy_ms >= 20.0 && cost.physics_ms == 0.0, "{cost:?}");
        assert!(cost.hash_ms > 0.0 && cost.policy_ms + cost.hash_ms <= in_all, "{cost:?} of {in_all} ms");
        assert!((cost.policy_cpu_ms - 3.0).abs() < 1e-9);
    }
}
