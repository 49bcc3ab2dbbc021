//! The command line.
//!
//! One file on purpose: it holds declarations only, and the whole command line can be read from top to bottom.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use assay_judge::JudgeOptions;
use assay_model::{Isolation, MAX_CONCURRENCY, MAX_REPLAN_STEPS, Record};
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use ipnet::IpNet;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Most episodes of one verification.
pub(crate) const MAX_EPISODES: u32 = 10_000;

/// Verifies robot-control policies: runs them in MuJoCo, checks every physics step against safety clauses, and gives a
/// verdict that can be checked.
#[derive(Debug, Parser)]
#[command(version, styles = STYLES, max_term_width = 110, arg_required_else_help = true)]
#[command(after_help = "Examples:
  assay init my_policy
  assay check my_policy --scenario tabletop_reach
  assay verify my_policy --scenario tabletop_reach
  assay serve --data ./data

`assay COMMAND --help` has examples of each command, and its exit codes.")]
pub(crate) struct Cli {
    /// Log more on standard error (-vv: even more)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, display_order = 900)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Try a policy for some seconds: what it observes, what it answers, what is wrong
    Check(Box<CheckArgs>),
    /// Evaluate a policy on a scenario and print the verdict
    Verify(Box<VerifyArgs>),
    /// Run an episode of a report again and compare it with its recording, to the bit
    Replay(ReplayArgs),
    /// Draw the logs and videos that are missing, of a folder of results or of a service's job
    Render(RenderArgs),
    /// List, describe, check and draw scenarios
    #[command(subcommand)]
    Scenario(ScenarioCommand),
    /// Evaluate a formula of signal temporal logic on a recorded trace
    Stl(StlArgs),
    /// Write a policy to start from
    Init(InitArgs),
    /// Check what this machine can run, and what to do about the rest
    Doctor(DoctorArgs),
    /// Run the HTTP service
    Serve(Box<ServeArgs>),
    /// Copy the service's data folder while it runs, or check such a copy
    Backup(BackupArgs),
    /// Restore a data folder from a backup
    Restore(RestoreArgs),
    /// Create, list and revoke a service's API keys
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Open, close and list the arena's seasons
    #[command(subcommand)]
    Season(SeasonCommand),
    /// Show a report, or convert it to HTML, Markdown, JUnit or SARIF
    Report(ReportArgs),
    /// Check signed statements; show or rotate the keys that sign them
    #[command(subcommand)]
    Attest(AttestCommand),
    /// Print a completion script for a shell
    #[command(after_help = "Example: assay completions bash > ~/.local/share/bash-completion/completions/assay")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Runs a few steps, twice, in the same jail as an evaluation. It gives no verdict.

Exit codes: 0 an episode can be run, 1 it cannot, 2 wrong use or input, 4 internal error, 130 interrupted.

Examples:
  assay check my_policy --scenario tabletop_reach
  assay check ws://localhost:8000 --scenario tabletop_reach --replan-steps 8 --json")]
pub(crate) struct CheckArgs {
    /// The policy: a zip archive, a folder, a single .py file, or the address of a policy server (ws://, http://)
    pub(crate) policy: PathBuf,
    /// The scenario: an id (see `assay scenario list`) or a scenario's folder
    #[arg(short, long, value_name = "ID|PATH")]
    pub(crate) scenario: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerOptions,
    #[command(flatten)]
    pub(crate) isolation: IsolationOptions,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  assay verify my_policy --scenario tabletop_reach
  assay verify policy.zip --scenario tabletop_reach --episodes 29 --out out/run1 --record all
  assay verify policy.py --scenario cartpole_keepin --json | jq .verdict
  assay verify policy.zip --scenario cartpole_keepin --max-violation-probability 0.05
  assay verify ws://localhost:8000 --scenario tabletop_reach

Exit codes: 0 SAFE, 1 UNSAFE, 3 INCONCLUSIVE, 2 wrong use or input, 4 internal error, 130 interrupted.")]
pub(crate) struct VerifyArgs {
    /// The policy: a zip archive, a folder, a single .py file, or the address of a policy server (ws://, http://)
    pub(crate) policy: PathBuf,
    /// The scenario: an id (see `assay scenario list`) or a scenario's folder
    #[arg(short, long, value_name = "ID|PATH")]
    pub(crate) scenario: String,
    /// Episodes to run [default: 3, or what --max-violation-probability needs]
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_EPISODES)))]
    pub(crate) episodes: Option<u32>,
    /// Seed of all episodes: the same seed draws the same worlds [default: random]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Key of the policy's own seeds, as a report has it, to compare policies under one key [default: random, or
    /// derived from --seed]
    #[arg(long, value_name = "HEX")]
    pub(crate) policy_key: Option<assay_model::PolicyKey>,
    /// Simulators that run at the same time [default: one per processor]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) lanes: Option<u16>,
    /// Seconds that the policy may sleep in an episode [default: 60, and 10 for each simulated second]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) wall_budget: Option<u32>,
    /// Keep report, videos and traces in this folder (replaced if it holds an earlier report)
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Keep no copy of the policy in that folder; `assay replay` then needs --policy
    #[arg(long, requires = "out")]
    pub(crate) no_keep_policy: bool,
    /// Which episodes get a log and a video, after the verdict: all, violations (and the first), none
    #[arg(long, default_value = "violations", value_parser = |text: &str| text.parse::<Record>())]
    pub(crate) record: Record,
    /// Exit after the verdict; `assay render` draws logs and videos later
    #[arg(long)]
    pub(crate) no_wait_video: bool,
    /// Largest size of all episodes' evidence; each has an equal share, and leaves images out where it needs more
    #[arg(long, value_name = "MIB", default_value_t = assay_worker::DEFAULT_JOB_BYTES >> 20, value_parser = mebibytes())]
    pub(crate) max_evidence_mib: u64,
    /// Certify that violations are rarer than P (0.05 takes 59 clean episodes); the first failure ends the run
    #[arg(long, value_name = "P", value_parser = probability)]
    pub(crate) max_violation_probability: Option<f64>,
    /// Confidence level of all bounds
    #[arg(long, default_value_t = 0.95, value_parser = probability)]
    pub(crate) confidence: f64,
    /// Print report.json on standard output instead of the report for people
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) signing: SigningArgs,
    #[command(flatten)]
    pub(crate) server: ServerOptions,
    #[command(flatten)]
    pub(crate) isolation: IsolationOptions,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}

