//! `GET /openapi.json`: the document, generated from the handlers' declarations and the list of endpoints. Elements
//! common to all endpoints (keys, errors, the request id) are added here, so that handlers declare only their own.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use serde_json::{Value, json};
use utoipa::openapi::path::{ParameterIn, Paths};
use utoipa::openapi::{OpenApi, RefOr};

use super::errors::ERRORS;
use super::{examples, introduction, links, schemas, webhooks};
use crate::ApiSettings;
use crate::http::Json;
use crate::routes::endpoint::{Endpoint, EndpointInfo};
use crate::sessions::cookie_name;
use crate::state::App;

/// The declarations that the document is built from.
pub(crate) struct DeclaredApi {
    /// The declarations of the documented handlers.
    pub(crate) document: OpenApi,
    /// All endpoints, in the order of the document.
    pub(crate) endpoints: Vec<EndpointInfo>,
}

pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(declared): Extension<Arc<DeclaredApi>>,
) -> Json<Value> {
    Json(document(&app.settings, &declared))
}

/// Returns the parameters that the query of an endpoint may have; `None` if it is not declared.
pub(crate) fn query_parameters(endpoint: &Endpoint, declared: &Paths) -> Option<BTreeSet<String>> {
    let item = declared.paths.get(endpoint.path)?;
    let operation = match endpoint.method {
        "GET" => item.get.as_ref(),
        "POST" => item.post.as_ref(),
        "PATCH" => item.patch.as_ref(),
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

/// Builds the whole document.
fn document(settings: &ApiSettings, declared: &DeclaredApi) -> Value {
    let mut document = serde_json::to_value(&declared.document).unwrap_or_default();
    document["info"]["version"] = json!(env!("CARGO_PKG_VERSION"));
    document["info"]["description"] = json!(introduction::description(settings));
    document["tags"] = introduction::tags();
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
            "name": cookie_name(settings),
            "description": "A browser session (POST /session); changes also require its X-CSRF-Token. An \
                            Authorization header takes precedence over the cookie",
        },
    });
    document["components"]["headers"] = headers();
    document["components"]["parameters"] = json!({ "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The client's own name for this request, such as a UUID. If the same account repeats the \
            request with the same key within 24 h, the request is not executed again, and the response is that of the \
            first one. A key of a different request, or of one that is still running, is a CONFLICT. A rejected \
            request releases its key.",
        "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
    } });
    let mut schemas = Value::Object(schemas::components());
    let parts = &mut schemas["VerifyForm"]["properties"];
    parts["num_episodes"]["maximum"] = json!(settings.job.max_episodes);
    parts["seed"]["maximum"] = json!(u64::MAX);
    schemas["ModelAnnouncement"]["properties"]["size_bytes"]["maximum"] = json!(settings.models.max_bytes);
    for (position, endpoint) in declared.endpoints.iter().filter(|e| e.documented).enumerate() {
        let method = endpoint.method.to_ascii_lowercase();
        if let Some(operation) = document["paths"][endpoint.path].get_mut(method) {
            operation["x-position"] = json!(position);
            complete(operation, endpoint);
            require_body(operation, &schemas);
            links::add(operation);
        }
    }
    document["components"]["schemas"] = schemas;
    document["webhooks"] = webhooks::section();
    plain_formats(&mut document);
    document
}

/// Returns the headers that many responses share.
fn headers() -> Value {
    let number = |description: &str| {
        let schema = json!({ "type": "integer", "minimum": 0 });
        json!({ "description": description, "required": true, "schema": schema })
    };
    json!({
        "RequestId": {
            "description": "Id of the request, which is also in its log lines",
            "required": true,
            "schema": { "type": "string", "format": "uuid" },
        },
        "Replayed": {
            "description": "`true` if this is the stored response to an earlier request with the same Idempotency-Key",
            "schema": { "type": "string", "const": "true" },
        },
        "RateLimit": number("Maximum number of requests of this kind per key in a window of 60 s"),
        "RateRemaining": number("Number of requests left in the window"),
        "RateReset": number("End of the window, in Unix seconds"),
        "RetryAfter": number("Delay in seconds before trying again"),
    })
}

/// Renames formats such as `u-int32`, which the library writes, to those of the format registry (`uint32`).
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

/// Adds the parts that are determined by the list of endpoints and by the layers around every handler.
fn complete(operation: &mut Value, endpoint: &EndpointInfo) {
    operation["security"] = match endpoint.scope {
        Some(_) => json!([{ "key": [] }, { "session": [] }]),
        // These endpoints act on the key itself, which a browser session does not present.
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
        *stream = event_stream(&stream.take());
    }
    if endpoint.cacheable {
        responses["304"] =
            json!({ "description": "The client already has this version: its `If-None-Match` matches the `ETag`" });
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

/// Returns a sentence about the required key. Operations that need none describe their credentials themselves.
fn needed(endpoint: &EndpointInfo) -> Option<String> {
    match endpoint.scope {
        Some(scope) => Some(format!("Needs a key with the scope `{scope}`.")),
        None => endpoint.needs_key.then(|| "Needs a key of any scope.".to_owned()),
    }
}

/// Returns the schema of a stream. OpenAPI 3.1 has no word for events, whose data is JSON of the schema `data`: some
/// tools take a schema for that of the text, others for that of each event, so it has no type.
fn event_stream(data: &Value) -> Value {
    json!({
        "description": "Events in the format text/event-stream, separated by an empty line. Each has a line `data: ` \
            with JSON of the schema that `x-event-data` names, and recorded ones a line `id: ` with the value for \
            `Last-Event-ID`",
        "x-event-data": data,
    })
}

/// Requires the operation's request body. If its schema requires no field, the body may be left out or `null` instead.
fn require_body(operation: &mut Value, schemas: &Value) {
    let Some(body) = operation.get_mut("requestBody") else { return };
    let contents = body["content"].as_object_mut().into_iter().flatten();
    let mut is_required = false;
    for (kind, content) in contents {
        let schema = &mut content["schema"];
        if kind == "application/octet-stream" {
            *schema = json!({ "type": "string", "format": "binary" });
            is_required = true;
            continue;
        }
        let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        if schemas[name]["required"].is_array() {
            is_required = true;
        } else {
            *schema = json!({ "oneOf": [schema.take(), { "type": "null" }] });
        }
    }
    if is_required {
        body["required"] = json!(true);
    }
}
