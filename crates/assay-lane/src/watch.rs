//! Monitors clauses during an episode: a violation of a terminal clause ends it, one of a critical clause is
//! reported at once.

use std::io;

use assay_model::{Level, Violation, unsigned_zero};
use assay_scenario::{Clause, Scenario};
use assay_stl::Monitor;

use crate::episode_events::EpisodeEvents;

/// A clause that is not violated so far.
#[derive(Debug)]
struct Watched<'a> {
    clause: &'a Clause,
    monitor: Monitor,
    /// Upper bound of its robustness.
    upper: f64,
}

/// The terminal and the critical clauses of an episode.
#[derive(Debug)]
pub(crate) struct ClauseWatch<'a> {
    scenario: &'a Scenario,
    /// The clauses that no sample has violated so far.
    open: Vec<Watched<'a>>,
    /// True if a terminal clause was violated.
    ends_episode: bool,
    /// First violations of critical clauses that are not reported yet.
    pending: Vec<Violation>,
    /// Ids of the critical clauses already reported.
    reported: Vec<&'a str>,
}

impl<'a> ClauseWatch<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        let watched = scenario.clauses.iter().filter(|clause| clause.terminal || clause.level == Level::Critical);
        let open = watched.map(|clause| Watched { clause, monitor: clause.bound.monitor(), upper: f64::INFINITY });
        let open = open.collect();
        Self { scenario, open, ends_episode: false, pending: Vec::new(), reported: Vec::new() }
    }

    /// Processes the sample of a physics step; returns true if it violated a clause for the first time.
    pub(crate) fn push(&mut self, sample: &[f64]) -> bool {
        let mut violated = false;
        for watched in &mut self.open {
            watched.upper = watched.monitor.push(sample).upper;
            violated |= watched.upper < 0.0;
        }
        if violated {
            self.close(sample);
        }
        violated
    }

    /// True if a terminal clause was violated.
    pub(crate) fn ends_episode(&self) -> bool {
        self.ends_episode
    }

    /// Adds the violations of critical clauses that only the whole trace reveals to the pending ones.
    pub(crate) fn settle(&mut self, violations: &[Violation]) {
        for violation in violations.iter().filter(|violation| violation.level == Level::Critical) {
            let known = self.reported.contains(&violation.clause.as_str())
                || self.pending.iter().any(|pending| pending.clause == violation.clause);
            if !known {
                self.pending.push(violation.clone());
            }
        }
    }

    /// Reports the pending violations.
    ///
    /// # Errors
    /// The worker no longer exists.
    pub(crate) fn report(&mut self, events: &mut dyn EpisodeEvents) -> io::Result<()> {
        for violation in self.pending.drain(..) {
            let clause = self.scenario.clauses.iter().find(|clause| clause.id == violation.clause);
            self.reported.extend(clause.map(|clause| clause.id.as_str()));
            events.violated(violation)?;
        }
        Ok(())
    }

    /// Removes the clauses that `sample` violated from the open ones.
    fn close(&mut self, sample: &[f64]) {
        let step_s = self.scenario.world.timestep_s;
        let (pending, ends_episode) = (&mut self.pending, &mut self.ends_episode);
        self.open.retain(|watched| {
            if watched.upper >= 0.0 {
                return true;
            }
            *ends_episode |= watched.clause.terminal;
            if watched.clause.level == Level::Critical {
                pending.push(violation(watched.clause, watched.upper, sample[0], step_s));
            }
            false
        });
    }
}

/// Returns a violation that became certain at `time_s`, with a margin of at most `upper`.
fn violation(clause: &Clause, upper: f64, time_s: f64, step_s: f64) -> Violation {
    Violation {
        clause: clause.id.clone(),
        level: clause.level,
        start_s: time_s,
        end_s: time_s + step_s,
        onset_value: clause.formula.measured_value(upper),
        peak_s: Some(time_s),
        value: clause.formula.measured_value(upper),
        limit: clause.limit,
        unit: clause.unit.clone(),
        robustness: Some(unsigned_zero(upper)).filter(|robustness| robustness.is_finite()),
        involved: Vec::new(),
    }
}