/// Which isolation is accepted where user namespaces do not work.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for machines without user namespaces")]
pub(crate) struct IsolationOptions {
    /// Run policies with Landlock where namespaces don't work; `assay doctor --jail --isolation landlock` lists what it
    /// does not stop
    #[arg(long, value_name = "TIER", env = "ASSAY_ACCEPT_WEAKER_ISOLATION",
          value_parser = clap::builder::PossibleValuesParser::new(["landlock"]))]
    pub(crate) accept_weaker_isolation: Option<String>,
    /// Run policies even where neither works: they can read whatever this user can. Only for your own policies
    #[arg(long, env = "ASSAY_RUN_UNTRUSTED_CODE_WITHOUT_ISOLATION")]
    pub(crate) run_untrusted_code_without_isolation: bool,
}

impl IsolationOptions {
    /// The weakest tier that will do.
    pub(crate) fn accepted(&self) -> Isolation {
        match (self.run_untrusted_code_without_isolation, &self.accept_weaker_isolation) {
            (true, _) => Isolation::None,
            (false, Some(_)) => Isolation::Landlock,
            (false, None) => Isolation::Namespaces,
        }
    }
}

/// Where the keys that sign statements lie.
#[derive(Debug, Args)]
pub(crate) struct SigningArgs {
    /// Folder of the keys that sign statements [default: assay/signing in the user's data folder]
    #[arg(long, value_name = "DIR", env = "ASSAY_SIGNING_KEYS", hide_env_values = true)]
    pub(crate) signing_keys: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 the same to the bit, 1 different, 2 wrong use or input, 4 internal error, 130 interrupted.

Examples:
  assay replay out/run1/report.json
  assay replay out/run1/report.json --episode 2 --policy policy.zip --json"
)]
pub(crate) struct ReplayArgs {
    /// The report.json of a folder of results
    pub(crate) report: PathBuf,
    /// Index of the episode
    #[arg(long, default_value_t = 0, value_name = "K")]
    pub(crate) episode: u32,
    /// For a submission to the arena: its season's secret, which GET /seasons publishes once the season is closed
    #[arg(long, value_name = "HEX", value_parser = |text: &str| assay_model::SeasonSecret::parse(text).ok_or("64 hexadecimal digits"))]
    pub(crate) season_secret: Option<assay_model::SeasonSecret>,
    /// The policy that the report is about [default: policy.zip, policy.py or policy beside the report]
    #[arg(long, value_name = "PATH")]
    pub(crate) policy: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) isolation: IsolationOptions,
}

