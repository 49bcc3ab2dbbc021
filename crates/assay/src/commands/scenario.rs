//! `assay scenario list|show|check|render|schema`.

mod check;
mod render;

use std::fmt::Write;

use assay_scenario::{Clause, Library, Scenario};
use serde_json::json;

use crate::cli::ScenarioCommand as Command;
use crate::exit::{Code, Failure, OrFail};
use crate::screen;

/// Keeps a number and its unit together.
const NO_BREAK: &str = "\u{a0}";

pub(crate) fn run(command: &Command) -> Result<Code, Failure> {
    let installation = super::installation()?;
    match command {
        Command::Check { path, json } => return check::run(&installation, path, *json),
        Command::Render { id, episodes, seed, out } => return render::run(&installation, id, (*seed, *episodes), out),
        Command::Schema { robot } => {
            let schema = if *robot { assay_scenario::robot_schema() } else { assay_scenario::scenario_schema() };
            super::print(&serde_json::to_string_pretty(&schema).ours()?);
            return Ok(Code::Success);
        }
        Command::List { .. } | Command::Show { .. } => {}
    }
    let library = Library::open(&installation.scenarios(), &installation.robots()).ours()?;
    match command {
        Command::List { json: true } => {
            let cards: Vec<_> = library.scenarios().iter().map(Scenario::card).collect();
            super::print(&serde_json::to_string_pretty(&json!({ "scenarios": cards })).ours()?);
        }
        Command::List { json: false } => super::print(&list(&library)),
        Command::Show { id, json: true } => {
            let scenario = library.find(id).usage()?;
            super::print(&serde_json::to_string_pretty(&facts(&scenario)).ours()?);
        }
        Command::Show { id, json: false } => super::print(&show(&library.find(id).usage()?)),
        Command::Check { .. } | Command::Render { .. } | Command::Schema { .. } => {}
    }
    Ok(Code::Success)
}

fn list(library: &Library) -> String {
    let row = |s: &Scenario| {
        let stars = "*".repeat(usize::from(s.difficulty));
        vec![s.id.to_string(), stars, format!("{} s", s.time_limit_s).replace(' ', NO_BREAK), s.description.clone()]
    };
    let rows: Vec<_> = library.scenarios().iter().map(row).collect();
    format!("{}\nMore: assay scenario show ID\n", screen::layout().table(&["id", "level", "time", "what"], &rows, 0))
}

fn show(scenario: &Scenario) -> String {
    let screen = screen::layout();
    let mut text = screen.markdown(&scenario.description_for_people());
    if scenario.readme_with_tables().is_none() {
        text.push_str(&screen.markdown(&format!("\n{}\n{}", scenario.observation_table(), scenario.action_table())));
    }
    let facts = [
        ("id", scenario.id.to_string()),
        ("version", scenario.version.clone()),
        ("difficulty", format!("{} of 5", scenario.difficulty)),
        ("time limit", format!("{} s", scenario.time_limit_s)),
        ("actions", format!("{} a second", scenario.world.control_hz)),
        ("physics", format!("steps of {} s", scenario.world.timestep_s)),
    ];
    let facts = facts.map(|(label, fact)| (label.to_owned(), fact));
    let _ = write!(text, "\n{}{}", screen.heading("Facts"), screen.facts(&facts, 2));
    let clause = |clause: &Clause| {
        let limit = format!("{}{}", clause.limit, super::unit(&clause.unit)).replace(' ', NO_BREAK);
        let cells = [clause.id.as_str(), clause.level.as_str(), &limit, &clause.title, &clause.standard];
        cells.map(str::to_owned).to_vec()
    };
    let rows: Vec<_> = scenario.clauses.iter().map(clause).collect();
    let table = screen.table(&["clause", "level", "limit", "what", "standard"], &rows, 2);
    let _ = write!(text, "\n{}{table}", screen.heading("Safety clauses"));
    text
}

/// Returns the listed facts and the machine-readable description.
fn facts(scenario: &Scenario) -> serde_json::Value {
    let mut facts = serde_json::to_value(scenario.card()).unwrap_or_default();
    if let (Some(facts), Ok(serde_json::Value::Object(spec))) =
        (facts.as_object_mut(), serde_json::to_value(scenario.spec()))
    {
        facts.extend(spec);
    }
    facts
}
