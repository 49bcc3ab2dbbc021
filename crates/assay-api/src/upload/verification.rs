//! From texts to a verification.

use std::path::Path;
use std::sync::Arc;

use assay_model::{Plan, PolicyKey, Record, ScenarioCard, job_seeds};

use super::form::UploadForm;
use super::policy_server::{self, PolicyServerRequest};
use crate::http::{ApiError, OverLimit};
use crate::quota;
use crate::scenario_lookup::suggestion;
use crate::state::App;

const DEFAULT_EPISODES: u32 = 3;
const DEFAULT_CONFIDENCE: f64 = 0.95;
const DEFAULT_NAME: &str = "policy";
/// Longest policy name, in characters.
pub(super) const MAX_NAME_CHARS: usize = 100;

/// What a client asks for, checked.
#[derive(Debug)]
pub(crate) struct VerifyRequest {
    pub(crate) scenario: Arc<ScenarioCard>,
    pub(crate) plan: Plan,
    pub(crate) seed: u64,
    pub(crate) policy_key: PolicyKey,
    pub(crate) record: Record,
    pub(crate) policy_name: String,
    /// The policy server, where no archive is evaluated.
    pub(crate) server: Option<PolicyServerRequest>,
    /// As asked for, or as the scenario has it; only for a server.
    pub(crate) replan_steps: Option<u32>,
    pub(crate) warnings: Vec<String>,
}

impl VerifyRequest {
    pub(crate) async fn read(app: &App, form: &UploadForm) -> Result<Self, ApiError> {
        let scenario = scenario(app, form, "scenario").await?;
        let (server, mut warnings) = policy_server::read(app, form)?;
        within_archive_budget(form, &scenario)?;
        let plan = plan(app, form, scenario.max_violation_probability)?;
        if server.is_none()
            && let Some(message) = quota::over_cpu_budget(app, &scenario, plan.episodes).await?
        {
            return Err(ApiError::invalid("num_episodes", Some(&plan.episodes.to_string()), message));
        }
        warnings.extend(plan.shortfall());
        let seed = parsed(form, "seed", "must be a whole number from 0 to 18446744073709551615", |text| {
            text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
        })?;
        let key = parsed(form, "policy_key", "must be 64 hexadecimal digits", |text| text.parse().ok())?;
        let record = parsed(form, "record", "must be all, violations or none", |text| text.parse().ok())?;
        let (seed, policy_key) = seeds(app, seed, key).await?;
        Ok(Self {
            plan,
            seed,
            policy_key,
            record: record.unwrap_or_default(),
            policy_name: policy_name(form, "policy_name", server.as_ref())?,
            replan_steps: server.as_ref().and_then(|server| server.replan_steps.or(scenario.replan_steps)),
            server,
            scenario,
            warnings,
        })
    }
}

/// Derives what was not given. A key that follows from a seed takes some 30 ms of a processor.
async fn seeds(app: &App, seed: Option<u64>, key: Option<PolicyKey>) -> Result<(u64, PolicyKey), ApiError> {
    if seed.is_none() || key.is_some() {
        return Ok(job_seeds(seed, key, &*app.entropy));
    }
    let entropy = Arc::clone(&app.entropy);
    let derived = tokio::task::spawn_blocking(move || job_seeds(seed, key, &*entropy)).await;
    derived.map_err(|e| ApiError::internal("the policy key", &e))
}

/// The scenario that `scenario` or `scenario_id` names; `name` is the part that is missed where there is neither.
pub(super) async fn scenario(app: &App, form: &UploadForm, name: &str) -> Result<Arc<ScenarioCard>, ApiError> {
    let (field, text) = match (form.texts.get("scenario"), form.texts.get("scenario_id")) {
        (Some(_), Some(other)) => {
            let message = "scenario and scenario_id are two names of one thing: send one of them";
            return Err(ApiError::invalid("scenario_id", Some(other), message));
        }
        (Some(text), None) => ("scenario", text),
        (None, Some(text)) => ("scenario_id", text),
        (None, None) => {
            return Err(ApiError::invalid(name, None, format!("{name} is missing: send a scenario's id")));
        }
    };
    let found = match text.parse() {
        Ok(id) => app.scenario(&id).await?,
        Err(_) => None,
    };
    if let Some(found) = found {
        return Ok(found);
    }
    let meant = suggestion(app, text).await?;
    let message =
        format!("there is no such scenario{meant}; GET /scenarios and GET /community/scenarios list those there are");
    Err(ApiError::invalid(field, Some(text), message))
}

