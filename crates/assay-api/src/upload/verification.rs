//! The request of `POST /verify`, parsed from a form.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use assay_model::{Plan, PolicyKey, Record, ScenarioCard, job_seeds};

use super::form::UploadForm;
use super::labels;
use super::policy_server::{self, PolicyServerRequest};
use super::text_parts::{MAX_NAME_CHARS, parse_count, parse_part, parse_probability};
use crate::http::{ApiError, OverLimit};
use crate::quota;
use crate::scenario_lookup::{suggestion, with_drawn_ranges};
use crate::state::App;

const DEFAULT_NAME: &str = "policy";

/// A validated request to verify a policy.
#[derive(Debug)]
pub(crate) struct VerifyRequest {
    pub(crate) scenario: Arc<ScenarioCard>,
    pub(crate) plan: Plan,
    pub(crate) seed: u64,
    pub(crate) policy_key: PolicyKey,
    pub(crate) record: Record,
    pub(crate) policy_name: String,
    /// The policy server, if no archive is evaluated.
    pub(crate) server: Option<PolicyServerRequest>,
    /// Taken from the request, or else from the scenario; only for a server.
    pub(crate) replan_steps: Option<u32>,
    /// Labels that its workers must have.
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) warnings: Vec<String>,
}

impl VerifyRequest {
    pub(crate) async fn read(app: &App, form: &UploadForm) -> Result<Self, ApiError> {
        let scenario = with_drawn_ranges(app, scenario(app, form, "scenario").await?).await;
        let (server, mut warnings) = policy_server::read(app, form)?;
        within_archive_budget(form, &scenario)?;
        let plan = plan(app, form, &scenario)?;
        if server.is_none()
            && let Some(message) = quota::over_cpu_budget(app, &scenario, plan.episodes).await?
        {
            return Err(ApiError::invalid("num_episodes", Some(&plan.episodes.to_string()), message));
        }
        warnings.extend(plan.shortfall());
        let seed = parse_part(form, "seed", "must be a whole number from 0 to 18446744073709551615", |text| {
            text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
        })?;
        let key = parse_part(form, "policy_key", "must be 64 hexadecimal digits", |text| text.parse().ok())?;
        let record = parse_part(form, "record", "must be all, violations or none", |text| text.parse().ok())?;
        let (seed, policy_key) = seeds(app, seed, key).await?;
        Ok(Self {
            plan,
            seed,
            policy_key,
            record: record.unwrap_or_default(),
            policy_name: policy_name(form, "policy_name", server.as_ref())?,
            replan_steps: server.as_ref().and_then(|server| server.replan_steps.or(scenario.replan_steps)),
            labels: labels::read(form)?,
            server,
            scenario,
            warnings,
        })
    }
}

/// Derives the seed and the policy key if they are not given. Deriving a key from a seed takes about 30 ms of CPU time.
async fn seeds(app: &App, seed: Option<u64>, key: Option<PolicyKey>) -> Result<(u64, PolicyKey), ApiError> {
    if seed.is_none() || key.is_some() {
        return Ok(job_seeds(seed, key, &*app.entropy));
    }
    let entropy = Arc::clone(&app.entropy);
    let derived = tokio::task::spawn_blocking(move || job_seeds(seed, key, &*entropy)).await;
    derived.map_err(|e| ApiError::internal("deriving the policy key panicked", &e))
}

/// Returns the scenario that `scenario` or `scenario_id` names; `name` is the part reported as missing if both are
/// absent.
pub(super) async fn scenario(app: &App, form: &UploadForm, name: &str) -> Result<Arc<ScenarioCard>, ApiError> {
    let (field, text) = match (form.texts.get("scenario"), form.texts.get("scenario_id")) {
        (Some(_), Some(other)) => {
            let message = "scenario and scenario_id are two names of the same part: send one of them";
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
        format!("there is no such scenario{meant}; GET /scenarios and GET /community/scenarios list the existing ones");
    Err(ApiError::invalid(field, Some(text), message))
}

/// Checks the scenario's limit on the size of archives, which may be below that of the service. The parts come in any
/// order, so the archive may be received before its scenario is known.
pub(crate) fn within_archive_budget(form: &UploadForm, scenario: &ScenarioCard) -> Result<(), ApiError> {
    let (Some(upload), Some(mib)) = (&form.policy, scenario.archive_mib) else { return Ok(()) };
    if upload.size_bytes <= u64::from(mib) << 20 {
        return Ok(());
    }
    let has = upload.size_bytes.div_ceil(1 << 20);
    let over = OverLimit::when("archive_mib", mib.into(), has, "never: the scenario sets it; send a smaller archive");
    let message = format!(
        "the policy archive has {has} MiB, but {} allows at most {mib}; remove files that the policy does not need",
        scenario.id
    );
    Err(ApiError::too_large(&over, message))
}

/// Returns the plan, which is fixed before the first episode: the number of episodes that the certification needs,
/// unless the request names another number.
fn plan(app: &App, form: &UploadForm, scenario: &ScenarioCard) -> Result<Plan, ApiError> {
    let target = parse_probability(form, "max_violation_probability")?;
    let confidence_level = parse_probability(form, "confidence_level")?.unwrap_or(Plan::DEFAULT_CONFIDENCE_LEVEL);
    let max = app.settings.job.max_episodes;
    let given = parse_count(form, "num_episodes", max)?;
    let wanted = Plan::default_episodes(target, confidence_level, Plan::DEFAULT_EPISODES.min(max));
    let episodes = given.unwrap_or(wanted);
    if episodes > max {
        let message = format!("{wanted} clean episodes would be needed to certify this, but at most {max} can be run");
        let value = target.map(|target| target.to_string());
        return Err(ApiError::invalid("max_violation_probability", value.as_deref(), message));
    }
    let max_violation_probability = scenario.max_violation_probability;
    let draws_worlds = scenario.draws_worlds();
    let plan = Plan { episodes, target, confidence_level, max_violation_probability, draws_worlds };
    match plan.refusal() {
        Some(message) => {
            Err(ApiError::invalid("max_violation_probability", form.text("max_violation_probability"), message))
        }
        None => Ok(plan),
    }
}

/// Returns the text of `part`, or else the URL of the policy server without secrets, or else the archive's file name.
pub(super) fn policy_name(
    form: &UploadForm,
    part: &'static str,
    server: Option<&PolicyServerRequest>,
) -> Result<String, ApiError> {
    if let Some(text) = form.texts.get(part) {
        let clean = assay_model::sanitise(text, usize::MAX).replace(['\n', '\t'], " ");
        let clean = clean.trim();
        if clean.is_empty() || clean.chars().count() > MAX_NAME_CHARS {
            let message = format!("{part} must have 1 to {MAX_NAME_CHARS} characters, at least one of them visible");
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
