//! `assay model list`.

use assay_model::sanitise;
use serde_json::{Value, json};

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::ServiceArgs;
use crate::screen;

/// Number of models per request.
const PAGE: usize = 100;
/// Maximum number of models listed.
const MAX_MODELS: usize = 100_000;

pub(super) fn list(service: &ServiceArgs, json: bool) -> Result<ExitStatus, Failure> {
    let models = models(service)?;
    if json {
        super::super::stdout::print(&serde_json::to_string_pretty(&json!({ "models": models })).or_internal()?);
        return Ok(ExitStatus::Success);
    }
    let rows: Vec<_> = models.iter().map(row).collect();
    super::super::stdout::print(&screen::layout().table(&["sha256", "state", "size", "created", "name"], &rows, 0));
    Ok(ExitStatus::Success)
}

fn models(service: &ServiceArgs) -> Result<Vec<Value>, Failure> {
    let client = service.client()?;
    let mut models = Vec::new();
    while models.len() < MAX_MODELS {
        let page = client.get(&format!("/models?limit={PAGE}&offset={}", models.len())).or_internal()?.success()?;
        let found = page["models"].as_array().cloned().unwrap_or_default();
        let is_last = found.len() < PAGE;
        models.extend(found);
        if is_last {
            break;
        }
    }
    Ok(models)
}

fn row(model: &Value) -> Vec<String> {
    let text = |name: &str| sanitise(model[name].as_str().unwrap_or_default(), 200);
    let (size, offset) = (model["size_bytes"].as_u64().unwrap_or(0), model["offset"].as_u64().unwrap_or(0));
    let state = match text("state").as_str() {
        "UPLOADING" => format!("uploading, {} %", (u128::from(offset) * 100).checked_div(size.into()).unwrap_or(0)),
        other => other.to_lowercase(),
    };
    let created = text("created_at").chars().take(10).collect();
    vec![text("sha256"), state, format!("{:.1} MB", size.div_ceil(100_000) as f64 / 10.0), created, text("name")]
}
