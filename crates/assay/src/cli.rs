//! The command line: the list of commands, and the global options. The arguments of a command are declared beside its
//! code in [`commands`](crate::commands); arguments that several commands share are in [`options`](crate::options).

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};

use crate::commands::{
    AttestCommand, BackupArgs, CheckArgs, CompletionsArgs, ConnectArgs, DatasetArgs, DemoArgs, DoctorArgs, FetchArgs,
    InitArgs, KeysCommand, MigrateArgs, ModelCommand, RenderArgs, ReplayArgs, ReportArgs, RestoreArgs, RuntimeCommand,
    ScenarioCommand, SeasonCommand, ServeArgs, StlArgs, VerifyArgs, WorkerArgs, WorkersCommand,
};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

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
    /// Verify an example policy, to see a verdict
    Demo(DemoArgs),
    /// Try a policy for a few seconds: its observations, its actions, and problems with it
    Check(Box<CheckArgs>),
    /// Evaluate a policy on a scenario and print the verdict
    Verify(Box<VerifyArgs>),
    /// Let a service elsewhere evaluate a policy that stays on this machine
    Connect(Box<ConnectArgs>),
    /// Download everything about a job of a service, to replay and check it here
    Fetch(FetchArgs),
    /// Run an episode of a report again and compare it with its recording bit for bit
    Replay(ReplayArgs),
    /// Record demonstrations of a policy as a dataset: LeRobot, Parquet or MCAP
    Dataset(Box<DatasetArgs>),
    /// Render the missing logs and videos of a results folder or of a service's job
    Render(RenderArgs),
    /// List, describe, check and render scenarios
    #[command(subcommand)]
    Scenario(ScenarioCommand),
    /// List, add, check and remove the runtimes that policies run in
    #[command(subcommand)]
    Runtime(RuntimeCommand),
    /// Upload, list and remove models: large files of an account of a service
    #[command(subcommand)]
    Model(ModelCommand),
    /// Evaluate a formula of signal temporal logic on a recorded trace
    Stl(StlArgs),
    /// Create a policy to start from
    Init(InitArgs),
    /// Check that this machine meets the requirements, and suggest fixes
    Doctor(DoctorArgs),
    /// Run the HTTP service
    Serve(Box<ServeArgs>),
    /// Run a service's jobs on this machine
    Worker(Box<WorkerArgs>),
    /// Create, list, drain and revoke a service's workers on other hosts
    #[command(subcommand)]
    Workers(WorkersCommand),
    /// Copy the service's data folder while it runs, or check such a copy
    Backup(BackupArgs),
    /// Restore a data folder from a backup
    Restore(RestoreArgs),
    /// Migrate a data folder to PostgreSQL and S3
    Migrate(Box<MigrateArgs>),
    /// Create, list and revoke a service's API keys
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Open, close and list the arena's seasons
    #[command(subcommand)]
    Season(SeasonCommand),
    /// Show a report, or convert it to HTML, Markdown, JUnit or SARIF
    Report(ReportArgs),
    /// Verify signed statements; list or rotate the signing keys
    #[command(subcommand)]
    Attest(AttestCommand),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    /// Help headings, and the prefixes of their options' names.
    const GROUPS: [(&str, &[&str]); 4] = [
        ("Options for a checkpoint", &["adapter", "map"]),
        ("Options for a policy server", &["policy_", "replan_steps"]),
        ("Options for machines without user namespaces", &["accept_", "run_untrusted_"]),
        ("Options for a second judge", &["judge_"]),
    ];

    /// clap puts an option without a heading under the heading of the group before it.
    fn check(command: &Command) {
        for option in command.get_arguments() {
            let (id, heading) = (option.get_id().as_str(), option.get_help_heading());
            let belongs = GROUPS.iter().find(|(name, _)| heading == Some(*name)).is_none_or(|(_, begin)| {
                // `--policy-key` is the key of a policy's seeds, unrelated to policy servers.
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
