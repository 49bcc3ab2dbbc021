//! A row of the table: a policy and everything that is expected of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assay_testkit::{cheat as cheat_source, example};

/// Episodes of each reference.
pub(super) const REFERENCE_EPISODES: u32 = 6;
/// Episodes of each other example.
const EXAMPLE_EPISODES: u32 = 3;
/// The file with a row's policy, which `one_of_many.py` imports.
const MAIN: &str = "chosen.py";

/// A policy.
#[derive(Debug, Clone, Copy)]
pub(super) enum Policy {
    /// A folder of `examples/policies/SCENARIO`.
    Example(&'static str),
    /// A file of `cheats/SCENARIO`, appended to the scenario's reference.
    Cheat(&'static str),
    /// A function of `breaks.py`.
    Move(&'static str),
    /// The scenario's reference with additional lines.
    Patched(&'static str),
}
use Policy::{Cheat, Example, Move, Patched};

/// Expected result of a policy.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    /// SAFE and successful in at least 9 of 10 episodes.
    Passes,
    /// UNSAFE with some progress, and violates the critical clause that its docstring names.
    Reckless,
    /// SAFE without any progress, success or violation.
    Idle,
    /// SAFE because it is harmless, with at most this progress and no success.
    Harmless(f64),
    /// SAFE, but violates this clause of level `warning`.
    Warned(&'static str),
    /// UNSAFE, and violates this critical clause.
    Caught(&'static str),
    /// INCONCLUSIVE, because nothing unmeasured is called safe.
    Unproven,
    /// Any result: only the clauses count.
    Any,
}
use Answer::{Any, Caught, Idle, Passes, Reckless, Warned};

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) policy: Policy,
    pub(super) episodes: u32,
    pub(super) answer: Answer,
    /// Clauses of any level that at least one episode violates.
    pub(super) violates: &'static [&'static str],
}

/// The scenario's reference.
pub(super) const fn reference() -> Row {
    Row { policy: Example("reference"), episodes: REFERENCE_EPISODES, answer: Passes, violates: &[] }
}

/// The scenario's reckless policy; it also violates the clause that its docstring names.
pub(super) const fn reckless(violates: &'static [&'static str]) -> Row {
    Row { policy: Example("reckless"), episodes: EXAMPLE_EPISODES, answer: Reckless, violates }
}

/// The scenario's policy that does nothing.
pub(super) const fn idle() -> Row {
    Row { policy: Example("idle"), episodes: EXAMPLE_EPISODES, answer: Idle, violates: &[] }
}

/// A policy that cheats.
pub(super) const fn cheat(name: &'static str, episodes: u32, answer: Answer) -> Row {
    Row { policy: Cheat(name), episodes, answer, violates: &[] }
}

/// A function of `breaks.py`.
pub(super) const fn moved(name: &'static str, episodes: u32, violates: &'static [&'static str]) -> Row {
    Row { policy: Move(name), episodes, answer: Any, violates }
}

/// The reference with additional lines.
pub(super) const fn patched(lines: &'static str, episodes: u32, violates: &'static [&'static str]) -> Row {
    Row { policy: Patched(lines), episodes, answer: Any, violates }
}

impl Row {
    /// Adds clauses that it violates besides that of its answer.
    pub(super) const fn also(self, violates: &'static [&'static str]) -> Self {
        Self { violates, ..self }
    }

    /// Returns its name in messages.
    pub(super) fn name(&self) -> &'static str {
        match self.policy {
            Example(name) | Cheat(name) | Move(name) => name,
            Patched(lines) => lines.trim().lines().next().unwrap(),
        }
    }

    /// Returns the clauses that it must violate.
    pub(super) fn named_clauses(&self, scenario: &str) -> BTreeSet<String> {
        let answered = match self.answer {
            Caught(clause) | Warned(clause) => Some(clause.to_owned()),
            Reckless => Some(caught_by(scenario)),
            _ => None,
        };
        self.violates.iter().map(|clause| (*clause).to_owned()).chain(answered).collect()
    }

    /// Writes its policy and the modules that this imports to `folder`, which must exist.
    pub(super) fn write(&self, scenario: &str, folder: &Path) {
        let origin = match self.policy {
            Example(name) => example(scenario, name),
            Cheat(_) | Patched(_) => example(scenario, "reference"),
            Move(_) => return fs::write(folder.join(MAIN), self.source(scenario)).unwrap(),
        };
        for file in fs::read_dir(origin).unwrap().map(|file| file.unwrap()) {
            if file.file_name() != "policy.py" {
                fs::copy(file.path(), folder.join(file.file_name())).unwrap();
            }
        }
        fs::write(folder.join(MAIN), self.source(scenario)).unwrap();
    }

    fn source(&self, scenario: &str) -> String {
        match self.policy {
            Example(name) => example_source(scenario, name),
            Cheat(name) => cheat_source(scenario, name),
            Move(name) => format!("{}\n\npolicy = {name}\n", include_str!("breaks.py")),
            Patched(lines) => example_source(scenario, "reference") + lines,
        }
    }
}

/// Returns the clause that the docstring of a scenario's reckless policy names.
pub(super) fn caught_by(scenario: &str) -> String {
    let source = example_source(scenario, "reckless");
    let clause = source.split("caught by the clause `").nth(1).and_then(|rest| rest.split('`').next());
    clause.unwrap_or_else(|| panic!("{scenario}: the docstring names no clause")).to_owned()
}

fn example_source(scenario: &str, name: &str) -> String {
    fs::read_to_string(example(scenario, name).join("policy.py")).unwrap()
}
