//! `GET /openapi.json`: the document, made from the handlers' own declarations and the table of endpoints. What holds
//! for every endpoint (keys, errors, the request's id) is added here, so that handlers declare only what is theirs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use axum::extract::State;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::ParameterIn;

use super::{Endpoint, EndpointInfo, endpoints, examples, openapi_intro, openapi_links, openapi_webhooks};
use crate::ApiSettings;
use crate::http::{ErrorResponse, Json};
use crate::state::App;
use crate::webhooks::WebhookMessage;

/// Every handler with a row in the table; a test compares the two.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "assay",
        contact(name = "The operator of this service"),
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    paths(
        super::artifact::handle,
        super::collection::handle,
        super::collections::handle,
        super::community_delete::handle,
        super::community_get::handle,
        super::community_list::handle,
        super::community_publish::handle,
        super::thumbnail::handle,
        super::health::alive,
        super::health::ready,
        super::index::handle,
        super::keys_create::handle,
        super::keys_list::handle,
        super::keys_revoke::handle,
        super::keys_rotate::handle,
        super::leaderboard::handle,
        super::metrics::handle,
        super::preflight::handle,
        super::scenario::handle,
        super::scenario_spec::handle,
        super::scenarios::handle,
        super::session_create::handle,
        super::session_create::show,
        super::session_delete::handle,
        super::signing_keys::handle,
        super::seasons_list::handle,
        super::submission_attestation::handle,
        super::submission_cancel::handle,
        super::submission_erase::handle,
        super::submission_events::handle,
        super::submission_choose::handle,
        super::submission_episodes::handle,
        super::submission_get::handle,
        super::submission_replay::handle,
        super::submission_report::document,
        super::submission_report::page,
        super::submissions_create::handle,
        super::submissions_list::handle,
        super::verify_attestation::handle,
        super::verify_cancel::handle,
        super::verify_create::handle,
        super::verify_episodes::handle,
        super::verify_erase::handle,
        super::verify_events::handle,
        super::verify_get::handle,
        super::verify_list::handle,
        super::verify_replay::handle,
        super::verify_report::document,
        super::verify_report::page,
        super::verify_review::handle,
        super::webhook_deliveries::handle,
        super::webhook_secret::handle,
    ),
    components(schemas(ErrorResponse, WebhookMessage))
)]
struct Declared;

/// Schemas that say by themselves which fields may be left out. All others are answers, whose fields are always there.
const WITH_OPTIONAL_FIELDS: [&str; 7] =
    ["VerifyForm", "SubmissionForm", "PublishForm", "NewKey", "NewReplay", "ErrorBody", "ErrorDetails"];

/// Forms whose parts are all named: others are refused.
const FORMS: [&str; 2] = ["VerifyForm", "SubmissionForm"];

/// Each status of an error, and when it comes.
pub(super) const ERRORS: [(&str, &str); 14] = [
    ("400", "VALIDATION_ERROR: the request is not well-formed; `details` names the field and its value"),
    ("401", "UNAUTHORIZED: the key is missing, malformed, unknown, expired or revoked"),
    ("403", "FORBIDDEN: the key lacks the scope that the message names"),
    ("404", "NOT_FOUND: there is no such thing, or it is another account's"),
    ("406", "NOT_ACCEPTABLE: the Accept header excludes what would be answered"),
    ("408", "TIMEOUT: the request's body did not come in time"),
    ("409", "CONFLICT: its state, or another request with the same Idempotency-Key, does not allow this"),
    ("410", "GONE: it was erased"),
    ("413", "PAYLOAD_TOO_LARGE: the request's body is too large"),
    ("415", "UNSUPPORTED_MEDIA_TYPE: the body has the wrong content type"),
    ("416", "RANGE_NOT_SATISFIABLE: the file has no byte of the range"),
    ("429", "RATE_LIMITED: too often, or one's other one has not ended; `Retry-After` says when to try again"),
    ("500", "INTERNAL_ERROR: our fault; the request id helps to find out what"),
    ("503", "UNAVAILABLE: not now; try again"),
];

pub(super) async fn handle(State(app): State<App>) -> Json<Value> {
    Json(document(&app.settings))
}