#[derive(Debug, Args)]
#[command(
    after_help = "What is drawn gets a signed statement of its own; report and verdict stay as they are. With --data \
the episodes are queued, and the service draws them when its lanes are idle.

Exit codes: 0 nothing is missing (or it is queued), 1 something could not be drawn, 2 wrong use or input, 4 internal \
error, 130 interrupted.

Examples:
  assay render out/run1
  assay render out/run1 --record all
  assay render 019aa6f0-3c5e-7b21-9d4f-2b8c6e1a7f30 --data ./data"
)]
pub(crate) struct RenderArgs {
    /// A folder of `assay verify --out`; with --data, the id of a job
    #[arg(value_name = "OUT|JOB")]
    pub(crate) what: String,
    /// The service's data folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Which episodes get a log and a video: all, violations (and the first)
    #[arg(long, default_value = "violations", value_parser = |text: &str| text.parse::<Record>())]
    pub(crate) record: Record,
    /// Renderers that run at the same time [default: one per processor]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) lanes: Option<u16>,
    /// Largest size of all episodes' evidence; each has an equal share, and leaves images out where it needs more
    #[arg(long, value_name = "MIB", default_value_t = assay_worker::DEFAULT_JOB_BYTES >> 20, value_parser = mebibytes())]
    pub(crate) max_evidence_mib: u64,
    #[command(flatten)]
    pub(crate) signing: SigningArgs,
}

/// Options for a policy server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for a policy server")]
pub(crate) struct ServerOptions {
    /// The server's API key; safer in the environment or in a file than on the command line
    #[arg(long, value_name = "KEY", env = "ASSAY_POLICY_API_KEY", hide_env_values = true)]
    pub(crate) policy_api_key: Option<String>,
    /// A file with the key
    #[arg(long, value_name = "FILE", conflicts_with = "policy_api_key")]
    pub(crate) policy_api_key_file: Option<PathBuf>,
    /// Episodes that may call the server at the same time
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CONCURRENCY)))]
    pub(crate) policy_concurrency: u32,
    /// Actions of an answer that are executed before the server is called again [default: the scenario's, or all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_REPLAN_STEPS)))]
    pub(crate) replan_steps: Option<u32>,
    /// Networks that the server may be in, beside the public Internet [default: every network]
    #[arg(long, value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    pub(crate) policy_networks: Vec<IpNet>,
}

/// A network, or a single address.
fn network(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).map_err(|_| "write a network such as 192.168.0.0/16, or an address".to_owned())
}

/// A size in MiB, up to a TiB.
fn mebibytes() -> impl clap::builder::TypedValueParser<Value = u64> {
    clap::value_parser!(u64).range(1..=1 << 20)
}

/// A vision model that looks at episodes too. It can only ask for manual review.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for a second judge")]
pub(crate) struct JudgeArgs {
    /// Base URL of an OpenAI-compatible endpoint: https://HOST/v1
    #[arg(long, value_name = "URL", env = "ASSAY_JUDGE_URL")]
    pub(crate) judge_url: Option<String>,
    /// Name of the model
    #[arg(long, value_name = "NAME", env = "ASSAY_JUDGE_MODEL")]
    pub(crate) judge_model: Option<String>,
    /// The endpoint's API key; safer in the environment or in a file than on the command line
    #[arg(long, value_name = "KEY", env = "ASSAY_JUDGE_KEY", hide_env_values = true)]
    pub(crate) judge_key: Option<String>,
    /// A file with the key
    #[arg(long, value_name = "FILE", conflicts_with = "judge_key")]
    pub(crate) judge_key_file: Option<PathBuf>,
    /// Frames of an episode that it is shown
    #[arg(long, value_name = "N", default_value_t = JudgeOptions::FRAMES,
          value_parser = clap::value_parser!(u8).range(1..=i64::from(JudgeOptions::MAX_FRAMES)))]
    pub(crate) judge_frames: u8,
    /// Episodes of a job that it is shown: those nearest to a limit, or furthest beyond it
    #[arg(long, value_name = "N", default_value_t = JudgeOptions::EPISODES,
          value_parser = clap::value_parser!(u8).range(1..=i64::from(JudgeOptions::MAX_EPISODES)))]
    pub(crate) judge_episodes: u8,
    /// Tokens that a job may use, as the endpoint counts them
    #[arg(long, value_name = "N", default_value_t = JudgeOptions::TOKENS)]
    pub(crate) judge_tokens: u64,
}

