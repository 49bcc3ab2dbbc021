//! Records the external inputs of an episode at every physics step; only those that change are kept.

use assay_sim::Simulation;

/// Prefix of the columns that are always kept, changed or not.
const ALWAYS: &str = "ctrl.";

/// The recorded inputs: a column for each number of `ctrl`, and for each other number that changed at least once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inputs {
    /// MuJoCo's name of the array and the index in it, such as `ctrl.3` or `xfrc_applied.7`.
    pub names: Vec<String>,
    /// One column per name, with one row per physics step.
    pub columns: Vec<Vec<f64>>,
}

/// Records [`Inputs`] while an episode runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct InputRecorder {
    names: Vec<String>,
    /// Values at the start, which are still those of numbers without a column.
    start: Vec<f64>,
    now: Vec<f64>,
    /// The inputs that have a column, by their index.
    columns: Vec<(usize, Vec<f64>)>,
    rows: usize,
}

impl InputRecorder {
    pub(crate) fn new(simulation: &Simulation) -> Self {
        let names = simulation.input_names();
        let mut start = vec![0.0; names.len()];
        simulation.read_inputs(&mut start);
        let always = names.iter().enumerate().filter(|(_, name)| name.starts_with(ALWAYS));
        let columns = always.map(|(index, _)| (index, Vec::new())).collect();
        Self { now: start.clone(), start, names, columns, rows: 0 }
    }

    /// Adds the inputs of the last physics step.
    pub(crate) fn push(&mut self, simulation: &Simulation) {
        simulation.read_inputs(&mut self.now);
        for (index, column) in &mut self.columns {
            column.push(self.now[*index]);
            // Inputs that already have a column.
            self.now[*index] = self.start[*index];
        }
        self.rows += 1;
        // Changes are rare, and comparing all values at once is much faster than one by one.
        let changed = |bits: u64, (now, start): (&f64, &f64)| bits | (now.to_bits() ^ start.to_bits());
        if self.now.iter().zip(&self.start).fold(0, changed) != 0 {
            self.begin_columns();
        }
    }

    /// Creates a column for each input that has just changed for the first time.
    fn begin_columns(&mut self) {
        for (index, (now, start)) in self.now.iter().zip(&self.start).enumerate() {
            if now.to_bits() != start.to_bits() {
                let mut column = vec![*start; self.rows - 1];
                column.push(*now);
                self.columns.push((index, column));
            }
        }
        self.columns.sort_unstable_by_key(|(index, _)| *index);
    }

    pub(crate) fn finish(self) -> Inputs {
        let names = self.columns.iter().map(|(index, _)| self.names[*index].clone()).collect();
        Inputs { names, columns: self.columns.into_iter().map(|(_, column)| column).collect() }
    }
}

/// One of MuJoCo's input arrays: the indices, times and values of its changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Changes {
    /// The array's name.
    pub(crate) group: String,
    /// Flat indices in the array of the numbers that have a column.
    pub(crate) index: Vec<i64>,
    /// Physics steps at which one of them takes a new value; the first is 0.
    pub(crate) step: Vec<i64>,
    /// The new values of all of them, one row per entry of `step`.
    pub(crate) values: Vec<f64>,
}

impl Inputs {
    /// Returns the inputs reduced to their changes.
    pub(crate) fn changes(&self) -> Vec<Changes> {
        let mut all: Vec<(Changes, Vec<&[f64]>)> = Vec::new();
        for (name, column) in self.names.iter().zip(&self.columns) {
            let Some((group, index)) = name.split_once('.') else { continue };
            let Ok(index) = index.parse() else { continue };
            if all.last().is_none_or(|(last, _)| last.group != group) {
                let empty =
                    Changes { group: group.to_owned(), index: Vec::new(), step: Vec::new(), values: Vec::new() };
                all.push((empty, Vec::new()));
            }
            if let Some((changes, columns)) = all.last_mut() {
                changes.index.push(index);
                columns.push(column);
            }
        }
        all.into_iter().map(|(changes, columns)| changes.fill(&columns)).collect()
    }
}

impl Changes {
    fn fill(mut self, columns: &[&[f64]]) -> Self {
        let rows = columns.first().map_or(0, |column| column.len());
        for row in 0..rows {
            let changed = |column: &&[f64]| row == 0 || column[row].to_bits() != column[row - 1].to_bits();
            if columns.iter().any(changed) {
                self.step.push(i64::try_from(row).unwrap_or(i64::MAX));
                self.values.extend(columns.iter().map(|column| column[row]));
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Changes, Inputs};

    #[test]
    fn only_changes_are_kept() {
        let inputs = Inputs {
            names: vec!["ctrl.0".into(), "ctrl.1".into(), "xfrc_applied.7".into()],
            columns: vec![vec![1.0, 1.0, 2.0], vec![5.0, 5.0, 5.0], vec![0.0, -0.0, 0.0]],
        };
        let expected = [
            Changes { group: "ctrl".into(), index: vec![0, 1], step: vec![0, 2], values: vec![1.0, 5.0, 2.0, 5.0] },
            Changes { group: "xfrc_applied".into(), index: vec![7], step: vec![0, 1, 2], values: vec![0.0, -0.0, 0.0] },
        ];
        assert_eq!(inputs.changes(), expected);
        assert!(inputs.changes()[1].values[1].is_sign_negative());
        assert!(Inputs::default().changes().is_empty());
    }
}
