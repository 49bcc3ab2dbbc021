//! The CPU budget of a policy that computes several actions at once.

use std::time::Duration;

/// Counts the misses of a budget that holds for the mean over a chunk of steps: a policy that runs its network once per
/// chunk may use the time of all of the chunk's steps in one of them.
#[derive(Debug)]
pub(crate) struct ChunkBudget {
    /// Number of steps of a chunk, at least 1.
    steps: u32,
    /// CPU time used in the current chunk.
    used: Duration,
    /// The current chunk is counted already.
    is_missed: bool,
    misses: u32,
}

impl ChunkBudget {
    pub(crate) fn new(steps: Option<u32>) -> Self {
        Self { steps: steps.unwrap_or(1).max(1), used: Duration::ZERO, is_missed: false, misses: 0 }
    }

    /// Returns the number of chunks over the budget so far.
    pub(crate) fn misses(&self) -> u32 {
        self.misses
    }

    /// Counts the first step, which has a budget of its own and does not count for its chunk.
    pub(crate) fn first(&mut self, used: Duration, limit_ms: f64) {
        self.misses += u32::from(used.as_secs_f64() * 1e3 > limit_ms);
    }

    /// Counts step number `step`, from 1, of an episode. `step_ms` is the budget of one step.
    pub(crate) fn add(&mut self, step: u32, used: Duration, step_ms: f64) {
        if step.is_multiple_of(self.steps) {
            (self.used, self.is_missed) = (Duration::ZERO, false);
        }
        self.used += used;
        let is_over = self.used.as_secs_f64() * 1e3 > step_ms * f64::from(self.steps);
        self.misses += u32::from(is_over && !self.is_missed);
        self.is_missed |= is_over;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Misses of steps that take these times in ms, at 100 ms a step.
    fn misses(steps: Option<u32>, took_ms: &[u64]) -> u32 {
        let mut budget = ChunkBudget::new(steps);
        for (step, took) in (0..).zip(took_ms) {
            let used = Duration::from_millis(*took);
            if step == 0 { budget.first(used, 5000.0) } else { budget.add(step, used, 100.0) }
        }
        budget.misses()
    }

    #[test]
    fn without_chunks_every_step_counts() {
        assert_eq!(misses(None, &[6000, 101, 100, 500, 0]), 3);
        assert_eq!(misses(Some(1), &[5000, 101, 101, 99]), 2);
        assert_eq!(misses(Some(0), &[0, 101]), 1);
    }

    #[test]
    fn the_budget_of_a_chunk_is_that_of_its_steps() {
        // One inference for four steps, in the first of them.
        assert_eq!(misses(Some(4), &[900, 0, 0, 0, 390, 1, 1, 1, 390, 0, 0, 0]), 0);
        assert_eq!(misses(Some(4), &[900, 0, 0, 0, 401, 0, 0, 0, 399, 0, 0, 2, 100]), 2);
        // A chunk counts once, and a chunk that the episode's end cuts off has the whole budget.
        assert_eq!(misses(Some(4), &[0, 500, 500, 500, 399]), 1);
        // A policy that is slow in every step is over the budget of its chunks too.
        assert_eq!(misses(Some(4), &[110; 41]), 9);
    }
}