/// A scenario may take smaller archives than the service does. The parts come in any order, so the archive is there before
/// its scenario is known.
pub(crate) fn within_archive_budget(form: &UploadForm, scenario: &ScenarioCard) -> Result<(), ApiError> {
    let (Some(upload), Some(mib)) = (&form.policy, scenario.archive_mib) else { return Ok(()) };
    if upload.size_bytes <= u64::from(mib) << 20 {
        return Ok(());
    }
    let has = upload.size_bytes.div_ceil(1 << 20);
    let over = OverLimit::when("archive_mib", mib.into(), has, "never: it is the scenario's; send a smaller archive");
    let message = format!(
        "the policy archive has {has} MiB, and {} takes at most {mib}; leave out what the policy does not need",
        scenario.id
    );
    Err(ApiError::too_large(&over, message))
}

/// Fixed before the first episode: what a certification needs, unless its author asks for another number.
fn plan(app: &App, form: &UploadForm, max_violation_probability: f64) -> Result<Plan, ApiError> {
    let target = share(form, "max_violation_probability")?;
    let confidence_level = share(form, "confidence_level")?.unwrap_or(DEFAULT_CONFIDENCE);
    let max = app.settings.job.max_episodes;
    let given = count(form, "num_episodes", max)?;
    let wanted = Plan::default_episodes(target, confidence_level, DEFAULT_EPISODES.min(max));
    let episodes = given.unwrap_or(wanted);
    if episodes > max {
        let message = format!("{wanted} clean episodes would be needed to certify this; at most {max} can be run");
        let value = target.map(|target| target.to_string());
        return Err(ApiError::invalid("max_violation_probability", value.as_deref(), message));
    }
    Ok(Plan { episodes, target, confidence_level, max_violation_probability })
}

/// A whole number from 1 to `max`.
pub(super) fn count(form: &UploadForm, field: &'static str, max: u32) -> Result<Option<u32>, ApiError> {
    parsed(form, field, &format!("must be a whole number from 1 to {max}"), |text| {
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten().filter(|n| (1..=max).contains(n))
    })
}

fn share(form: &UploadForm, field: &'static str) -> Result<Option<f64>, ApiError> {
    parsed(form, field, "must be a number between 0 and 1, both excluded", |text| {
        text.parse().ok().filter(|x| *x > 0.0 && *x < 1.0)
    })
}

/// What the part `part` says, or else the address of a server, or else the archive's file name.
pub(super) fn policy_name(
    form: &UploadForm,
    part: &'static str,
    server: Option<&PolicyServerRequest>,
) -> Result<String, ApiError> {
    if let Some(text) = form.texts.get(part) {
        let clean = assay_model::sanitise(text, usize::MAX).replace(['\n', '\t'], " ");
        let clean = clean.trim();
        if clean.is_empty() || clean.chars().count() > MAX_NAME_CHARS {
            let message = format!("{part} must have 1 to {MAX_NAME_CHARS} characters of text");
            return Err(ApiError::invalid(part, Some(text), message));
        }
        return Ok(clean.to_owned());
    }
    if let Some(server) = server {
        return Ok(server.name.clone());
    }
    let given = form.policy.as_ref().and_then(|upload| upload.name.as_deref());
    let name = given.and_then(|name| Path::new(name).file_name()).and_then(|name| name.to_str());
    let clean = assay_model::sanitise(name.unwrap_or_default(), MAX_NAME_CHARS).replace(['\n', '\t'], " ");
    Ok(if clean.trim().is_empty() { DEFAULT_NAME.to_owned() } else { clean.trim().to_owned() })
}

fn parsed<T>(
    form: &UploadForm,
    field: &'static str,
    rule: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, ApiError> {
    let Some(text) = form.texts.get(field) else { return Ok(None) };
    match parse(text) {
        Some(value) => Ok(Some(value)),
        None => Err(ApiError::invalid(field, Some(text), format!("{field} {rule}"))),
    }
}
