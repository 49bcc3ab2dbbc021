//! `docs/cheating.md`, generated from the table.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use assay_testkit::{cheats, home};

use super::row::Answer::{Any, Caught, Harmless, Idle, Passes, Reckless, Unproven, Warned};
use super::row::{Answer, Policy};
use super::table::TABLE;

/// Set to regenerate the document: `UPDATE_TABLES=1 cargo test -p assay --test scenarios document`.
const UPDATE: &str = "UPDATE_TABLES";
/// The text before the tables.
const HEAD: &str = "# Cheating

The policies on this page try to exploit gaps in the rules of a scenario. A rule that can be evaded is a defect of the
scenario, so `cargo test -p assay --test scenarios policies` runs every policy and fails if its result differs from the
one below. Each policy is a file `crates/assay/tests/policies/cheats/SCENARIO/NAME.py`, appended to the scenario's
reference policy and `common.py`. To add one, create such a file and a row in `crates/assay/tests/policies/table.rs`,
from which this page is generated. The policy that does nothing is one of the [known answers](known-answers.md).
";

#[test]
fn the_document_is_current() {
    let path = home().join("docs/cheating.md");
    let wanted = document();
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == wanted,
        "docs/cheating.md is not current: set {UPDATE}=1 to regenerate it"
    );
}

/// Every file has a row in the table, and every row has a file.
#[test]
fn no_cheat_is_left_out() {
    let named: Vec<String> = rows().map(|(scenario, name, _)| format!("{scenario}/{name}.py")).collect();
    let mut found = BTreeSet::new();
    for scenario in fs::read_dir(cheats()).unwrap().map(|entry| entry.unwrap()) {
        if scenario.file_type().unwrap().is_dir() {
            let id = scenario.file_name().into_string().unwrap();
            let files = fs::read_dir(scenario.path()).unwrap().map(|file| file.unwrap().file_name());
            found.extend(files.map(|file| format!("{id}/{}", file.into_string().unwrap())));
        }
    }
    assert_eq!(named.len(), named.iter().collect::<BTreeSet<_>>().len(), "a cheat has two rows");
    assert_eq!(BTreeSet::from_iter(named), found);
}

/// Returns scenario, name and expected result of each cheat.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, Answer)> {
    TABLE.iter().flat_map(|(scenario, rows)| {
        rows.iter().filter_map(|row| match row.policy {
            Policy::Cheat(name) => Some((*scenario, name, row.answer)),
            Policy::Example(_) | Policy::Move(_) | Policy::Patched(_) => None,
        })
    })
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    let mut scenario = "";
    for (id, name, answer) in rows() {
        if id != scenario {
            write!(text, "\n## {id}\n\n| cheat | behaviour | result |\n|---|---|---|\n").unwrap();
            scenario = id;
        }
        let source = fs::read_to_string(cheats().join(id).join(format!("{name}.py"))).unwrap();
        let tries = source.split("\"\"\"").nth(1).unwrap_or_else(|| panic!("{id}/{name} has no docstring"));
        let answer = match answer {
            Harmless(0.0) => "SAFE, no progress".to_owned(),
            Harmless(most) => format!("SAFE, progress at most {most}, no success"),
            Warned(clause) => format!("SAFE, violates the warning `{clause}`"),
            Caught(clause) => format!("UNSAFE, violates `{clause}`"),
            Unproven => "INCONCLUSIVE".to_owned(),
            Passes | Reckless | Idle | Any => panic!("{id}/{name}: a cheat has a result of its own"),
        };
        writeln!(text, "| `{name}` | {tries} | {answer} |").unwrap();
    }
    text
}
