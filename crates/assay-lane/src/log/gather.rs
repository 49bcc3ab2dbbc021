//! Values collected over the physics steps of a control step.

use std::collections::BTreeMap;

use assay_scenario::Scenario;
use assay_sim::Simulation;
use assay_stl::{Monitor, RunningBounds};

use super::messages::{ClauseMessage, ContactMessage, Contacts, SignalMessage};
use crate::Trace;

/// Maximum number of geom pairs in one message.
const MAX_PAIRS: usize = 200;

/// Contacts, signals and clauses since the last message.
pub(super) struct Gather<'a> {
    columns: Vec<&'a [f64]>,
    /// Each clause's margins at every row, and its monitor.
    clauses: Vec<(Vec<f64>, Monitor)>,
    since: usize,
    contacts: BTreeMap<[usize; 2], ContactMessage>,
    names: Vec<String>,
}

impl<'a> Gather<'a> {
    pub(super) fn new(scenario: &Scenario, simulation: &Simulation, trace: &'a Trace) -> Self {
        let columns = trace.signals();
        let clause = |clause: &assay_scenario::Clause| (clause.bound.pointwise(&columns), clause.bound.monitor());
        let clauses = scenario.clauses.iter().map(clause).collect();
        let names = (0..simulation.geoms()).map(|geom| simulation.geom_name(geom)).collect();
        Self { clauses, columns, since: 0, contacts: BTreeMap::new(), names }
    }

    /// Adds the contacts of the physics step at `time_s`.
    pub(super) fn add(&mut self, simulation: &Simulation, time_s: f64) {
        for contact in simulation.contacts() {
            let known = self.contacts.get(&contact.geoms);
            let full = known.is_none() && self.contacts.len() >= MAX_PAIRS;
            if full || known.is_some_and(|known| known.force_n >= contact.force_n) {
                continue;
            }
            let name = |geom: usize| self.names.get(geom).cloned().unwrap_or_default();
            let message = ContactMessage {
                first: name(contact.geoms[0]),
                second: name(contact.geoms[1]),
                time_s,
                force_n: contact.force_n,
                distance_m: contact.distance_m,
                position: contact.position.to_vec(),
                normal: contact.normal.to_vec(),
            };
            self.contacts.insert(contact.geoms, message);
        }
    }

    /// Returns everything up to row `last`, and starts a new collection after it.
    pub(super) fn take(&mut self, last: usize) -> (Contacts, Vec<SignalMessage>, Vec<ClauseMessage>) {
        let rows = self.since..=last;
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let signal = |column: &&[f64]| {
            let values = &column[rows.clone()];
            SignalMessage { value: column[last], least: least(values), greatest: greatest(values) }
        };
        // The first column is the time.
        let signals = self.columns.iter().skip(1).map(signal).collect();
        let columns = &self.columns;
        let clause = |(margins, monitor): &mut (Vec<f64>, Monitor)| {
            let mut running = RunningBounds { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
            for row in rows.clone() {
                running = monitor.push(&columns.iter().map(|column| column[row]).collect::<Vec<_>>());
            }
            let margin = least(&margins[rows.clone()]);
            ClauseMessage { margin, robustness_lower: running.lower, robustness_upper: running.upper }
        };
        let clauses = self.clauses.iter_mut().map(clause).collect();
        self.since = last + 1;
        let contacts = std::mem::take(&mut self.contacts).into_values().collect();
        (Contacts { contacts }, signals, clauses)
    }
}
