//! A test per scenario, so that they run at the same time.

use std::fmt::Write as _;

use assay_model::JobReport;
use assay_scenario::Library;
use assay_testkit::{count_rows, home};

use super::answers::differences;
use super::clauses::are_all_violated;
use super::clips::clip_shows;
use super::evaluation::{engine, run_program, run_rows};
use super::one_reason;
use super::outcome::Outcome;
use super::row::{Policy, REFERENCE_EPISODES, Row};
use super::table::{TABLE, rows_of};

/// Environment variable with a number of episodes of each reference.
const EPISODES: &str = "ASSAY_KNOWN_ANSWERS";

macro_rules! scenarios {
    ($($id:ident),+ $(,)?) => {
        /// Scenarios with a test.
        const TESTED: &[&str] = &[$(stringify!($id)),+];
        $(
            #[test]
            fn $id() {
                all_are_as_expected(stringify!($id));
            }
        )+
    };
}

scenarios! {
    carry_cup,
    cartpole_keepin,
    crossing_pedestrians,
    open_drawer,
    quadrotor_gates,
    shared_workspace,
    stack_blocks,
    stack_by_sight,
    tabletop_reach,
    tidy_by_sight,
    tidy_table,
    warehouse_aisle,
}

#[test]
fn every_scenario_has_rows_and_a_test() {
    let library = Library::open(&home().join("scenarios"), &home().join("robots")).unwrap();
    let known: Vec<_> = library.scenarios().iter().map(|scenario| scenario.id.as_str()).collect();
    assert_eq!(TESTED, known);
    let mut with_rows: Vec<_> = TABLE.iter().map(|(id, _)| *id).collect();
    with_rows.sort_unstable();
    assert_eq!(with_rows, known);
    for (id, rows) in TABLE {
        for name in ["reference", "reckless", "idle"] {
            let count = rows.iter().filter(|row| matches!(row.policy, Policy::Example(of) if of == name)).count();
            assert_eq!(count, 1, "{id}: {name}");
        }
    }
}

/// Runs each row of a scenario once, and reports every result that differs from the expected one.
#[track_caller]
fn all_are_as_expected(id: &str) {
    let rows = rows_of(id);
    count_rows(&format!("policies.{id}"), rows.len());
    let engine = engine();
    let scenario = engine.library().get(&id.parse().unwrap()).unwrap();
    are_all_violated(engine.library(), scenario, rows);
    let (by_program, others): (Vec<Row>, Vec<Row>) = rows.iter().copied().partition(|row| is(row, "reference"));
    let evidence = engine.scratch("evidence").unwrap();
    let mut outcomes: Vec<_> = others.iter().zip(run_rows(&engine, scenario, &others, Some(evidence.path()))).collect();
    let mut wrong = String::new();
    let mut first = 0;
    for (row, outcome) in &outcomes {
        for difference in one_reason::differences(scenario, outcome, evidence.path(), first) {
            writeln!(wrong, "{}: {difference}", row.name()).unwrap();
        }
        first += row.episodes;
    }
    outcomes.push((&by_program[0], reference(id)));
    let work = engine.scratch("clips").unwrap();
    for (row, outcome) in &outcomes {
        for difference in differences(id, row, outcome) {
            writeln!(wrong, "{}: {difference}", row.name()).unwrap();
        }
        if let Some(name) = ["reference", "reckless"].into_iter().find(|name| is(row, name)) {
            clip_shows(scenario, name, outcome, work.path());
        }
    }
    assert!(wrong.is_empty(), "{id}:\n{wrong}");
}

fn is(row: &Row, example: &str) -> bool {
    matches!(row.policy, Policy::Example(name) if name == example)
}

/// Runs a scenario's reference by the program.
fn reference(id: &str) -> Outcome {
    let episodes = std::env::var(EPISODES).map_or(REFERENCE_EPISODES, |text| text.parse().unwrap());
    let (code, report): (i32, JobReport) = run_program(id, "reference", episodes);
    assert_eq!((code, report.episode_details.len()), (0, episodes as usize), "{id}: {:?}", report.reason);
    Outcome::of_report(report)
}

/// Runs in this process have the traces of the program, to the bit.
#[test]
fn the_program_gives_the_same_answers() {
    let engine = engine();
    let scenario = engine.library().get(&"cartpole_keepin".parse().unwrap()).unwrap();
    let rows: Vec<Row> = rows_of("cartpole_keepin").iter().copied().filter(|row| is(row, "reckless")).collect();
    let here = run_rows(&engine, scenario, &rows, None).remove(0);
    let (code, report) = run_program("cartpole_keepin", "reckless", rows[0].episodes);
    let there = Outcome::of_report(report);
    assert_eq!(code, 1);
    assert_eq!(here.summary(), there.summary());
    assert_eq!(here.fingerprint, there.fingerprint);
    for (here, there) in here.episodes.iter().zip(&there.episodes) {
        assert_eq!((here.trace_hash, &here.clauses), (there.trace_hash, &there.clauses), "{}", here.episode);
    }
}
