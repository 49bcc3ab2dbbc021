//! Recording of an episode, with a row per physics step. Everything reported about the episode afterwards (clauses,
//! violations, video, hash) is computed from it.

use assay_sim::Simulation;

use crate::Inputs;

/// A column-wise table of an episode.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// Column names: `time_s`, `qpos.N`, `qvel.N`, `action.N`, `signal.NAME`.
    pub names: Vec<String>,
    /// One column per name, all of the same length.
    pub columns: Vec<Vec<f64>>,
    /// The control step of each row, from 0.
    pub control_step: Vec<i32>,
    /// The external inputs of the physics in each row.
    pub inputs: Inputs,
    /// The policy's wall-clock latency for each control step's action, in ms. The only values in a trace that depend on
    /// the machine's load.
    pub latency_ms: Vec<f64>,
    /// The bodies or joints that each signal referred to in each row ([`Simulation::involved`]). Not written to a file.
    pub(crate) involved: Vec<Vec<u32>>,
    /// The trace hash after each control step.
    pub hashes: Vec<[u8; 32]>,
    /// Facts about the episode, for readers who have only this file.
    pub facts: Vec<(String, String)>,
    /// Index of the first signal column.
    pub(crate) first_signal: usize,
}

impl Trace {
    /// Returns the last row that is not after `time_s`, or the first; `None` if there is none.
    #[must_use]
    pub(crate) fn row_at(&self, time_s: f64) -> Option<usize> {
        let times = self.columns.first().filter(|times| !times.is_empty())?;
        Some(times.partition_point(|time| *time <= time_s + 1e-9).saturating_sub(1))
    }

    /// Creates an empty trace for `simulation`, with capacity for `rows`.
    #[must_use]
    pub fn new(simulation: &Simulation, signals: &[&str], rows: usize) -> Self {
        let mut names = vec!["time_s".to_owned()];
        names.extend((0..simulation.qpos().len()).map(|i| format!("qpos.{i}")));
        names.extend((0..simulation.qvel().len()).map(|i| format!("qvel.{i}")));
        names.extend((0..simulation.action().len()).map(|i| format!("action.{i}")));
        let first_signal = names.len();
        names.extend(signals.iter().filter(|name| **name != "time").map(|name| format!("signal.{name}")));
        let columns = names.iter().map(|_| Vec::with_capacity(rows)).collect();
        let involved = simulation.involved().map(|_| Vec::with_capacity(rows)).collect();
        Self { names, columns, first_signal, involved, ..Self::default() }
    }

    /// Returns the number of rows so far.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.control_step.len()
    }

    /// Adds the simulation's last physics step.
    pub fn push(&mut self, simulation: &Simulation, control_step: i32) {
        let (time, signals) = simulation.sample().split_at(1);
        let mut columns = self.columns.iter_mut();
        for part in [time, simulation.qpos(), simulation.qvel(), simulation.action(), signals] {
            part.iter().zip(columns.by_ref()).for_each(|(value, column)| column.push(*value));
        }
        self.involved.iter_mut().zip(simulation.involved()).for_each(|(column, who)| column.push(who));
        self.control_step.push(control_step);
    }

    /// Returns the columns that clauses refer to: `time`, then the signals.
    #[must_use]
    pub fn signals(&self) -> Vec<&[f64]> {
        let time = self.columns.first().map(Vec::as_slice);
        time.into_iter().chain(self.columns.iter().skip(self.first_signal).map(Vec::as_slice)).collect()
    }

    /// Returns the columns `PREFIX.0`, `PREFIX.1`, ... in their order, for `qpos`, `qvel` or `action`.
    #[must_use]
    pub fn group(&self, prefix: &str) -> Vec<&[f64]> {
        let of_group = |name: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'));
        let columns = self.names.iter().zip(&self.columns);
        columns.filter(|(name, _)| of_group(name)).map(|(_, column)| column.as_slice()).collect()
    }

    /// Returns the first row of each control step, in order.
    #[must_use]
    pub fn control_rows(&self) -> Vec<usize> {
        let first = |row: &usize| *row == 0 || self.control_step[*row] != self.control_step[*row - 1];
        (0..self.rows()).filter(first).collect()
    }

    /// Returns the rows of the control step that begins at row `first`.
    pub(crate) fn rows_of(&self, first: usize) -> std::ops::Range<usize> {
        let step = self.control_step[first];
        let length = self.control_step[first..].iter().take_while(|other| **other == step).count();
        first..first + length
    }

    /// Returns the value of a fact.
    #[must_use]
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.facts.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}
