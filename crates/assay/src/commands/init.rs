//! `assay init`: creates a policy to start from.

mod placeholders;
mod template;

use std::fs;
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context, anyhow};
use assay_scenario::{Library, Scenario};
use clap::Args;

use self::placeholders::Placeholders;
use self::template::PolicyTemplate;
use crate::exit::{ExitStatus, Failure, OrFail};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  assay init my_policy
  assay init my_policy --scenario cartpole_keepin --template onnx

Every template has a README.md that says what to do next.")]
pub(crate) struct InitArgs {
    /// Folder to create
    dir: PathBuf,
    /// The scenario that the policy is for
    #[arg(short, long, default_value = "tabletop_reach", value_name = "ID|PATH")]
    scenario: String,
    /// The kind of policy
    #[arg(short, long, value_enum, default_value_t)]
    template: PolicyTemplate,
}

pub(crate) fn run(arguments: &InitArgs) -> Result<ExitStatus, Failure> {
    let installation = super::machine::installation()?;
    let library = Library::open(&installation.scenarios(), &installation.robots()).or_internal()?;
    let scenario = library.find(&arguments.scenario).or_usage()?;
    let dir = &arguments.dir;
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::Usage(anyhow!("{} is not empty; choose a new folder", dir.display())));
    }
    fs::create_dir_all(dir).with_context(|| format!("can't create {}", dir.display())).or_usage()?;
    let named = name(&scenario, &arguments.scenario);
    let placeholders = Placeholders::of(&scenario, &named);
    for (name, text) in arguments.template.files() {
        let path = dir.join(name);
        let written = fs::write(&path, placeholders.fill(text));
        written.with_context(|| format!("can't write {}", path.display())).or_usage()?;
    }
    super::stdout::print(&next_steps(arguments.template, dir, &named));
    Ok(ExitStatus::Success)
}

/// Returns the argument that names the scenario in commands of any folder, if `given` named it here.
fn name(scenario: &Scenario, given: &str) -> String {
    if given == scenario.id.as_str() {
        return given.to_owned();
    }
    absolute(given).map_or_else(|_| given.to_owned(), |path| path.display().to_string())
}

/// Lists the created files and the commands to run next.
fn next_steps(template: PolicyTemplate, dir: &Path, scenario: &str) -> String {
    let written: Vec<_> = template.files().iter().map(|(name, _)| dir.join(name).display().to_string()).collect();
    let mut steps = vec![("the task:", format!("assay scenario show {scenario}"))];
    steps.extend(template.steps(dir));
    let policy = template.policy(dir);
    steps.push(("a first try:", format!("assay check {policy} --scenario {scenario}")));
    steps.push(("the verdict:", format!("assay verify {policy} --scenario {scenario}")));
    let width = steps.iter().map(|(label, _)| label.len()).max().unwrap_or_default();
    let steps: String = steps.iter().map(|(label, command)| format!("\n{label:width$} {command}")).collect();
    format!("wrote {}{steps}", written.join(", "))
}
