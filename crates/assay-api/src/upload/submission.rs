//! The request of `POST /submissions`, parsed from a form.

use std::sync::Arc;

use assay_model::ScenarioCard;

use super::form::UploadForm;
use super::verification::{policy_name, scenario};
use crate::http::ApiError;
use crate::state::App;

/// Maximum length of a description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 2000;

/// A validated submission.
#[derive(Debug)]
pub(crate) struct SubmissionRequest {
    pub(crate) scenario: Arc<ScenarioCard>,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

impl SubmissionRequest {
    pub(crate) async fn read(app: &App, form: &UploadForm) -> Result<Self, ApiError> {
        if form.policy.is_none() {
            let message = "policy is missing: send a zip archive with policy.py in it";
            return Err(ApiError::invalid("policy", None, message));
        }
        let scenario = scenario(app, form, "scenario_id").await?;
        Ok(Self { scenario, name: policy_name(form, "name", None)?, description: description(form)? })
    }
}

fn description(form: &UploadForm) -> Result<Option<String>, ApiError> {
    let Some(text) = form.texts.get("description") else { return Ok(None) };
    let clean = assay_model::sanitise(text.trim(), usize::MAX);
    if clean.chars().count() > MAX_DESCRIPTION_CHARS {
        let message = format!("description may have at most {MAX_DESCRIPTION_CHARS} characters");
        return Err(ApiError::invalid("description", Some(text), message));
    }
    Ok(Some(clean).filter(|text| !text.is_empty()))
}
