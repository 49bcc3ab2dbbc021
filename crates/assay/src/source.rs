//! The policy that a command evaluates: local files, or a policy server.

use std::path::Path;

use anyhow::{Context, anyhow};
use assay_model::{DeclaredModel, PolicyIdentity, RuntimeVersion, Sha256Digest, sanitise};
use assay_policy::remote::{PolicyServer, ServerEndpoint};
use assay_policy::{AdapterKind, IntakeError, IntakeLimits, PolicyDeclaration, intake, left_out_warning};
use assay_scenario::Scenario;
use assay_worker::{Engine, PolicyFolder, PolicySource, adapter_mismatch};

use crate::checkpoint_folder;
use crate::exit::{Failure, OrFail};
use crate::options::{AdapterArgs, ModelArgs, PolicyServerArgs};
use crate::secret::secret;

/// Maximum length of a policy's name, in bytes.
const NAME_BYTES: usize = 100;

/// A policy and its identity.
#[derive(Debug)]
pub(crate) struct ResolvedPolicy {
    pub(crate) source: PolicySource,
    pub(crate) name: String,
    /// The digest of a policy's files; `None` for a policy server.
    pub(crate) sha256: Option<Sha256Digest>,
    pub(crate) identity: PolicyIdentity,
    /// The runtime that was chosen for it; `None` for a policy server.
    pub(crate) runtime: Option<RuntimeVersion>,
    /// The models that it declares and that are not in its folder.
    pub(crate) models: Vec<DeclaredModel>,
    /// Warnings about its files.
    pub(crate) warnings: Vec<String>,
    /// Number of a server's actions that are executed before it is called again.
    pub(crate) replan_steps: Option<u32>,
}

/// The options that say how a policy is found and called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PolicyArgs<'a> {
    pub(crate) server: &'a PolicyServerArgs,
    pub(crate) models: &'a ModelArgs,
    pub(crate) adapter: &'a AdapterArgs,
}

/// Resolves `given`: a policy's files, which are unpacked into `folder`, a checkpoint, which `options.adapter`
/// describes, or the address of a policy server, which is called as `options.server` or else `scenario` specify. Models
/// that are not among the files are found by `options.models`.
pub(crate) fn find(
    given: &Path,
    options: PolicyArgs<'_>,
    (engine, scenario): (&Engine, &Scenario),
    folder: &Path,
) -> Result<ResolvedPolicy, Failure> {
    match (given.to_str().filter(|text| ServerEndpoint::has_scheme(text)), options.adapter.map()) {
        (Some(_), Some(_)) => {
            Err(Failure::Usage(anyhow!("--adapter takes the folder of a checkpoint, not an address")))
        }
        (Some(address), None) => server(address, options.server, scenario.control.replan_steps),
        (None, None) => files((given, given), options.models, (engine, scenario), folder),
        (None, Some(map)) => {
            let whole = folder.with_extension("checkpoint");
            checkpoint_folder::create(given, map, &whole).or_usage()?;
            files((given, &whole), options.models, (engine, scenario), folder)
        }
    }
}

/// Takes in the policy at `whole`, which was given as `given`.
fn files(
    (given, whole): (&Path, &Path),
    models: &ModelArgs,
    (engine, scenario): (&Engine, &Scenario),
    folder: &Path,
) -> Result<ResolvedPolicy, Failure> {
    let default = IntakeLimits::default();
    let scenario_limit = scenario.budget.archive_mib.map(|mib| u64::from(mib) << 20);
    let limits = IntakeLimits { archive_bytes: scenario_limit.unwrap_or(default.archive_bytes), ..default };
    let policy = intake(whole, folder, &limits).map_err(|error| {
        let is_internal = error.is_internal();
        let limit_source = match (&error, scenario.budget.archive_mib) {
            (IntakeError::TooLarge { .. }, Some(mib)) => format!(" (budget.archive_mib = {mib} of {})", scenario.id),
            _ => String::new(),
        };
        let error = anyhow!(error).context(format!("the policy {}{limit_source}", given.display()));
        if is_internal { Failure::Internal(error) } else { Failure::Usage(error) }
    })?;
    // Models that are in the folder were compared with their declaration.
    let home = models.home(&policy.models, &folder.with_file_name("models"))?;
    check_mapping(&policy.declaration, scenario)
        .with_context(|| format!("the policy {}", given.display()))
        .or_usage()?;
    let runtime = engine.runtime_for(&policy.declaration);
    let runtime = runtime.with_context(|| format!("the policy {}", given.display())).or_usage()?;
    let name = given.file_name().map_or_else(|| "policy".into(), |name| name.to_string_lossy());
    Ok(ResolvedPolicy {
        source: PolicySource::Folder(PolicyFolder { path: folder.to_owned(), runtime: Some(runtime.clone()), home }),
        runtime: Some(runtime),
        name: sanitise(&name, NAME_BYTES),
        sha256: Some(policy.sha256),
        identity: PolicyIdentity::Measured,
        models: policy.models,
        warnings: left_out_warning(&policy.left_out).into_iter().collect(),
        replan_steps: None,
    })
}

/// Compares a checkpoint with the scenario before its runtime is looked for, which starts in seconds and may not exist
/// here. Other policies that do not fit a scenario have a result that says so.
fn check_mapping(declaration: &PolicyDeclaration, scenario: &Scenario) -> anyhow::Result<()> {
    let adapter = declaration.adapter.as_ref().filter(|adapter| matches!(adapter.kind, AdapterKind::Lerobot { .. }));
    match adapter.and_then(|adapter| adapter_mismatch(adapter, scenario)) {
        Some(failure) => Err(anyhow!(failure.message)),
        None => Ok(()),
    }
}

/// Returns the policy server at `address`, called as `options` or else `replan_steps` specify.
pub(crate) fn server(
    address: &str,
    options: &PolicyServerArgs,
    replan_steps: Option<u32>,
) -> Result<ResolvedPolicy, Failure> {
    // The address is not repeated: it may contain a password.
    let endpoint = ServerEndpoint::parse(address).context("the policy server's address").or_usage()?;
    let name = sanitise(&endpoint.to_string(), NAME_BYTES);
    let (text, file) = (options.policy_api_key.as_deref(), options.policy_api_key_file.as_deref());
    let api_key = secret("--policy-api-key-file", text, file).or_usage()?;
    let replan_steps = options.replan_steps.or(replan_steps);
    let server = PolicyServer { endpoint, api_key, replan_steps };
    Ok(ResolvedPolicy {
        source: PolicySource::Server { server, concurrency: options.policy_concurrency },
        name,
        sha256: None,
        identity: PolicyIdentity::Declared,
        models: Vec::new(),
        warnings: Vec::new(),
        runtime: None,
        replan_steps,
    })
}
