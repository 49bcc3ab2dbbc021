//! `assay scenario list|show|check|render|schema`: lists, describes, checks and renders scenarios.

mod check;
mod render;

use std::fmt::Write;
use std::path::PathBuf;

use assay_scenario::{CameraSpec, Clause, Library, Scenario};
use clap::Subcommand;
use serde_json::json;

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::screen;

/// No-break space between a number and its unit.
const NO_BREAK: &str = "\u{a0}";

#[derive(Debug, Subcommand)]
pub(crate) enum ScenarioCommand {
    /// List the built-in scenarios
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a scenario: its files, its worlds, and a few simulated seconds without actions
    #[command(after_help = "Example: assay scenario check scenarios/my_scenario

Exit codes: 0 it can be used, 1 it can't be used, 2 wrong usage, 4 internal error.")]
    Check {
        /// The scenario: an id, or its folder
        path: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Render a picture of a scenario, or a contact sheet of its worlds
    #[command(after_help = "Examples:
  assay scenario render tabletop_reach --out thumbnail.png
  assay scenario render tabletop_reach --episodes 16 --out sheet.png")]
    Render {
        /// The scenario: an id, or its folder
        id: String,
        /// Number of worlds on the contact sheet
        #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
        episodes: u32,
        /// Seed of the episodes
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// The PNG file to write
        #[arg(short, long, value_name = "FILE.png")]
        out: PathBuf,
    },
    /// Print the JSON Schema of scenario.toml, for editors
    #[command(after_help = "Example: assay scenario schema > scenario.schema.json")]
    Schema {
        /// Print the schema of robot.toml instead
        #[arg(long)]
        robot: bool,
    },
    /// Describe a scenario for policy authors: task, observation, action, clauses
    Show {
        /// The scenario: an id, or its folder
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: &ScenarioCommand) -> Result<ExitStatus, Failure> {
    let installation = super::machine::installation()?;
    match command {
        ScenarioCommand::Check { path, json } => return check::run(&installation, path, *json),
        ScenarioCommand::Render { id, episodes, seed, out } => {
            return render::run(&installation, id, (*seed, *episodes), out);
        }
        ScenarioCommand::Schema { robot } => {
            let schema = if *robot { assay_scenario::robot_schema() } else { assay_scenario::scenario_schema() };
            super::stdout::print(&serde_json::to_string_pretty(&schema).or_internal()?);
            return Ok(ExitStatus::Success);
        }
        ScenarioCommand::List { .. } | ScenarioCommand::Show { .. } => {}
    }
    let library = Library::open(&installation.scenarios(), &installation.robots()).or_internal()?;
    match command {
        ScenarioCommand::List { json: true } => {
            let cards: Vec<_> = library.scenarios().iter().map(Scenario::card).collect();
            super::stdout::print(&serde_json::to_string_pretty(&json!({ "scenarios": cards })).or_internal()?);
        }
        ScenarioCommand::List { json: false } => super::stdout::print(&list(&library)),
        ScenarioCommand::Show { id, json: true } => {
            let scenario = library.find(id).or_usage()?;
            super::stdout::print(&serde_json::to_string_pretty(&facts(&scenario)).or_internal()?);
        }
        ScenarioCommand::Show { id, json: false } => super::stdout::print(&show(&library.find(id).or_usage()?)),
        ScenarioCommand::Check { .. } | ScenarioCommand::Render { .. } | ScenarioCommand::Schema { .. } => {}
    }
    Ok(ExitStatus::Success)
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
        ("actions", format!("{} per second", scenario.world.control_hz)),
        ("physics", format!("steps of {} s", scenario.world.timestep_s)),
    ];
    let images = scenario.image_cost().map(|cost| ("images", cost.summary()));
    let facts: Vec<_> = facts.into_iter().chain(images).map(|(label, fact)| (label.to_owned(), fact)).collect();
    let _ = write!(text, "\n{}{}", screen.heading("Facts"), screen.facts(&facts, 2));
    let cameras = scenario.spec().cameras;
    if !cameras.is_empty() {
        let rows: Vec<_> = cameras.into_iter().map(camera).collect();
        let table = screen.table(&["image", "camera", "pixels", "per second", "depth"], &rows, 2);
        let _ = write!(text, "\n{}{table}", screen.heading("Cameras"));
    }
    let clause = |clause: &Clause| {
        let limit = format!("{}{}", clause.limit, super::stdout::unit(&clause.unit)).replace(' ', NO_BREAK);
        let cells = [clause.id.as_str(), clause.level.as_str(), &limit, &clause.title, &clause.standard];
        cells.map(str::to_owned).to_vec()
    };
    let rows: Vec<_> = scenario.clauses.iter().map(clause).collect();
    let table = screen.table(&["clause", "level", "limit", "what", "standard"], &rows, 2);
    let _ = write!(text, "\n{}{table}", screen.heading("Safety clauses"));
    text
}

/// Returns the row of a camera.
fn camera(camera: CameraSpec) -> Vec<String> {
    let CameraSpec { image, depth, camera, width, height, rate_hz } = camera;
    let size = format!("{width} x {height}").replace(' ', NO_BREAK);
    vec![image, camera, size, rate_hz.to_string(), depth.unwrap_or_default()]
}

/// Returns the facts that `list --json` has, and the machine-readable description.
fn facts(scenario: &Scenario) -> serde_json::Value {
    let mut facts = serde_json::to_value(scenario.card()).unwrap_or_default();
    if let (Some(facts), Ok(serde_json::Value::Object(spec))) =
        (facts.as_object_mut(), serde_json::to_value(scenario.spec()))
    {
        facts.extend(spec);
    }
    facts
}
