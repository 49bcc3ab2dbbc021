//! `assay dataset`: records demonstrations of a policy, or takes recorded ones from a report, as a dataset for
//! training.

mod arguments;
mod demonstrations;
mod destination;

use std::path::Path;

use anyhow::anyhow;
use assay_dataset::{DatasetError, DatasetFormat, DatasetJob, DatasetSummary, write_dataset};
use assay_model::frame::Dtype;
use assay_scenario::{ObservationKind, Scenario};
use assay_worker::Cancel;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

pub(crate) use self::arguments::DatasetArgs;
use self::demonstrations::Demonstrations;
use self::destination::Destination;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::printing::complain;

/// Runs the command.
pub(crate) fn run(arguments: &DatasetArgs) -> Result<ExitStatus, Failure> {
    let cancel = cancel_on_signal().or_internal()?;
    let destination = Destination::check(&arguments.out).or_usage()?;
    if (arguments.state.is_some() || arguments.environment.is_some()) && arguments.format != DatasetFormat::Lerobot {
        return Err(Failure::Usage(anyhow!("--state and --environment are only for --format lerobot")));
    }
    let installation = super::machine::installation()?;
    let engine = super::machine::engine(&installation, arguments.lanes, arguments.isolation.accepted())?
        .guarded_by(arguments.policy_server.guard())
        .or_internal()?;
    if let Some(name) = &arguments.scenario {
        // Before the episodes are run.
        check_names(arguments, &super::verify::find(&engine, name)?)?;
    }
    let demonstrations = match &arguments.from {
        Some(folder) => Demonstrations::recorded(&engine, folder)?,
        None => Demonstrations::record(&engine, arguments, &cancel)?,
    };
    let all = demonstrations.episodes.len();
    let kept: Vec<_> =
        demonstrations.episodes.iter().filter(|episode| episode.success || !arguments.only_success).cloned().collect();
    if kept.is_empty() {
        complain!("assay: none of {all} recorded episodes is kept, so there is no dataset");
        return Ok(ExitStatus::Unsafe);
    }
    let environment = arguments.environment.as_deref();
    let state = arguments.state.clone().unwrap_or_else(|| state(&demonstrations.scenario, environment));
    let robot = demonstrations.scenario.robots.first().map(|robot| robot.model.id.clone());
    let job = DatasetJob {
        format: arguments.format,
        episodes: &kept,
        state: Some(&state),
        environment,
        robot: robot.as_deref(),
        origin: demonstrations.origin.clone(),
    };
    let folder = destination.create().or_usage()?;
    let summary = write(folder.path(), &job, &cancel)?;
    destination.publish(folder).or_usage()?;
    let successes = kept.iter().filter(|episode| episode.success).count();
    show(arguments, &summary, successes, all);
    Ok(ExitStatus::Success)
}

/// Checks that the arrays of the state exist.
fn check_names(arguments: &DatasetArgs, scenario: &Scenario) -> Result<(), Failure> {
    let is_numbers =
        |observation: &&assay_scenario::Observation| scenario.array_specs(observation).0.dtype == Dtype::F64;
    let known: Vec<&str> = scenario.observations.iter().filter(is_numbers).map(|one| one.name.as_str()).collect();
    let mut named = arguments.state.iter().chain(&arguments.environment).flatten();
    match named.find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(not_in_state(DatasetError::State { name: name.clone(), known: known.join(", ") })),
        None => Ok(()),
    }
}

fn not_in_state(error: DatasetError) -> Failure {
    Failure::Usage(anyhow!(error).context("--state or --environment"))
}

/// Returns the arrays that usually form a policy's state: all numbers except last actions and those of the environment.
fn state(scenario: &Scenario, environment: Option<&[String]>) -> Vec<String> {
    let is_state = |observation: &&assay_scenario::Observation| {
        let (spec, _) = scenario.array_specs(observation);
        spec.dtype == Dtype::F64
            && !matches!(observation.kind, ObservationKind::LastAction {})
            && !environment.is_some_and(|names| names.contains(&observation.name))
    };
    scenario.observations.iter().filter(is_state).map(|observation| observation.name.clone()).collect()
}

fn write(folder: &Path, job: &DatasetJob<'_>, cancel: &Cancel) -> Result<DatasetSummary, Failure> {
    let bar = bar(job.episodes.len() as u64);
    let summary = write_dataset(folder, job, &mut |episodes| {
        bar.set_position(episodes as u64);
        !cancel.is_cancelled()
    });
    bar.finish_and_clear();
    summary.map_err(|error| match error {
        DatasetError::Stopped => Failure::Interrupted,
        error @ DatasetError::State { .. } => not_in_state(error),
        DatasetError::Recording { .. } | DatasetError::Mixed(_) => Failure::Usage(anyhow!(error)),
        error => Failure::Internal(anyhow!(error)),
    })
}

/// Returns a bar for so many episodes, which is hidden without a terminal.
fn bar(episodes: u64) -> ProgressBar {
    if !std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        return ProgressBar::hidden();
    }
    let template = "{prefix:>12.bold} [{bar:32.green/dim}] {pos}/{len} episodes  {elapsed}";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(episodes);
    bar.set_style(style.progress_chars("━╸ "));
    bar.set_prefix("writing");
    bar
}

fn show(arguments: &DatasetArgs, summary: &DatasetSummary, successes: usize, recorded: usize) {
    let (path, format) = (arguments.out.display().to_string(), arguments.format);
    if arguments.json {
        let answer = json!({
            "path": path, "format": format.as_str(), "episodes": summary.episodes, "frames": summary.frames,
            "successes": successes, "recorded_episodes": recorded, "omitted": summary.omitted,
        });
        super::stdout::print(&answer.to_string());
        return;
    }
    let DatasetSummary { episodes, frames, omitted } = summary;
    super::stdout::print(&format!(
        "{path}: {format}, {episodes} of {recorded} episodes ({successes} successful), {frames} frames"
    ));
    if !omitted.is_empty() {
        super::stdout::print(&format!("left out of this format: {}", omitted.join(", ")));
    }
}
