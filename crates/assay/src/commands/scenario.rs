//! `assay scenario list|show|check|render`.

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
        Command::Check { .. } | Command::Render { .. } => {}
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
    let mut text = format!("{}\n\n", scenario.long_description.trim());
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
    let _ = writeln!(text, "Observation");
    for observation in &scenario.observations {
        let _ = writeln!(text, "  {:24} {}", observation.name, observation.description);
    }
    let _ = writeln!(text, "\nAction");
    for (i, action) in scenario.control.action.iter().enumerate() {
        let _ =
            writeln!(text, "  [{i}] {:12} {} to {}{}", action.name, action.low, action.high, super::unit(&action.unit));
    }
    let _ = writeln!(text, "\nSafety clauses");
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

fn facts(scenario: &Scenario) -> serde_json::Value {
    let actions: Vec<_> = scenario
        .control
        .action
        .iter()
        .map(|a| json!({ "name": a.name, "low": a.low, "high": a.high, "unit": a.unit }))
        .collect();
    let observations: Vec<_> =
        scenario.observations.iter().map(|o| json!({ "name": o.name, "description": o.description })).collect();
    let clauses: Vec<_> = scenario
        .clauses
        .iter()
        .map(|c| {
            json!({
                "id": c.id, "title": c.title, "level": c.level, "weight": c.weight, "standard": c.standard,
                "unit": c.unit, "limit": c.limit, "formula": c.formula.to_string(),
            })
        })
        .collect();
    let mut card = serde_json::to_value(scenario.card()).unwrap_or_default();
    card["control_hz"] = json!(scenario.world.control_hz);
    card["timestep_s"] = json!(scenario.world.timestep_s);
    card["observation"] = json!(observations);
    card["action"] = json!(actions);
    card["clauses"] = json!(clauses);
    card
}
