//! The arguments of `assay verify`.

use std::path::PathBuf;

use assay_model::{Plan, PolicyKey, Record, WALL_BUDGET_PER_SIMULATED_S, WALL_BUDGET_S};
use clap::Args;

use crate::options::{
    AdapterArgs, EvidenceArgs, FailOnArgs, IsolationArgs, JudgeArgs, ModelArgs, PolicyServerArgs, SigningArgs,
    VideoArgs, lanes, probability,
};

/// Maximum number of episodes of a verification.
pub(super) const MAX_EPISODES: u32 = 10_000;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  assay verify my_policy --scenario tabletop_reach
  assay verify policy.zip --scenario tabletop_reach --episodes 29 --out out/run1 --record all
  assay verify policy.py --scenario cartpole_keepin --json | jq .verdict
  assay verify policy.zip --scenario cartpole_keepin --max-violation-probability 0.05
  assay verify ws://localhost:8000 --scenario tabletop_reach
  assay verify pretrained_model --adapter lerobot --map map.toml --scenario tabletop_reach
  assay verify policy.zip --scenario tabletop_reach --fail-on unsafe    # a CI step that INCONCLUSIVE does not fail

Exit codes: 0 SAFE, 1 UNSAFE, 3 INCONCLUSIVE, 2 wrong usage or input, 4 internal error, 130 interrupted.")]
pub(crate) struct VerifyArgs {
    /// The policy: a zip archive, a folder, a single .py file, or the address of a policy server (ws://, http://)
    pub(super) policy: PathBuf,
    /// The scenario: an id (see `assay scenario list`) or a scenario's folder
    #[arg(short, long, value_name = "ID|PATH")]
    pub(super) scenario: String,
    #[arg(short, long, help = format!("Episodes to run [default: {}, or the number that \
                                      --max-violation-probability needs]", Plan::DEFAULT_EPISODES),
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_EPISODES)))]
    pub(super) episodes: Option<u32>,
    /// Seed of all episodes: the same seed draws the same worlds [default: random]
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Key of the policy's own seeds, from a report, to compare policies under the same key [default: random, or
    /// derived from --seed]
    #[arg(long, value_name = "HEX")]
    pub(super) policy_key: Option<PolicyKey>,
    /// Simulators that run at the same time [default: one per processor]
    #[arg(long, value_parser = lanes())]
    pub(super) lanes: Option<u16>,
    #[arg(long, value_name = "S", help = format!("Time in seconds that the policy may sleep in an episode \
                                                  [default: {WALL_BUDGET_S}, plus {WALL_BUDGET_PER_SIMULATED_S} per \
                                                  simulated second]"),
          value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(super) wall_budget: Option<u32>,
    /// Write report, videos and traces to this folder (replaced if it contains an earlier report)
    #[arg(short, long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Do not copy the policy to that folder; `assay replay` then needs --policy
    #[arg(long, requires = "out")]
    pub(super) no_keep_policy: bool,
    /// Episodes that get a log and a video, after the verdict: all, violations (and the first), none
    #[arg(long, default_value = "violations")]
    pub(super) record: Record,
    /// Keep all observations and actions as the policy exchanged them, for `assay dataset --from`; large with images
    #[arg(long, requires = "out")]
    pub(super) record_observations: bool,
    /// Exit after the verdict; `assay render` renders logs and videos later
    #[arg(long)]
    pub(super) no_wait_video: bool,
    #[command(flatten)]
    pub(super) evidence: EvidenceArgs,
    #[command(flatten)]
    pub(super) video: VideoArgs,
    /// Certify that violations are rarer than P (0.05 takes 59 clean episodes); the first failure ends the run
    #[arg(long, value_name = "P", value_parser = probability)]
    pub(super) max_violation_probability: Option<f64>,
    /// Confidence level of all bounds
    #[arg(long, default_value_t = Plan::DEFAULT_CONFIDENCE_LEVEL, value_parser = probability)]
    pub(super) confidence: f64,
    /// Print report.json on standard output instead of the human-readable report
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) fail_on: FailOnArgs,
    #[command(flatten)]
    pub(super) signing: SigningArgs,
    #[command(flatten)]
    pub(super) models: ModelArgs,
    #[command(flatten)]
    pub(super) adapter: AdapterArgs,
    #[command(flatten)]
    pub(super) policy_server: PolicyServerArgs,
    #[command(flatten)]
    pub(super) isolation: IsolationArgs,
    #[command(flatten)]
    pub(super) judge: JudgeArgs,
}
