//! The command at the end of a report, which repeats the verification from any folder.

use std::path::{Path, absolute};

use assay_policy::remote::ServerEndpoint;
use assay_report::RunAgain;
use assay_scenario::Scenario;
use assay_worker::Installation;

use super::arguments::VerifyArgs;

/// Returns the command that repeats a verification with these arguments on `scenario`.
pub(super) fn command(arguments: &VerifyArgs, installation: &Installation, scenario: &Scenario) -> RunAgain {
    let (policy, named) = (arguments.policy.as_path(), arguments.scenario.as_str());
    let whole =
        |path: &Path| absolute(path).map_or_else(|_| path.display().to_string(), |path| path.display().to_string());
    let is_server = policy.to_str().is_some_and(ServerEndpoint::has_scheme);
    let by_id = named == scenario.id.as_str() && scenario.folder.starts_with(installation.scenarios());
    let mut program = Vec::new();
    if !installation.is_found_from_anywhere() {
        program.extend(["env".to_owned(), format!("ASSAY_HOME={}", whole(&installation.home))]);
    }
    program.push(program_name());
    let mut options = Vec::new();
    if let Some(map) = arguments.adapter.map() {
        options.extend(["--adapter".to_owned(), "lerobot".to_owned(), "--map".to_owned(), whole(map)]);
    }
    if let Some(seconds) = arguments.wall_budget {
        options.extend(["--wall-budget".to_owned(), seconds.to_string()]);
    }
    RunAgain {
        program,
        // The report itself has the part of a server's address that may be shown.
        policy: (!is_server).then(|| whole(policy)),
        scenario: if by_id { named.to_owned() } else { whole(Path::new(named)) },
        options,
    }
}

/// Returns `assay` if that name finds this program in `PATH`, or the script of the Python package that started it; else
/// the path of the one or the other.
fn program_name() -> String {
    const NAME: &str = "assay";
    const LAUNCHER: &str = "ASSAY_LAUNCHER";
    let program = std::env::var_os(LAUNCHER).map_or_else(std::env::current_exe, |launcher| Ok(launcher.into()));
    let Ok(program) = program.and_then(|path| path.canonicalize()) else { return NAME.to_owned() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path).map(|folder| folder.join(NAME)).find(|path| path.is_file());
    match first.and_then(|first| first.canonicalize().ok()) {
        Some(found) if found == program => NAME.to_owned(),
        _ => program.display().to_string(),
    }
}
