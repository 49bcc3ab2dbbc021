//! The policy that a command evaluates: uploaded files, or a policy server.

use std::path::Path;

use anyhow::{Context, anyhow};
use assay_model::{PolicyIdentity, Sha256Digest, sanitise};
use assay_policy::remote::{PolicyServer, ServerEndpoint};
use assay_policy::{IntakeError, IntakeLimits, intake};
use assay_scenario::Scenario;
use assay_worker::PolicySource;

use crate::exit::{Failure, OrFail};
use crate::options::PolicyServerArgs;
use crate::secret::secret;

/// Longest name of a policy, in bytes.
const NAME_BYTES: usize = 100;

/// A policy that was found, and what is known of it.
#[derive(Debug)]
pub(crate) struct ResolvedPolicy {
    pub(crate) source: PolicySource,
    pub(crate) name: String,
    /// Of the archive; a server can't be hashed.
    pub(crate) sha256: Option<Sha256Digest>,
    pub(crate) identity: PolicyIdentity,
    /// Actions of a server's answer that are carried out before it is asked again.
    pub(crate) replan_steps: Option<u32>,
}

/// Takes in what `given` names: a policy's files, unpacked into `folder`, or the address of a server that is asked as
/// `options` say, or else `scenario`.
pub(crate) fn find(
    given: &Path,
    options: &PolicyServerArgs,
    scenario: &Scenario,
    folder: &Path,
) -> Result<ResolvedPolicy, Failure> {
    match given.to_str().filter(|text| ServerEndpoint::has_scheme(text)) {
        Some(address) => server(address, options, scenario),
        None => files(given, scenario, folder),
    }
}

fn files(given: &Path, scenario: &Scenario, folder: &Path) -> Result<ResolvedPolicy, Failure> {
    let usual = IntakeLimits::default();
    let own = scenario.budget.archive_mib.map(|mib| u64::from(mib) << 20);
    let limits = IntakeLimits { archive_bytes: own.unwrap_or(usual.archive_bytes), ..usual };
    let policy = intake(given, folder, &limits).map_err(|error| {
        let ours = error.is_ours();
        let whose = match (&error, scenario.budget.archive_mib) {
            (IntakeError::TooLarge { .. }, Some(mib)) => format!(" (budget.archive_mib = {mib} of {})", scenario.id),
            _ => String::new(),
        };
        let error = anyhow!(error).context(format!("the policy {}{whose}", given.display()));
        if ours { Failure::Ours(error) } else { Failure::Usage(error) }
    })?;
    let name = given.file_name().map_or_else(|| "policy".into(), |name| name.to_string_lossy());
    Ok(ResolvedPolicy {
        source: PolicySource::Folder(folder.to_owned()),
        name: sanitise(&name, NAME_BYTES),
        sha256: Some(policy.sha256),
        identity: PolicyIdentity::Measured,
        replan_steps: None,
    })
}

fn server(address: &str, options: &PolicyServerArgs, scenario: &Scenario) -> Result<ResolvedPolicy, Failure> {
    // The address is not repeated: it may hold a password.
    let endpoint = ServerEndpoint::parse(address).context("the policy server's address").usage()?;
    let name = sanitise(&endpoint.to_string(), NAME_BYTES);
    let (text, file) = (options.policy_api_key.as_deref(), options.policy_api_key_file.as_deref());
    let api_key = secret("--policy-api-key-file", text, file).usage()?;
    let replan_steps = options.replan_steps.or(scenario.control.replan_steps);
    let server = PolicyServer { endpoint, api_key, replan_steps };
    Ok(ResolvedPolicy {
        source: PolicySource::Server { server, concurrency: options.policy_concurrency },
        name,
        sha256: None,
        identity: PolicyIdentity::Declared,
        replan_steps,
    })
}