/// Parameters that the query of an endpoint may have; `None` where the document does not speak of it.
pub(crate) fn query_parameters(endpoint: &Endpoint) -> Option<BTreeSet<String>> {
    static PATHS: LazyLock<utoipa::openapi::Paths> = LazyLock::new(|| Declared::openapi().paths);
    let item = PATHS.paths.get(endpoint.path)?;
    let operation = match endpoint.method {
        "GET" => item.get.as_ref(),
        "POST" => item.post.as_ref(),
        "DELETE" => item.delete.as_ref(),
        _ => None,
    }?;
    let declared = operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
        RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => Some(parameter.name.clone()),
        _ => None,
    });
    let mut names: BTreeSet<String> = declared.collect();
    if endpoint.json {
        names.insert("envelope".to_owned());
    }
    Some(names)
}

/// The whole document.
fn document(settings: &ApiSettings) -> Value {
    let mut document = serde_json::to_value(Declared::openapi()).unwrap_or_default();
    document["info"]["version"] = json!(env!("CARGO_PKG_VERSION"));
    document["info"]["description"] = json!(openapi_intro::description(settings));
    document["tags"] = openapi_intro::tags();
    let base = settings.address("").trim_end_matches('/').to_owned();
    let root = if base.is_empty() { "/".to_owned() } else { base.clone() };
    document["servers"] = json!([{ "url": root }, { "url": format!("{base}/v1") }]);
    document["components"]["securitySchemes"] = json!({
        "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key: `Authorization: Bearer assay_<id>_<secret>`",
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": "assay_session",
            "description": "A browser that signed in (POST /session); changes also need its X-CSRF-Token. The header \
                            Authorization counts where both are there",
        },
    });
    document["components"]["headers"] = headers();
    document["components"]["parameters"] = json!({ "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The client's own name for this request, such as a UUID. Sent again under the same key within 24 h \
            by the same account, it is not done again and gets the first answer; a key of another request, or of one \
            that is still being done, is a CONFLICT. A request that was refused frees its key.",
        "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
    } });
    document["components"]["schemas"]["ErrorAnswer"]["properties"]["data"] = json!({ "type": "null" });
    for (position, endpoint) in endpoints().into_iter().filter(|e| e.documented).enumerate() {
        let method = endpoint.method.to_ascii_lowercase();
        if let Some(operation) = document["paths"][endpoint.path].get_mut(method) {
            operation["x-position"] = json!(position);
            complete(operation, &endpoint);
            openapi_links::add(operation);
        }
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        for (_, schema) in schemas.iter_mut().filter(|(name, _)| !WITH_OPTIONAL_FIELDS.contains(&name.as_str())) {
            require_all(schema);
        }
    }
    for form in FORMS {
        document["components"]["schemas"][form]["additionalProperties"] = json!(false);
    }
    document["webhooks"] = openapi_webhooks::section();
    let parts = &mut document["components"]["schemas"]["VerifyForm"]["properties"];
    parts["num_episodes"]["maximum"] = json!(settings.job.max_episodes);
    parts["seed"]["maximum"] = json!(u64::MAX);
    plain_formats(&mut document);
    document
}

/// Those that stand on many answers.
fn headers() -> Value {
    let number = |description: &str| {
        let schema = json!({ "type": "integer", "minimum": 0 });
        json!({ "description": description, "required": true, "schema": schema })
    };
    json!({
        "RequestId": {
            "description": "Stands in the log with everything that the request did",
            "required": true,
            "schema": { "type": "string", "format": "uuid" },
        },
        "Replayed": {
            "description": "`true` on the first answer to this request, given again for its Idempotency-Key",
            "schema": { "type": "string", "const": "true" },
        },
        "RateLimit": number("Requests of this kind that the key may send in a window of 60 s"),
        "RateRemaining": number("How many of them are left"),
        "RateReset": number("When the window ends, in Unix seconds"),
        "RetryAfter": number("Seconds after which to try again"),
    })
}

/// The registry of formats knows `uint32`; the library writes `u-int32`.
fn plain_formats(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(format)) = fields.get_mut("format")
                && let Some(bits) = format.strip_prefix("u-int")
            {
                *format = format!("uint{bits}");
            }
            fields.values_mut().for_each(plain_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(plain_formats),
        _ => {}
    }
}