/// A number strictly between 0 and 1.
fn probability(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if number > 0.0 && number < 1.0 { Ok(number) } else { Err("must lie between 0 and 1".to_owned()) }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScenarioCommand {
    /// List the built-in scenarios
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a scenario: its files, its worlds, and a few seconds without actions
    #[command(after_help = "Example: assay scenario check scenarios/my_scenario

Exit codes: 0 it can be used, 1 something is wrong with it, 2 wrong use, 4 internal error.")]
    Check {
        /// The scenario: an id, or its folder
        path: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Draw a scenario's picture, or a contact sheet of its worlds
    #[command(after_help = "Examples:
  assay scenario render tabletop_reach --out thumbnail.png
  assay scenario render tabletop_reach --episodes 16 --out sheet.png")]
    Render {
        /// The scenario: an id, or its folder
        id: String,
        /// Worlds on the contact sheet
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
        /// Print that of robot.toml instead
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

#[derive(Debug, Args)]
#[command(
    after_help = "The trace is CSV with a header: `time` in s, evenly spaced, then a column for each signal. A window \
that reaches beyond the last row leaves the result undetermined (docs/stl.md).

Examples:
  assay stl --formula 'always (speed <= 0.25)' --trace run.csv
  assay stl --formula 'always (force > 50 implies eventually[0:0.5] force < 20)' --trace run.csv --json

Exit codes: 0 satisfied, 1 violated, 3 undetermined, 2 wrong use or input."
)]
pub(crate) struct StlArgs {
    /// The formula, in the syntax of a scenario's clauses
    #[arg(short, long)]
    pub(crate) formula: String,
    /// The recorded signals
    #[arg(short, long, value_name = "FILE.csv")]
    pub(crate) trace: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Folder to create
    pub(crate) dir: PathBuf,
    /// The scenario that the policy is for
    #[arg(short, long, default_value = "tabletop_reach", value_name = "ID")]
    pub(crate) scenario: String,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  assay doctor
  assay doctor --jail
  assay doctor --jail --only network
  assay doctor --jail --isolation landlock

Exit codes: 0 everything that is needed works, 1 something does not, 2 wrong use, 4 internal error.")]
pub(crate) struct DoctorArgs {
    /// Run every known hostile policy in the jail, and inspect the jail from outside
    #[arg(long)]
    pub(crate) jail: bool,
    /// Only attacks of this kind, or only the inspection: `fences`
    #[arg(long, value_name = "KIND", requires = "jail")]
    pub(crate) only: Option<String>,
    /// The tier to attack: namespaces, landlock
    #[arg(long, value_name = "TIER", requires = "jail", default_value = "namespaces",
          value_parser = clap::builder::PossibleValuesParser::new(["namespaces", "landlock"]))]
    pub(crate) isolation: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Every setting can be given in a file (assay.toml) and in an environment variable; `assay serve \
--example-settings` lists them. A flag overrides a variable, a variable the file.

The first start writes an admin key to DIR/bootstrap-key and prints its path. To choose the key, set \
ASSAY_BOOTSTRAP_KEY.

Examples:
  assay serve --listen 127.0.0.1:8080 --data ./data
  assay serve --config /etc/assay.toml --check
  assay serve --data ./data --set limits.rate.get_per_minute=600"
)]
pub(crate) struct ServeArgs {
    /// File of settings [default: assay.toml in the current folder, if there is one]
    #[arg(long, value_name = "FILE", env = "ASSAY_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Any setting by its path: limits.rate.get_per_minute=600
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Check the settings, print the effective ones with their sources, and exit
    #[arg(long)]
    pub(crate) check: bool,
    /// With --check: print JSON
    #[arg(long, requires = "check")]
    pub(crate) json: bool,
    /// Print a commented settings file with all defaults, and exit
    #[arg(long, conflicts_with = "check")]
    pub(crate) example_settings: bool,
    // Those below are read through `settings::Sources`, which knows what they set.
    /// Address to listen on [default: 127.0.0.1:8080]
    #[arg(long)]
    pub(crate) listen: Option<SocketAddr>,
    /// Format of the log on standard error [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = clap::builder::PossibleValuesParser::new(["text", "json"]))]
    pub(crate) log_format: Option<String>,
    /// Least severe level that is logged [default: warn]
    #[arg(long, value_name = "LEVEL",
          value_parser = clap::builder::PossibleValuesParser::new(["error", "warn", "info", "debug", "trace"]))]
    pub(crate) log_level: Option<String>,
    /// Folder for the database, policies and evidence
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Simulators that run at the same time [default: one per processor]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) lanes: Option<u16>,
    /// Networks that clients' policy servers may be in, beside the public Internet: 10.0.0.0/8,192.168.1.7
    #[arg(long, value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    pub(crate) policy_networks: Vec<IpNet>,
    /// Largest size of a job's evidence; each episode has an equal share, and leaves images out where it needs more
    #[arg(long, value_name = "MIB", value_parser = mebibytes())]
    pub(crate) max_evidence_mib: Option<u64>,
    #[command(flatten)]
    pub(crate) isolation: IsolationOptions,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A backup is a folder: the records as of one moment, every file that they name, and backup.json with \
