//! The command at the end of a report, which repeats the verification from any folder.

use std::path::{Path, absolute};

use assay_policy::remote::ServerEndpoint;
use assay_report::RunAgain;
use assay_scenario::Scenario;
use assay_worker::Installation;

use super::arguments::VerifyArgs;
use crate::program_name::program_name;

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
    let mut options = arguments.adapter.words(&whole);
    options.extend(arguments.models.words(&whole));
    options.extend(arguments.policy_server.words(&whole));
    options.extend(arguments.isolation.words());
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
