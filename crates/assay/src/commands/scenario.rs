//! `assay scenario list|show|check|render|schema`.

mod check;
mod render;

use std::fmt::Write;

use assay_scenario::{Library, Scenario};
use serde_json::json;

use crate::cli::Scenario as Command;
use crate::exit::{Code, Failure, OrFail};

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
    let widest = library.scenarios().iter().map(|s| s.id.as_str().len()).max().unwrap_or(0);
    let line = |s: &Scenario| {
        let stars = "*".repeat(usize::from(s.difficulty));
        format!("{:widest$}  {stars:5}  {:3} s  {}\n", s.id.as_str(), s.time_limit_s, s.description)
    };
    let lines: String = library.scenarios().iter().map(line).collect();
    format!("{:widest$}  level  time   what\n{lines}\nMore: assay scenario show ID\n", "id")
}

fn show(scenario: &Scenario) -> String {
    let mut text = format!("{}\n\n", scenario.description_for_people().trim());
    let _ = writeln!(
        text,
        "Facts\n  id {}  version {}  difficulty {}  {} s  {} actions/s  physics step {} s\n",
        scenario.id,
        scenario.version,
        scenario.difficulty,
        scenario.time_limit_s,
        scenario.world.control_hz,
        scenario.world.timestep_s
    );
    if scenario.readme_with_tables().is_none() {
        let _ = writeln!(text, "{}\n{}", scenario.observation_table(), scenario.action_table());
    }
    let _ = writeln!(text, "Safety clauses");
    for clause in &scenario.clauses {
        let level = format!("{:?}", clause.level).to_lowercase();
        let _ = writeln!(
            text,
            "  {:16} {level:8} {} ({}{})",
            clause.id,
            clause.title,
            clause.limit,
            super::unit(&clause.unit)
        );
        let _ = writeln!(text, "  {:16} {:8} {}", "", "", clause.standard);
    }
    text
}

/// What is listed, and what a program needs to know.
fn facts(scenario: &Scenario) -> serde_json::Value {
    let mut facts = serde_json::to_value(scenario.card()).unwrap_or_default();
    if let (Some(facts), Ok(serde_json::Value::Object(spec))) =
        (facts.as_object_mut(), serde_json::to_value(scenario.spec()))
    {
        facts.extend(spec);
    }
    facts
}
