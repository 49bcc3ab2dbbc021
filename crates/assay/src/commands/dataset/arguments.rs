//! The arguments of `assay dataset`.

use std::path::PathBuf;

use assay_dataset::DatasetFormat;
use clap::Args;

use crate::options::{AdapterArgs, IsolationArgs, ModelArgs, PolicyServerArgs, lanes};
use crate::source::PolicyArgs;

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
    pub(super) policy: Option<PathBuf>,
    /// The scenario: an id (see `assay scenario list`) or a scenario's folder
    #[arg(short, long, value_name = "ID|PATH")]
    pub(super) scenario: Option<String>,
    /// Take the episodes of this results folder, written by `assay verify --out DIR --record-observations`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["scenario", "episodes", "seed", "lanes"])]
    pub(super) from: Option<PathBuf>,
    /// Episodes to record [default: 10]
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=MAX_EPISODES))]
    pub(super) episodes: Option<u32>,
    /// Format of the dataset: lerobot, parquet, mcap
    #[arg(short, long)]
    pub(super) format: DatasetFormat,
    /// The folder to create
    #[arg(short, long, value_name = "DIR")]
    pub(super) out: PathBuf,
    /// Leave out episodes without success
    #[arg(long)]
    pub(super) only_success: bool,
    /// Arrays of the observation that form observation.state of a LeRobot dataset, in order [default: all arrays of
    /// numbers except last actions]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) state: Option<Vec<String>>,
    /// Arrays that form observation.environment_state instead [default: those of the state, if there are no images, and
    /// otherwise none]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) environment: Option<Vec<String>>,
    /// Seed of all episodes: the same seed draws the same worlds [default: random]
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Simulators that run at the same time [default: one per processor]
    #[arg(long, value_parser = lanes())]
    pub(super) lanes: Option<u16>,
    /// Print a summary as JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) models: ModelArgs,
    #[command(flatten)]
    pub(super) adapter: AdapterArgs,
    #[command(flatten)]
    pub(super) policy_server: PolicyServerArgs,
    #[command(flatten)]
    pub(super) isolation: IsolationArgs,
}

impl DatasetArgs {
    /// Returns the options that say how the policy is found and called.
    pub(super) fn how(&self) -> PolicyArgs<'_> {
        PolicyArgs { server: &self.policy_server, models: &self.models, adapter: &self.adapter }
    }
}
