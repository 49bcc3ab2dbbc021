//! Every clause of a scenario is violated by a policy of the table.

use std::collections::BTreeSet;

use assay_scenario::{Library, Scenario};

use super::row::Row;

/// Scenarios with the world, actions and clauses of another scenario, but with camera images as observations.
const BY_SIGHT: [(&str, &str); 2] = [("tidy_by_sight", "tidy_table"), ("stack_by_sight", "stack_blocks")];

/// Asserts that each clause of a scenario is named by one of its rows, which is checked to violate it, or that the
/// scenario has the clauses of another one.
#[track_caller]
pub(super) fn are_all_violated(library: &Library, scenario: &Scenario, rows: &[Row]) {
    let id = scenario.id.as_str();
    if let Some((_, sibling)) = BY_SIGHT.iter().find(|(blind, _)| *blind == id) {
        let sibling = library.get(&sibling.parse().unwrap()).unwrap();
        assert_eq!(rules(scenario), rules(sibling), "{id} is not {} by sight", sibling.id);
        return;
    }
    let named: BTreeSet<String> = rows.iter().flat_map(|row| row.named_clauses(id)).collect();
    for clause in &scenario.clauses {
        assert!(named.contains(&clause.id), "{id}: no policy violates {}", clause.id);
    }
}

fn rules(scenario: &Scenario) -> Vec<String> {
    scenario.clauses.iter().map(|clause| format!("{} {:?}", clause.id, clause.formula)).collect()
}
