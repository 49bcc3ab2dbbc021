//! `GET /worker/v1/openapi.json`: the description of the protocol, an OpenAPI 3.1 document of its own.

use assay_model::{
    ClaimAnswer, ClaimRequest, HeartbeatAnswer, HeartbeatRequest, NoteRequest, PackedRuntime, RegisterAnswer,
    RegisterRequest, RenderClaimAnswer, RenderClaimRequest, RenderReturn, ResultsAnswer, ResultsRequest,
    ScenarioListing, ServerCall, ShardReturn, TaskAnswer, TaskClaimAnswer, TaskClaimRequest, WORKER_PROTOCOL,
    WORKER_PROTOCOL_PATH,
};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::http::Json;

/// An operation of the protocol.
struct Operation {
    method: &'static str,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    request: Option<Value>,
    response: Option<Value>,
}

pub(super) async fn handle() -> Json<Value> {
    Json(document())
}

/// Returns the document.
fn document() -> Value {
    let mut schemas = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
    });
    schemas.meta_schema = None;
    let mut schemas = schemas.into_generator();
    let mut paths = Map::new();
    for operation in operations(&mut schemas) {
        let entry = paths.entry(operation.path).or_insert_with(|| json!({}));
        entry[operation.method] = described(&operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "assay worker protocol",
            "version": WORKER_PROTOCOL.to_string(),
            "description": "The requests of workers on other hosts to their server. Every request carries the worker's \
                token, and all but the first the header assay-worker-generation. 401: the token is refused. 403: the \
                lease is another worker's, or the worker is quarantined. 409: the lease is lost. 503: try again.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": WORKER_PROTOCOL_PATH }],
        "security": [{ "worker": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "securitySchemes": { "worker": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    fn of<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Option<Value> {
        Some(schemas.subschema_for::<T>().to_value())
    }
    let file = || Some(json!("file"));
    let operation =
        |method, path, id, summary, (request, response)| Operation { method, path, id, summary, request, response };
    vec![
        operation(
            "post",
            "/register",
            "register",
            "Starts a worker; the leases of its earlier process are void",
            (of::<RegisterRequest>(schemas), of::<RegisterAnswer>(schemas)),
        ),
        operation(
            "post",
            "/claim",
            "claim",
            "Claims a shard, or waits for one",
            (of::<ClaimRequest>(schemas), of::<ClaimAnswer>(schemas)),
        ),
        operation(
            "post",
            "/beat",
            "beat",
            "Renews leases",
            (of::<HeartbeatRequest>(schemas), of::<HeartbeatAnswer>(schemas)),
        ),
        operation(
            "post",
            "/results",
            "results",
            "Records results, whose evidence is stored",
            (of::<ResultsRequest>(schemas), of::<ResultsAnswer>(schemas)),
        ),
        operation("post", "/leave", "leave", "Ends a worker; what it holds goes back to the queue", (None, None)),
        operation("get", "/leases/{lease}/policy", "policy", "Returns the policy's archive", (None, file())),
        operation(
            "get",
            "/leases/{lease}/models/{sha256}",
            "model",
            "Returns a model that the policy declares",
            (None, file()),
        ),
        operation(
            "get",
            "/leases/{lease}/scenario",
            "scenario",
            "Lists the files of the scenario and its robots",
            (None, of::<ScenarioListing>(schemas)),
        ),
        operation(
            "get",
            "/leases/{lease}/scenario/{sha256}",
            "scenario_file",
            "Returns one of these files",
            (None, file()),
        ),
        operation(
            "get",
            "/leases/{lease}/server",
            "server",
            "Returns the way to the policy's server",
            (None, of::<ServerCall>(schemas)),
        ),
        operation(
            "put",
            "/leases/{lease}/evidence/{sha256}",
            "evidence",
            "Stores a file of evidence, as it is or packed",
            (file(), None),
        ),
        operation(
            "post",
            "/leases/{lease}/notes",
            "note",
            "Stores a fact about an unfinished episode",
            (of::<NoteRequest>(schemas), None),
        ),
        operation(
            "post",
            "/leases/{lease}/return",
            "give_back",
            "Gives a shard back",
            (of::<ShardReturn>(schemas), None),
        ),
    ]
    .into_iter()
    .chain(runtimes(schemas))
    .chain(renders(schemas))
    .chain(tasks(schemas))
    .collect()
}

/// Returns the operations about runtimes of policies.
fn runtimes(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let packed = schemas.subschema_for::<PackedRuntime>().to_value();
    let operation = |path, id, summary, response| Operation {
        method: "get",
        path,
        id,
        summary,
        request: None,
        response: Some(response),
    };
    let (lists, returns) = ("Describes the policy's runtime, packed into one file", "Returns that file");
    vec![
        operation("/leases/{lease}/runtime", "runtime", lists, packed.clone()),
        operation("/leases/{lease}/runtime/{sha256}", "runtime_file", returns, json!("file")),
        operation("/tasks/{lease}/runtime", "task_runtime", lists, packed),
        operation("/tasks/{lease}/runtime/{sha256}", "task_runtime_file", returns, json!("file")),
    ]
}

/// Returns the operations of renderings.
fn renders(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    fn of<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Option<Value> {
        Some(schemas.subschema_for::<T>().to_value())
    }
    let file = || Some(json!("file"));
    let operation =
        |method, path, id, summary, (request, response)| Operation { method, path, id, summary, request, response };
    vec![
        operation(
            "post",
            "/renders/claim",
            "claim_render",
            "Claims a part of an episode to render, or waits for one",
            (of::<RenderClaimRequest>(schemas), of::<RenderClaimAnswer>(schemas)),
        ),
        operation("get", "/renders/{lease}/recording", "recording", "Returns the episode's trace", (None, file())),
        operation(
            "get",
            "/renders/{lease}/scenario",
            "render_scenario",
            "Lists the files of the scenario and its robots",
            (None, of::<ScenarioListing>(schemas)),
        ),
        operation(
            "get",
            "/renders/{lease}/scenario/{sha256}",
            "render_scenario_file",
            "Returns one of these files",
            (None, file()),
        ),
        operation(
            "post",
            "/renders/{lease}/files",
            "rendered",
            "Stores the files of the part: a line with the JSON of RenderedFileList, then the files in its order",
            (file(), None),
        ),
        operation(
            "post",
            "/renders/{lease}/return",
            "return_render",
            "Gives a part back",
            (of::<RenderReturn>(schemas), None),
        ),
    ]
}

/// Returns the operations of tasks that clients wait for.
fn tasks(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    fn of<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Option<Value> {
        Some(schemas.subschema_for::<T>().to_value())
    }
    let file = || Some(json!("file"));
    let operation =
        |method, path, id, summary, (request, response)| Operation { method, path, id, summary, request, response };
    vec![
        operation(
            "post",
            "/tasks/claim",
            "claim_task",
            "Claims a task that a client waits for, or waits for one; only for workers that the operator trusts",
            (of::<TaskClaimRequest>(schemas), of::<TaskClaimAnswer>(schemas)),
        ),
        operation("get", "/tasks/{lease}/policy", "task_policy", "Returns the policy's archive", (None, file())),
        operation("get", "/tasks/{lease}/recording", "task_recording", "Returns the episode's trace", (None, file())),
        operation(
            "get",
            "/tasks/{lease}/server",
            "task_server",
            "Returns the way to the policy's server",
            (None, of::<ServerCall>(schemas)),
        ),
        operation(
            "get",
            "/tasks/{lease}/models/{sha256}",
            "task_model",
            "Returns a model that the policy declares",
            (None, file()),
        ),
        operation(
            "get",
            "/tasks/{lease}/scenario",
            "task_scenario",
            "Lists the files of the scenario and its robots",
            (None, of::<ScenarioListing>(schemas)),
        ),
        operation(
            "get",
            "/tasks/{lease}/scenario/{sha256}",
            "task_scenario_file",
            "Returns one of these files",
            (None, file()),
        ),
        operation("post", "/tasks/{lease}/answer", "answer_task", "Answers a task", (of::<TaskAnswer>(schemas), None)),
        operation("post", "/tasks/{lease}/return", "return_task", "Gives a task back", (None, None)),
    ]
}

fn described(operation: &Operation) -> Value {
    let content = |schema: &Value| match schema {
        Value::String(_) => json!({ "application/octet-stream": {} }),
        schema => json!({ "application/json": { "schema": schema } }),
    };
    let parameters: Vec<Value> = ["lease", "sha256"]
        .into_iter()
        .filter(|name| operation.path.contains(&format!("{{{name}}}")))
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": match &operation.response {
            Some(schema) => json!({ "200": { "description": "Done", "content": content(schema) } }),
            None => json!({ "204": { "description": "Done" } }),
        },
    });
    if let Some(schema) = &operation.request {
        described["requestBody"] = json!({ "required": true, "content": content(schema) });
    }
    described
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::document;

    #[test]
    fn every_reference_in_the_document_has_its_schema() {
        let document = document();
        let text = document.to_string();
        let references =
            text.split("\"$ref\":\"#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap());
        let mut count = 0;
        for name in references {
            assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
            count += 1;
        }
        assert!(count > 20, "{count} references");
        assert_eq!(document["paths"].as_object().unwrap().len(), 32);
    }
}
