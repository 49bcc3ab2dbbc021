//! The parts of a form that describe a policy server.

use assay_model::{MAX_CONCURRENCY, MAX_REPLAN_STEPS, Secret};
use assay_store::PolicyServerCredentials;

use super::form::UploadForm;
use super::stored_policy::intake_error;
use super::text_parts::{MAX_NAME_CHARS, parse_count};
use crate::http::ApiError;
use crate::state::App;

/// A request to evaluate a policy server.
#[derive(Debug)]
pub(crate) struct PolicyServerRequest {
    /// The full URL, which may contain a token.
    pub(crate) url: Secret,
    /// The URL without secrets.
    pub(crate) name: String,
    pub(crate) api_key: Option<Secret>,
    pub(crate) concurrency: u32,
    pub(crate) replan_steps: Option<u32>,
}

impl PolicyServerRequest {
    /// Returns the credentials that calls to the server need.
    pub(crate) fn credentials(self) -> PolicyServerCredentials {
        PolicyServerCredentials { url: self.url, api_key: self.api_key, concurrency: self.concurrency }
    }
}

/// Returns the server, if one is to be evaluated, and warnings about parts that are ignored because none is.
pub(super) fn read(app: &App, form: &UploadForm) -> Result<(Option<PolicyServerRequest>, Vec<String>), ApiError> {
    // Validated even without a server: an invalid number is always an error.
    let concurrency = parse_count(form, "policy_concurrency", MAX_CONCURRENCY)?;
    let replan_steps = parse_count(form, "replan_steps", MAX_REPLAN_STEPS)?;
    let url = form.texts.get("policy_url");
    if form.policy.is_some() {
        return Ok((None, ignored(form)));
    }
    let Some(url) = url else {
        let message = "policy is missing: send a zip archive with policy.py in it, or the address of a policy server in \
                       policy_url";
        return Err(ApiError::invalid("policy", None, message));
    };
    // The error does not repeat the URL, which may contain a password.
    let checked = app.intake.check_server(url).map_err(|failure| intake_error(app, failure))?;
    let name = assay_model::sanitise(&checked.name, MAX_NAME_CHARS);
    let request = PolicyServerRequest {
        url: Secret::new(url),
        name,
        api_key: api_key(form)?,
        concurrency: concurrency.unwrap_or(1),
        replan_steps,
    };
    Ok((Some(request), Vec::new()))
}

/// Returns the API key of the server. It is sent in an HTTP header, where only printable ASCII is safe.
fn api_key(form: &UploadForm) -> Result<Option<Secret>, ApiError> {
    let Some(key) = &form.api_key else { return Ok(None) };
    let text = key.reveal().trim();
    if text.is_empty() || !text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
        let message = "policy_api_key must have at least one character, and only printable ASCII";
        return Err(ApiError::invalid("policy_api_key", None, message));
    }
    Ok(Some(Secret::new(text)))
}

/// Returns a warning for each part about a server that is ignored because an archive is evaluated.
fn ignored(form: &UploadForm) -> Vec<String> {
    let sent = |name: &&str| form.texts.contains_key(name) || *name == "policy_api_key" && form.api_key.is_some();
    ["policy_url", "policy_api_key", "policy_concurrency", "replan_steps"]
        .iter()
        .filter(|name| sent(name))
        .map(|name| format!("{name} was ignored: the archive in policy is evaluated"))
        .collect()
}
