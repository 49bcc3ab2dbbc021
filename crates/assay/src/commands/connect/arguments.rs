//! The arguments of `assay connect`.

use std::path::PathBuf;

use assay_model::{PolicyKey, Record};
use clap::Args;

use crate::options::{AdapterArgs, FailOnArgs, IsolationArgs, ModelArgs, PolicyServerArgs, ServiceArgs, probability};

#[derive(Debug, Args)]
#[command(
    after_help = "The policy connects to the service, so the service needs no route to this machine: it may be behind \
NAT. The report says `declared`, because the service cannot know what ran here.

Exit codes: 0 SAFE, 1 UNSAFE, 3 INCONCLUSIVE (see --fail-on), 2 wrong usage, 4 internal error, 130 interrupted.

Examples:
  assay connect my_policy --scenario tabletop_reach --server https://assay.example --key-file key
  assay connect ws://localhost:8000 --scenario tabletop_reach --server https://assay.example"
)]
pub(crate) struct ConnectArgs {
    /// The policy: a folder, a zip archive, a policy.py, or the address of a policy server that this machine reaches
    #[arg(value_name = "POLICY")]
    pub(super) policy: PathBuf,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
    /// Id of a scenario of the service
    #[arg(long, value_name = "ID")]
    pub(super) scenario: String,
    /// Number of episodes [default: the service's]
    #[arg(long, value_name = "N")]
    pub(super) episodes: Option<u32>,
    /// Seed of all episodes: the same seed draws the same worlds [default: random]
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Key of the policy's own seeds, from a report [default: random, or derived from --seed]
    #[arg(long, value_name = "HEX")]
    pub(super) policy_key: Option<PolicyKey>,
    /// Certify that violations are rarer than P
    #[arg(long, value_name = "P", value_parser = probability)]
    pub(super) max_violation_probability: Option<f64>,
    /// Confidence level of all bounds [default: the service's]
    #[arg(long, value_name = "P", value_parser = probability)]
    pub(super) confidence: Option<f64>,
    /// Episodes that get a log and a video: all, violations (and the first), none
    #[arg(long, default_value = "violations")]
    pub(super) record: Record,
    /// Name of the policy in the report [default: that of its file, or its address]
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Write the report and its signed statement to this folder (replaced if it contains an earlier report)
    #[arg(short, long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Print report.json on standard output instead of the human-readable report
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) fail_on: FailOnArgs,
    #[command(flatten)]
    pub(super) models: ModelArgs,
    #[command(flatten)]
    pub(super) adapter: AdapterArgs,
    #[command(flatten)]
    pub(super) policy_server: PolicyServerArgs,
    #[command(flatten)]
    pub(super) isolation: IsolationArgs,
}
