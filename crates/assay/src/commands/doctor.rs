//! `assay doctor`: checks that this machine meets the requirements, and suggests fixes.

mod forking;
mod jail;

use std::path::Path;

use assay_jail::{HostCheck, probe};
use assay_model::{ErrorChain, Isolation, RuntimeName};
use assay_policy::RuntimeLibrary;
use assay_worker::{Engine, EngineOptions, Installation};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;

use self::jail::JailAttacks;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::own_runtimes;
use crate::screen;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  assay doctor
  assay doctor --jail
  assay doctor --jail --only network
  assay doctor --jail --runtime onnx
  assay doctor --jail --isolation landlock

Exit codes: 0 all requirements are met, 1 a requirement is not met, 2 wrong usage, 4 internal error.")]
pub(crate) struct DoctorArgs {
    /// Run every known attack in the jail, and inspect the jail from outside
    #[arg(long)]
    jail: bool,
    /// Only attacks of this kind, or only the inspection: `fences`
    #[arg(long, value_name = "KIND", requires = "jail")]
    only: Option<String>,
    /// The tier to attack: namespaces, landlock
    #[arg(long, value_name = "TIER", requires = "jail", default_value_t = Isolation::default(), value_parser = tier())]
    isolation: Isolation,
    /// The runtime whose policies attack
    #[arg(long, value_name = "NAME", requires = "jail", default_value_t = RuntimeName::base())]
    runtime: RuntimeName,
    /// Start each policy as an interpreter of its own, as is done where forking is not possible
    #[arg(long, requires = "jail")]
    no_fork: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Returns a parser of the tiers that can be attacked.
fn tier() -> impl TypedValueParser<Value = Isolation> {
    let tiers = [Isolation::Namespaces, Isolation::Landlock];
    PossibleValuesParser::new(tiers.map(Isolation::name)).try_map(|name| name.parse::<Isolation>())
}

pub(crate) fn run(arguments: &DoctorArgs) -> Result<ExitStatus, Failure> {
    if arguments.jail {
        let wanted = JailAttacks {
            only: arguments.only.as_deref(),
            isolation: arguments.isolation,
            runtime: &arguments.runtime,
            forks: !arguments.no_fork,
        };
        return jail::run(&wanted, arguments.json);
    }
    let mut checks = probe();
    checks.extend(installation_checks());
    let holds = checks.iter().all(|check| check.holds || !check.required);
    if arguments.json {
        let rows: Vec<_> = checks.iter().map(row).collect();
        super::stdout::print(&serde_json::to_string_pretty(&json!({ "holds": holds, "checks": rows })).or_internal()?);
    } else {
        super::stdout::print(&table(&checks, holds));
    }
    Ok(if holds { ExitStatus::Success } else { ExitStatus::Unsafe })
}

fn table(checks: &[HostCheck], holds: bool) -> String {
    let fact = |check: &HostCheck| {
        let mark = match (check.holds, check.required) {
            (true, _) => "ok  ",
            (false, true) => "FAIL",
            (false, false) => "--  ",
        };
        let remedy = if check.remedy.is_empty() { String::new() } else { format!("\n-> {}", check.remedy) };
        (format!("{mark}  {}", check.name), format!("{}{remedy}", check.detail))
    };
    let facts: Vec<_> = checks.iter().map(fact).collect();
    let mut text = screen::layout().facts(&facts, 0);
    text.push_str(if holds { "\nAll requirements are met.\n" } else { "\nA requirement is not met.\n" });
    text
}

fn row(check: &HostCheck) -> serde_json::Value {
    json!({
        "name": check.name, "holds": check.holds, "required": check.required,
        "detail": check.detail, "remedy": check.remedy,
    })
}

/// Checks everything apart from the jail: programs, libraries, scenarios, and rendering.
fn installation_checks() -> Vec<HostCheck> {
    let installation = match Installation::find(std::env::var_os("ASSAY_HOME").map(Into::into)) {
        Ok(installation) => Installation { added_runtimes: own_runtimes().into_iter().collect(), ..installation },
        Err(error) => return vec![failed("installation", &error, "run make build, or set ASSAY_HOME")],
    };
    let mut checks = vec![passed("installation", installation.home.display().to_string())];
    checks.push(runtimes(&installation.runtimes()));
    checks.push(memory(&installation.shipped_runtimes().join(RuntimeName::base().as_str())));
    checks.push(forking::check(&installation.runtimes()));
    match Engine::start(&installation, EngineOptions::new(1)) {
        Ok(engine) => {
            let fingerprint = engine.fingerprint();
            let hash = fingerprint.libmujoco_sha256;
            checks.push(passed("MuJoCo", format!("{} (sha256 {hash:.16}...)", fingerprint.mujoco)));
            checks.push(passed("scenarios", format!("{} built in", engine.library().scenarios().len())));
            checks.push(match assay_worker::check_rendering(&engine) {
                Ok(()) => passed(
                    "rendering",
                    "a frame was rendered with EGL in the jails for videos and for cameras".to_owned(),
                ),
                Err(error) => HostCheck {
                    required: false,
                    ..failed(
                        "rendering",
                        &*error,
                        "without it there are no videos: apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri",
                    )
                },
            });
        }
        Err(error) => checks.push(failed("engine", &error, "run make setup and make build")),
    }
    checks
}

fn runtimes(library: &RuntimeLibrary) -> HostCheck {
    let base = library.base().and_then(|base| library.open(base));
    let names = library.list().into_iter().filter(|runtime| runtime.current).map(|runtime| runtime.manifest.name);
    match base {
        Ok(base) => {
            let (python, numpy) = (&base.manifest.python, base.manifest.numpy());
            let names: Vec<String> = names.map(String::from).collect();
            passed("Python runtimes", format!("{}; base has Python {python}, numpy {numpy}", names.join(", ")))
        }
        Err(error) => failed("Python runtimes", &error, "run make setup"),
    }
}

/// Checks that policies can read their runtime from memory, where reading leaves no trace that others can observe.
fn memory(root: &Path) -> HostCheck {
    match assay_jail::stage_in_memory(root) {
        Ok(staged) => passed("runtime in memory", staged.path.display().to_string()),
        Err(error) => HostCheck {
            required: false,
            ..failed(
                "runtime in memory",
                &error,
                "without it, two policies can exchange bits through the names that they look up; start a container with \
                 --shm-size=1g",
            )
        },
    }
}

fn passed(name: &'static str, detail: String) -> HostCheck {
    HostCheck { name, holds: true, required: true, detail, remedy: String::new() }
}

fn failed(name: &'static str, error: &dyn std::error::Error, remedy: &str) -> HostCheck {
    let detail = ErrorChain(error).to_string();
    HostCheck { name, holds: false, required: true, detail, remedy: remedy.to_owned() }
}