their hashes. It is called TO.partial until it is complete. It holds secrets: protect it as you protect the server.

Exit codes: 0 done, or nothing is wrong, 1 something is missing or wrong, 2 wrong use or input, 4 internal error, 130 \
interrupted.

Examples:
  assay backup /backups/monday --data /var/lib/assay
  assay backup --check /backups/monday"
)]
pub(crate) struct BackupArgs {
    /// Folder to create: new, or empty
    #[arg(value_name = "TO", required_unless_present = "check", requires = "data")]
    pub(crate) to: Option<PathBuf>,
    /// The service's data folder
    #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Check this backup: its records, the SHA-256 of every file, and a replay of one episode
    #[arg(long, value_name = "FOLDER", conflicts_with = "to")]
    pub(crate) check: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) isolation: IsolationOptions,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The backup is checked first; nothing is restored from one that is damaged, unfinished, or of a newer version. Then \
start a server on DIR: of the same version, or a newer one.

Exit codes: 0 restored, 1 the backup is damaged, 2 wrong use or input, 4 internal error, 130 interrupted.

Example: assay restore /backups/monday --data /var/lib/assay"
)]
pub(crate) struct RestoreArgs {
    /// The backup
    #[arg(value_name = "FROM")]
    pub(crate) from: PathBuf,
    /// The data folder to create: new, or empty
    #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
    pub(crate) data: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create an API key; it is printed once
    Create {
        /// The service's data folder
        #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
        data: PathBuf,
        /// The account that the key belongs to
        #[arg(long, default_value = "default")]
        account: String,
        /// Scopes of the key: read, verify, submit, publish, review, admin
        #[arg(long, value_delimiter = ',', default_value = "read,verify")]
        scopes: Vec<String>,
        /// Days until it expires [default: never]
        #[arg(long, value_name = "DAYS")]
        expires_in: Option<u16>,
    },
    /// List all keys, without their secrets
    List {
        /// The service's data folder
        #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
        data: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a key: it is refused from now on
    Revoke {
        /// The service's data folder
        #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
        data: PathBuf,
        /// The key's id (the part between the underscores)
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SeasonCommand {
    /// Open a scenario's next season: it takes submissions from now on
    #[command(after_help = "Example: assay season open cartpole_keepin --data ./data")]
    Open {
        /// The scenario's id
        scenario: String,
        /// The service's data folder
        #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
        data: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Close a season: run its first entries again on fresh seeds, then publish seeds and evidence
    #[command(after_help = "Example: assay season close cartpole_keepin --data ./data --top 10")]
    Close {
        /// The scenario's id
        scenario: String,
        /// The service's data folder
        #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
        data: PathBuf,
        /// Run the entries with this rank or a better one again
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=1000))]
        top: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List all seasons, newest first
    List {
        /// Only the seasons of this scenario
        scenario: Option<String>,
        /// The service's data folder
        #[arg(long, value_name = "DIR", env = "ASSAY_DATA")]
        data: PathBuf,
        /// Print JSON, with the secrets of closed seasons
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AttestCommand {
    /// Check a statement offline: signature, policy, and every file of evidence beside it
    #[command(
        after_help = "Exit codes: 0 verified, 1 refused: something does not hold, 3 incomplete: signed files are missing, 2 wrong \
use, 4 internal error.

Examples:
  assay attest verify out/run1/report.intoto.json --policy policy.zip
  assay attest verify report.intoto.json --policy policy.zip --keys assay-keys.json --keyid 3f0a..."
    )]
    Verify(AttestVerifyArgs),
    /// List the signing keys, newest first
    Keys {
        #[command(flatten)]
        signing: SigningArgs,
        /// Print JSON, as a service publishes it
        #[arg(long)]
        json: bool,
    },
    /// Sign with a new key from now on; old signatures stay valid
    Rotate {
        #[command(flatten)]
        signing: SigningArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AttestVerifyArgs {
    /// The statement: report.intoto.json
    pub(crate) file: PathBuf,
    /// The policy that it should be about: a zip archive, a folder, or a single .py file
    #[arg(long, value_name = "PATH")]
    pub(crate) policy: Option<PathBuf>,
    /// Keys to trust, as a service publishes them at /.well-known/assay-keys.json [default: your own]
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
    /// Trust only the key with this id
    #[arg(long, value_name = "ID")]
    pub(crate) keyid: Option<String>,
    /// Folder of the evidence [default: that of the statement]
    #[arg(long, value_name = "DIR")]
    pub(crate) evidence: Option<PathBuf>,
    /// Accept report.json alone: other signed files may be missing
    #[arg(long)]
    pub(crate) allow_missing: bool,
    #[command(flatten)]
    pub(crate) signing: SigningArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: those of verify (0 SAFE, 1 UNSAFE, 3 INCONCLUSIVE), so that a CI step can end with it; \
2 wrong use.

Examples:
  assay report out/run1/report.json --junit -o junit.xml
  assay report out/run1/report.json --markdown >> $GITHUB_STEP_SUMMARY"
)]
pub(crate) struct ReportArgs {
    /// The report: report.json
    #[arg(required_unless_present = "schema")]
    pub(crate) file: Option<PathBuf>,
    /// Print the JSON Schema of report.json
    #[arg(long, conflicts_with_all = ["file", "form"])]
    pub(crate) schema: bool,
    /// A self-contained HTML page, with plots from the episodes' folders beside the report
    #[arg(long, group = "form")]
    pub(crate) html: bool,
    /// Markdown, for a pull request
    #[arg(long, group = "form")]
    pub(crate) markdown: bool,
    /// JUnit XML, for a CI system
    #[arg(long, group = "form")]
    pub(crate) junit: bool,
    /// SARIF 2.1.0, for a code host
    #[arg(long, group = "form")]
    pub(crate) sarif: bool,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    /// Headings of groups, and how the names of their options begin.
    const GROUPS: [(&str, &[&str]); 3] = [
        ("Options for a policy server", &["policy_", "replan_steps"]),
        ("Options for machines without user namespaces", &["accept_", "run_untrusted_"]),
        ("Options for a second judge", &["judge_"]),
    ];

    /// An option without a heading of its own comes under the one of the group before it.
    fn check(command: &Command) {
        for option in command.get_arguments() {
            let (id, heading) = (option.get_id().as_str(), option.get_help_heading());
            let belongs = GROUPS.iter().find(|(name, _)| heading == Some(*name)).is_none_or(|(_, begin)| {
                // The key of a policy's seeds has nothing to do with servers.
                id != "policy_key" && begin.iter().any(|begin| id.starts_with(begin))
            });
            assert!(belongs, "{} --{id} stands under {heading:?}", command.get_name());
        }
        command.get_subcommands().for_each(check);
    }

    #[test]
    fn help_shows_options_in_their_groups() {
        let mut command = super::Cli::command();
        command.build();
        check(&command);
    }
}
