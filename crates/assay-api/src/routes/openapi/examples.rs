//! Examples in the OpenAPI document: recorded responses of the service (`examples.json`, by schema name), in addition
//! to those that handlers declare.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

static ANSWERS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("examples.json")).unwrap_or_default());

/// Content types that get examples.
const KINDS: [&str; 2] = ["application/json", "multipart/form-data"];

/// The only field of an entry with several examples: maps each name to a summary and a value.
const SEVERAL: &str = "$examples";

/// Adds an example to the operation's request and to its successful responses, unless they have one.
pub(in crate::routes) fn add(operation: &mut Value) {
    if let Some(request) = operation.get_mut("requestBody") {
        add_to(request);
    }
    for (_, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        add_to(response);
    }
}

fn add_to(holder: &mut Value) {
    let contents = holder.get_mut("content").and_then(Value::as_object_mut).into_iter().flatten();
    for (_, content) in contents.filter(|(kind, _)| KINDS.contains(&kind.as_str())) {
        add_to_content(content);
    }
}

fn add_to_content(content: &mut Value) {
    let name = content["schema"]["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let Some(found) = name.and_then(|name| ANSWERS.get(name)).filter(|_| content.get("example").is_none()) else {
        return;
    };
    match found.get(SEVERAL) {
        Some(named) => content["examples"] = named.clone(),
        None => content["example"] = found.clone(),
    }
}

/// Returns an example of the error that `meaning` describes; `meaning` begins with the error's code.
pub(in crate::routes) fn error(meaning: &str) -> Value {
    let (code, message) = meaning.split_once(": ").unwrap_or(("INTERNAL_ERROR", meaning));
    let mut error = json!({
        "code": code,
        "message": message,
        "request_id": "019aa6f0-3c5e-7b21-9d4f-2b8c6e1a7f30",
    });
    if code == "VALIDATION_ERROR" {
        error["message"] = json!("num_episodes must be a whole number from 1 to 1000");
        error["details"] = json!({ "field": "num_episodes", "value": "0" });
    }
    if code == "RATE_LIMITED" {
        error["message"] = json!("your account has 100 jobs that have not ended, of 100");
        error["details"] = json!({ "limit": "active_jobs", "maximum": 100, "current": 100, "frees_at": null,
                                   "frees_when": "when one of your account's jobs ends" });
    }
    json!({ "data": null, "error": error })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_examples_file_parses() {
        assert!(super::ANSWERS.contains_key("JobReport"));
    }
}
