//! `assay demo`: verifies an example policy, to see a verdict without writing anything.

use std::path::PathBuf;

use assay_jail::{HostCheck, Jail, probe};
use assay_model::Isolation;
use assay_worker::Installation;
use clap::{Args, Parser};

use super::{VerifyArgs, machine, verify};
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::printing::complain;

/// The folder of the example, below the home of the installation.
const EXAMPLE: &str = "examples/policies/tabletop_reach/reference";
const SCENARIO: &str = "tabletop_reach";
/// Each takes about two seconds on one core.
const EPISODES: u16 = 3;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  assay demo --out demo

Exit codes: as of `assay verify`; the verdict of the example is SAFE.")]
pub(crate) struct DemoArgs {
    /// Folder for the report, a log and a video
    #[arg(short, long, value_name = "DIR", default_value = "assay-demo")]
    out: PathBuf,
}

/// The arguments of `assay verify`, parsed as a shell would give them.
#[derive(Debug, Parser)]
struct VerifyLine {
    #[command(flatten)]
    verify: VerifyArgs,
}

pub(crate) fn run(arguments: &DemoArgs) -> Result<ExitStatus, Failure> {
    let installation = machine::installation()?;
    let (checks, mut options) = (probe(), Vec::new());
    for check in checks.iter().filter(|check| !check.holds && check.required) {
        complain!("{}", missing(check));
    }
    if checks.iter().any(|check| !check.holds && check.required) && Jail::of(Isolation::Landlock).is_ok() {
        complain!(
            "the example is run with the weaker isolation of Landlock, which is enough for a policy that you trust"
        );
        options = vec!["--accept-weaker-isolation", "landlock"];
    }
    let line = verify_line(arguments, &installation, &options)?;
    complain!("$ {}", line.join(" "));
    let parsed = VerifyLine::try_parse_from(&line).or_internal()?;
    let status = verify::run(&parsed.verify)?;
    complain!(
        "\nNext: open {}, or write a policy of your own:\n  assay init my_policy\n  assay verify my_policy --scenario {SCENARIO}",
        arguments.out.join("report.html").display()
    );
    Ok(status)
}

/// Returns the command that the demonstration runs.
fn verify_line(arguments: &DemoArgs, home: &Installation, options: &[&str]) -> Result<Vec<String>, Failure> {
    let text = |path: PathBuf| {
        path.into_os_string()
            .into_string()
            .map_err(|path| anyhow::anyhow!("{} is not UTF-8", path.display()))
            .or_usage()
    };
    let (policy, out) = (text(home.home.join(EXAMPLE))?, text(arguments.out.clone())?);
    let episodes = EPISODES.to_string();
    let fixed =
        ["assay verify", &policy, "--scenario", SCENARIO, "--seed", "0", "--episodes", &episodes, "--out", &out];
    Ok(fixed.iter().chain(options).map(|part| (*part).to_owned()).collect())
}

/// Prints what a machine lacks, and how to add it.
fn missing(check: &HostCheck) -> String {
    let remedy = if check.remedy.is_empty() { String::new() } else { format!(" -> {}", check.remedy) };
    format!("missing: {}: {}{remedy}", check.name, check.detail)
}
