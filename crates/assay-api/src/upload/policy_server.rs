//! The parts of a form that describe a policy server.

use assay_model::{MAX_CONCURRENCY, MAX_REPLAN_STEPS, Secret};
use assay_store::{PolicyServerAccess, PolicyServerCredentials};

use super::form::UploadForm;
use super::stored_policy::intake_error;
use super::text_parts::{MAX_NAME_CHARS, parse_count, parse_part};
use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// A request to evaluate a policy server.
#[derive(Debug)]
pub(crate) struct PolicyServerRequest {
    /// The way to the server, with its secrets.
    pub(crate) access: PolicyServerAccess,
    /// The URL without secrets; a general name for a policy that connects.
    pub(crate) name: String,
    pub(crate) replan_steps: Option<u32>,
}

/// Name of a policy that connects, if the request has none.
const CONNECTED_NAME: &str = "connected policy";
/// The message where nothing could run the job.
const NO_LANES: &str = "a policy that connects is evaluated by a server itself, and no server of this service has \
                        lanes: start a policy server and send its address in policy_url";

/// Returns the server, if one is to be evaluated, and warnings about parts that are ignored.
pub(super) fn read(app: &App, form: &UploadForm) -> Result<(Option<PolicyServerRequest>, Vec<String>), ApiError> {
    // Validated even without a server: an invalid value is always an error.
    let concurrency = parse_count(form, "policy_concurrency", MAX_CONCURRENCY)?;
    let replan_steps = parse_count(form, "replan_steps", MAX_REPLAN_STEPS)?;
    let connects = parse_part(form, "connect", "must be true or false", |text| text.parse::<bool>().ok())?;
    if form.policy.is_some() {
        let parts = ["policy_url", "connect", "policy_api_key", "policy_concurrency", "replan_steps"];
        return Ok((None, ignored(form, &parts, "the archive in policy is evaluated")));
    }
    let url = form.texts.get("policy_url");
    if connects == Some(true) && url.is_none() {
        if app.server_lanes() == 0 {
            return Err(ApiError::new(ErrorCode::Unavailable, NO_LANES));
        }
        let request =
            PolicyServerRequest { access: PolicyServerAccess::Connects, name: CONNECTED_NAME.to_owned(), replan_steps };
        let warnings = ignored(form, &["policy_api_key", "policy_concurrency"], "the policy connects itself");
        return Ok((Some(request), warnings));
    }
    let Some(url) = url else {
        let message = "policy is missing: send a zip archive with policy.py in it, the address of a policy server in \
                       policy_url, or connect=true for a policy that connects itself";
        return Err(ApiError::invalid("policy", None, message));
    };
    // The error does not repeat the URL, which may contain a password.
    let checked = app.intake.check_server(url).map_err(|failure| intake_error(app, failure))?;
    let name = assay_model::sanitise(&checked.name, MAX_NAME_CHARS);
    let credentials = PolicyServerCredentials {
        url: Secret::new(url),
        api_key: api_key(form)?,
        concurrency: concurrency.unwrap_or(1),
    };
    let access = PolicyServerAccess::Call(credentials);
    let warnings = ignored(form, &["connect"], "the policy server at policy_url is evaluated");
    Ok((Some(PolicyServerRequest { access, name, replan_steps }), warnings))
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

/// Returns a warning for each of these parts that was sent, and is ignored for this reason.
fn ignored(form: &UploadForm, parts: &[&str], why: &str) -> Vec<String> {
    let sent = |name: &&&str| form.texts.contains_key(**name) || **name == "policy_api_key" && form.api_key.is_some();
    parts.iter().filter(sent).map(|name| format!("{name} was ignored: {why}")).collect()
}
