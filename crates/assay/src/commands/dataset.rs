//! `assay dataset`: records demonstrations of a policy, or takes recorded ones from a report, as a dataset for training.

mod demonstrations;
mod destination;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use assay_dataset::{DatasetError, DatasetFormat, DatasetJob, DatasetSummary, write_dataset};
use assay_model::frame::Dtype;
use assay_scenario::{ObservationKind, Scenario};
use assay_worker::Cancel;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use self::demonstrations::Demonstrations;
use self::destination::Destination;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::options::{IsolationArgs, PolicyServerArgs, lanes};

/// Maximum number of episodes.
const MAX_EPISODES: i64 = 10_000;

#[derive(Debug, Args)]
#[command(after_help = "Observations and actions are recorded exactly as the policy receives and answers them.

Formats:
  lerobot   a LeRobot dataset (v3.0): observation.state, observation.images.NAME, action
  parquet   one table, data.parquet, with a row per control step
  mcap      a log per episode, episodes/NNN.mcap

Exit codes: 0 written, 1 no episode to write, 2 wrong usage or input, 4 internal error, 130 interrupted.

Examples:
  assay dataset my_policy --scenario tabletop_reach --episodes 50 --format lerobot -o demos --only-success
  assay verify my_policy --scenario tabletop_reach --out out/mine --record-observations
  assay dataset --from out/mine --format parquet -o table")]
pub(crate) struct DatasetArgs {
    /// The policy: a zip archive, a folder, a single .py file, or the address of a policy server (ws://, http://)
    #[arg(required_unless_present = "from", requires = "scenario", conflicts_with = "from")]
    policy: Option<PathBuf>,
    /// The scenario: an id (see `assay scenario list`) or a scenario's folder
    #[arg(short, long, value_name = "ID|PATH")]
    scenario: Option<String>,
    /// Take the episodes of this results folder, written by `assay verify --out DIR --record-observations`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["scenario", "episodes", "seed", "lanes"])]
    from: Option<PathBuf>,
    /// Episodes to record [default: 10]
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=MAX_EPISODES))]
    episodes: Option<u32>,
    /// Format of the dataset: lerobot, parquet, mcap
    #[arg(short, long)]
    format: DatasetFormat,
    /// The folder to create
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Leave out episodes without success
    #[arg(long)]
    only_success: bool,
    /// Arrays of the observation that form observation.state of a LeRobot dataset, in order [default: all arrays of
    /// numbers except last actions]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    state: Option<Vec<String>>,
    /// Arrays that form observation.environment_state instead [default: those of the state, if there are no images, and
    /// otherwise none]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    environment: Option<Vec<String>>,
    /// Seed of all episodes: the same seed draws the same worlds [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// Simulators that run at the same time [default: one per processor]
    #[arg(long, value_parser = lanes())]
    lanes: Option<u16>,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    policy_server: PolicyServerArgs,
    #[command(flatten)]
    isolation: IsolationArgs,
}

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
    let demonstrations = match &arguments.from {
        Some(folder) => Demonstrations::recorded(&engine, folder)?,
        None => Demonstrations::record(&engine, arguments, &cancel)?,
    };
    let all = demonstrations.episodes.len();
    let kept: Vec<_> =
        demonstrations.episodes.iter().filter(|episode| episode.success || !arguments.only_success).cloned().collect();
    if kept.is_empty() {
        eprintln!("assay: none of {all} recorded episodes is kept, so there is no dataset");
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
        DatasetError::State { .. } => Failure::Usage(anyhow!(error).context("--state or --environment")),
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