/// Adds what the table and the layers around every handler decide.
fn complete(operation: &mut Value, endpoint: &EndpointInfo) {
    operation["security"] = match endpoint.scope {
        Some(_) => json!([{ "key": [] }, { "session": [] }]),
        // It is about the key itself, which a browser's session does not show.
        None if endpoint.needs_key => json!([{ "key": [] }]),
        None => json!([]),
    };
    if let Some(scope) = endpoint.scope {
        operation["x-scope"] = json!(scope.as_str());
    }
    if let Some(needed) = needed(endpoint) {
        let described = operation["description"].as_str().unwrap_or_default();
        operation["description"] = json!(format!("{described}\n\n{needed}"));
    }
    let mut added = vec!["406", "500", "503"];
    let once = endpoint.method == "POST" && endpoint.needs_key;
    if once {
        added.extend(["400", "409"]);
        let parameter = json!({ "$ref": "#/components/parameters/IdempotencyKey" });
        match operation.get_mut("parameters").and_then(Value::as_array_mut) {
            Some(parameters) => parameters.push(parameter),
            None => operation["parameters"] = json!([parameter]),
        }
    }
    if endpoint.needs_key {
        added.extend(["401", "403", "429"]);
    }
    let responses = &mut operation["responses"];
    if let Some(stream) = responses.pointer_mut("/200/content/text~1event-stream/schema") {
        *stream = event(&stream.take());
    }
    if endpoint.cacheable {
        responses["304"] =
            json!({ "description": "The client has it already: its `If-None-Match` names the answer's `ETag`" });
    }
    for (status, meaning) in ERRORS {
        if added.contains(&status) || responses.get(status).is_some() {
            responses[status] = json!({
                "description": meaning,
                "content": { "application/json": {
                    "schema": { "$ref": "#/components/schemas/ErrorAnswer" },
                    "example": examples::error(meaning),
                } },
            });
        }
    }
    examples::add(operation);
    if let Some(responses) = operation["responses"].as_object_mut() {
        for (status, response) in responses {
            let header = |name: &str| json!({ "$ref": format!("#/components/headers/{name}") });
            response["headers"]["X-Request-Id"] = header("RequestId");
            if once && status.starts_with('2') {
                response["headers"]["Idempotency-Replayed"] = header("Replayed");
            }
            if endpoint.needs_key && status != "401" {
                response["headers"]["X-RateLimit-Limit"] = header("RateLimit");
                response["headers"]["X-RateLimit-Remaining"] = header("RateRemaining");
                response["headers"]["X-RateLimit-Reset"] = header("RateReset");
            }
            if status == "429" {
                response["headers"]["Retry-After"] = header("RetryAfter");
            }
            if response["description"].as_str().is_none_or(str::is_empty) {
                response["description"] = json!("Success");
            }
        }
    }
}

/// The key that a request must show, in words. Operations without one say themselves what they take instead.
fn needed(endpoint: &EndpointInfo) -> Option<String> {
    match endpoint.scope {
        Some(scope) => Some(format!("Needs a key with the scope `{scope}`.")),
        None => endpoint.needs_key.then(|| "Needs a key of any scope.".to_owned()),
    }
}

/// An event of a stream, whose data is a JSON text.
fn event(data: &Value) -> Value {
    json!({
        "type": "object",
        "description": "An event of the stream (the body is a sequence of them, as text/event-stream has it)",
        "properties": {
            "id": { "type": "string", "description": "For `Last-Event-ID`; only with what is kept" },
            "data": { "type": "string", "contentMediaType": "application/json", "contentSchema": data },
        },
        "required": ["data"],
    })
}

/// Every documented field is present in every state, `null` when there is nothing to say.
fn require_all(schema: &mut Value) {
    for part in schema.get_mut("allOf").and_then(Value::as_array_mut).into_iter().flatten() {
        require_all(part);
    }
    if let Some(fields) = schema.get("properties").and_then(Value::as_object).map(Map::len).filter(|n| *n > 0) {
        let mut names = Vec::with_capacity(fields);
        names.extend(schema["properties"].as_object().into_iter().flat_map(Map::keys).cloned());
        schema["required"] = json!(names);
    }
}
