//! What a command is to evaluate: files that are taken in, or a policy server.

use std::path::Path;

use anyhow::{Context, anyhow};
use assay_model::{PolicyIdentity, Secret, sanitise};
use assay_policy::remote::{Endpoint, PolicyServer};
use assay_policy::{IntakeLimits, intake};
use assay_worker::PolicySource;

use crate::cli::ServerOptions;
use crate::exit::{Failure, OrFail};

/// Longest name of a policy, in bytes.
const NAME_BYTES: usize = 100;
/// Longest file with a key, in bytes.
const MAX_KEY_BYTES: u64 = 4096;

/// A policy that was found, and what is known of it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) source: PolicySource,
    pub(crate) name: String,
    /// Of the archive; a server can't be hashed.
    pub(crate) sha256: Option<String>,
    pub(crate) identity: PolicyIdentity,
}

/// Takes in what `given` names: a policy's files, unpacked into `folder`, or a server's address.
pub(crate) fn find(given: &Path, options: &ServerOptions, folder: &Path) -> Result<Found, Failure> {
    match given.to_str().filter(|text| Endpoint::is_meant(text)) {
        Some(address) => server(address, options),
        None => files(given, folder),
    }
}

fn files(given: &Path, folder: &Path) -> Result<Found, Failure> {
    let policy = intake(given, folder, &IntakeLimits::default()).map_err(|error| {
        let ours = error.is_ours();
        let error = anyhow!(error).context(format!("the policy {}", given.display()));
        if ours { Failure::Ours(error) } else { Failure::Usage(error) }
    })?;
    let name = given.file_stem().map_or_else(|| "policy".into(), |name| name.to_string_lossy());
    Ok(Found {
        source: PolicySource::Folder(folder.to_owned()),
        name: sanitise(&name, NAME_BYTES),
        sha256: Some(policy.sha256),
        identity: PolicyIdentity::Measured,
    })
}

fn server(address: &str, options: &ServerOptions) -> Result<Found, Failure> {
    // The address is not repeated: it may hold a password.
    let endpoint = Endpoint::parse(address).context("the policy server's address").usage()?;
    let name = sanitise(&endpoint.to_string(), NAME_BYTES);
    let (text, file) = (options.policy_api_key.as_deref(), options.policy_api_key_file.as_deref());
    let api_key = secret("--policy-api-key-file", text, file).usage()?;
    let server = PolicyServer { endpoint, api_key, replan_steps: options.replan_steps };
    Ok(Found {
        source: PolicySource::Server { server, concurrency: options.policy_concurrency },
        name,
        sha256: None,
        identity: PolicyIdentity::Declared,
    })
}

/// A secret given as `text`, or in `file`, which `option` names.
pub(crate) fn secret(option: &str, text: Option<&str>, file: Option<&Path>) -> anyhow::Result<Option<Secret>> {
    let Some(file) = file else { return Ok(text.map(Secret::new)) };
    let what = || format!("{option} {}", file.display());
    let size = std::fs::metadata(file).with_context(what)?.len();
    if size > MAX_KEY_BYTES {
        return Err(anyhow!("has {size} bytes; a key has at most {MAX_KEY_BYTES}").context(what()));
    }
    let text = std::fs::read_to_string(file).with_context(what)?;
    Ok(Some(Secret::new(text.trim())))
}
