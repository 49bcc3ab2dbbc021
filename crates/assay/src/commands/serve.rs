//! `assay serve`: runs the HTTP service.

use std::net::SocketAddr;
use std::path::PathBuf;

use assay_policy::remote::AddressGuard;
use assay_worker::{VideoFormat, WallBudget};
use clap::{ArgMatches, Args, ValueEnum};

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::{IsolationArgs, JudgeArgs, mebibytes, network, server_lanes};
use crate::printing::complain;
use crate::service::EngineTrial;
use crate::settings::{Effective, LogFormat, LogLevel, Network, ServerSettings, SettingSources, Settings, example};
use crate::{screen, service};

#[derive(Debug, Args)]
#[command(
    after_help = "Every setting can be given in a file (assay.toml) and in an environment variable; `assay serve \
--example-settings` lists them. Flags override variables, and variables override the file.

The first start writes an admin key to DIR/bootstrap-key and prints its path. To choose the key, set \
ASSAY_BOOTSTRAP_KEY.

Examples:
  assay serve --listen 127.0.0.1:8080 --data ./data
  assay serve --config /etc/assay.toml --check
  assay serve --data ./data --set limits.rate.get_per_minute=600"
)]
pub(crate) struct ServeArgs {
    /// Settings file [default: assay.toml in the current folder, if it exists]
    #[arg(long, value_name = "FILE", env = "ASSAY_CONFIG")]
    config: Option<PathBuf>,
    /// Set any setting by its path: limits.rate.get_per_minute=600
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Check the settings, print the effective ones with their sources, and exit
    #[arg(long)]
    check: bool,
    /// With --check: also try the engines that the settings name, such as blobs.url
    #[arg(long, requires = "check")]
    connect: bool,
    /// With --check: print JSON
    #[arg(long, requires = "check")]
    json: bool,
    /// Print a commented settings file with all defaults, and exit
    #[arg(long, conflicts_with = "check")]
    example_settings: bool,
    // The following flags are read through `SettingSources`; each has the name of its setting.
    #[arg(long, help = format!("Address to listen on [default: {}]", ServerSettings::default().listen))]
    listen: Option<SocketAddr>,
    #[arg(long, value_name = "FORMAT",
          help = format!("Format of the log on standard error [default: {}]", name(ServerSettings::default().log_format)))]
    log_format: Option<LogFormat>,
    #[arg(long, value_name = "LEVEL",
          help = format!("Log level on standard error [default: {}]", name(ServerSettings::default().log_level)))]
    log_level: Option<LogLevel>,
    /// Folder for the database, policies and evidence
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// PostgreSQL database for the records, as postgres://USER@HOST/DATABASE [default: the data folder]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Bucket for evidence and policy archives, as s3://BUCKET/PREFIX [default: the data folder]
    #[arg(long, value_name = "URL")]
    blobs: Option<String>,
    /// Simulators that run at the same time; 0 leaves all episodes to workers [default: one per processor]
    #[arg(long, value_parser = server_lanes())]
    lanes: Option<u16>,
    /// Networks that clients' policy servers may be in, besides the public Internet: 10.0.0.0/8,192.168.1.7
    #[arg(long, value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    policy_networks: Vec<Network>,
    /// Maximum size of a job's evidence; each episode has an equal share, and omits images beyond it
    #[arg(long, value_name = "MIB", value_parser = mebibytes())]
    max_evidence_mib: Option<u64>,
    #[arg(long, value_name = "FORMAT",
          help = format!("Width, height and frames per simulated second of videos [default: {}]", VideoFormat::default()))]
    video: Option<VideoFormat>,
    #[command(flatten)]
    isolation: IsolationArgs,
    #[command(flatten)]
    judge: JudgeArgs,
}

/// Returns the name of a value on the command line.
fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

pub(crate) fn run(arguments: &ServeArgs, matches: &ArgMatches) -> Result<ExitStatus, Failure> {
    if arguments.example_settings {
        super::stdout::print(&example());
        return Ok(ExitStatus::Success);
    }
    let sources = SettingSources::gather(arguments.config.as_deref(), &arguments.set, matches).or_usage()?;
    let effective = Effective::load(&sources);
    if effective.is_err() && arguments.log_format == Some(LogFormat::Json) {
        crate::printing::log_json();
    }
    let effective = effective.or_usage()?;
    effective.settings.server.data().or_usage()?;
    let server = &effective.settings.server;
    crate::log::start(matches.get_count("verbose"), server.log_level, server.log_format);
    for warning in &effective.warnings {
        complain!("assay: warning: {warning}");
    }
    if arguments.check { check(arguments, &effective) } else { serve(&effective.settings) }
}

/// Prints the settings, and tries the engines if asked.
fn check(arguments: &ServeArgs, effective: &Effective) -> Result<ExitStatus, Failure> {
    let trials = match arguments.connect {
        true => runtime()?.block_on(service::try_engines(&effective.settings)),
        false => Vec::new(),
    };
    let text = if arguments.json {
        let mut json = effective.json();
        if arguments.connect {
            json["engines"] = trials.iter().map(EngineTrial::json).collect();
        }
        format!("{json:#}")
    } else {
        let lines = trials.iter().map(|trial| format!("\n{}", trial.line()));
        effective.table(screen::layout()) + &lines.collect::<String>()
    };
    super::stdout::print(&text);
    match trials.iter().all(EngineTrial::works) {
        true => Ok(ExitStatus::Success),
        false => Ok(ExitStatus::Unsafe),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().or_internal()
}

fn serve(settings: &Settings) -> Result<ExitStatus, Failure> {
    let installation = super::machine::installation_of(settings.server.data().or_usage()?)?;
    let judge = settings.judge.judge()?;
    let guard = AddressGuard::new(settings.server.policy_networks.iter().map(|network| network.0).collect());
    let engine =
        super::machine::service_engine(&installation, settings.server.lanes, settings.server.accepted_isolation())?;
    let limits = &settings.limits.job;
    let wall_budget =
        WallBudget { base: limits.wall_budget_s.get(), per_simulated_s: limits.wall_budget_per_simulated_s.into() };
    let engine = engine.guarded_by(guard).or_internal()?.with_wall_budget(wall_budget);
    let intervals = &settings.intervals;
    let engine = engine.with_connection_waits(intervals.policy_hello_s.get(), intervals.policy_return_s.get());
    let engine = engine.with_video_format(settings.server.video);
    runtime()?.block_on(service::run(settings, engine, judge)).or_internal()?;
    Ok(ExitStatus::Success)
}
