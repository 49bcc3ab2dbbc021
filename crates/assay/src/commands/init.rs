//! `assay init`: creates a minimal policy to start from.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use assay_scenario::{Library, Scenario};
use clap::Args;

use crate::exit::{ExitStatus, Failure, OrFail};

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Folder to create
    dir: PathBuf,
    /// The scenario that the policy is for
    #[arg(short, long, default_value = "tabletop_reach", value_name = "ID")]
    scenario: String,
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
    let path = dir.join("policy.py");
    fs::write(&path, policy(&scenario)).with_context(|| format!("can't write {}", path.display())).or_usage()?;
    let (id, policy) = (&scenario.id, dir.display());
    super::stdout::print(&format!(
        "wrote {}\nthe task:    assay scenario show {id}\na first try: assay check {policy} --scenario {id}\nthe verdict: \
         assay verify {policy} --scenario {id}",
        path.display()
    ));
    Ok(ExitStatus::Success)
}

/// Returns the source of a policy that does nothing, with comments on its observation and action.
fn policy(scenario: &Scenario) -> String {
    let observations: String = scenario
        .observations
        .iter()
        .map(|o| format!("        #   observation[{:?}]  {}\n", o.name, one_line(&o.description)))
        .collect();
    let actions: String = scenario
        .control
        .action
        .iter()
        .enumerate()
        .map(|(i, a)| {
            format!("        #   action[{i}]  {} in [{}, {}]{}\n", a.name, a.low, a.high, super::stdout::unit(&a.unit))
        })
        .collect();
    format!(
        r#""""A policy for {id}: {name}.

{description}
"""

import numpy as np


class Policy:
    """One object lives for one episode, in a process of its own, with numpy and the standard library."""

    def reset(self, *, seed, scenario, instruction):
        """Called once before the first observation."""
        self.random = np.random.default_rng(seed)

    def act(self, observation):
        """Called {hz} times per simulated second; returns {dim} numbers.

        observation["time"] and observation["time_remaining"] are seconds.
        """
{observations}        # and returns
{actions}        return np.zeros({dim})
"#,
        id = scenario.id,
        name = one_line(&scenario.name),
        description = one_line(&scenario.description),
        hz = scenario.world.control_hz,
        dim = scenario.control.action.len(),
    )
}

/// Returns text that can't end a Python comment or docstring.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('\\', "/").replace("\"\"\"", "'''")
}
