//! The OpenAPI document matches the service.

use std::collections::BTreeSet;

use assay_api::{RateClass, endpoints};
use assay_model::Scope;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{POLICY, SCENARIO, TestApp};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

#[tokio::test]
async fn the_document_lists_exactly_the_routes() {
    let document = TestApp::new().get("/openapi.json", "").await.body;
    assert_eq!(document["openapi"], json!("3.1.0"));
    let mut described = BTreeSet::new();
    let mut names = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(m, _)| METHODS.contains(&m.as_str())) {
            described.insert((method.to_uppercase(), path.clone()));
            assert!(
                names.insert(operation["operationId"].to_string()),
                "two operations have the name of {method} {path}"
            );
        }
    }
    let served: BTreeSet<_> =
        endpoints().iter().filter(|e| e.documented).map(|e| (e.method.to_owned(), e.path.to_owned())).collect();
    assert_eq!(described, served, "list and document differ");
    for endpoint in endpoints() {
        assert!(endpoint.documented || !endpoint.needs_key, "{endpoint:?} is not documented");
        let needs_none = matches!(endpoint.rate, RateClass::Free | RateClass::Pages);
        assert_eq!(needs_none, !endpoint.needs_key, "{endpoint:?}");
        let reads = endpoint.method == "GET" && endpoint.needs_key;
        assert_eq!(reads, endpoint.rate == RateClass::Get, "{endpoint:?}");
    }
    let scope = &document["paths"]["/verify"]["post"]["x-scope"];
    assert_eq!(scope, Scope::Verify.as_str());
}

/// Signed addresses are given whole, not put together from an id; a connection is for jobs whose policy connects, which
/// no answer tells apart.
const UNLINKED: [&str; 3] = ["artifact", "thumbnail", "create_connection"];

fn operations(document: &Value) -> Vec<&Value> {
    let items = document["paths"].as_object().unwrap().values().map(|item| item.as_object().unwrap());
    items.flatten().filter(|(method, _)| METHODS.contains(&method.as_str())).map(|(_, operation)| operation).collect()
}

/// The names of an operation's parameters that stand in the path or in the query.
fn parameters(operation: &Value, place: &str) -> BTreeSet<String> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    all.filter(|one| one["in"] == place).map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn each_operation_has_a_description() {
    let document = TestApp::new().get("/openapi.json", "").await.body;
    for operation in operations(&document) {
        for (part, least) in [("summary", 8), ("description", 40)] {
            let text = operation[part].as_str().unwrap_or_default();
            assert!(text.len() >= least, "{}: {part} {text:?}", operation["operationId"]);
        }
    }
}

#[tokio::test]
async fn responses_link_to_each_operation_that_takes_an_id() {
    let document = TestApp::new().get("/openapi.json", "").await.body;
    let operations = operations(&document);
    let mut reached: BTreeSet<&str> = UNLINKED.into();
    for answer in operations.iter().flat_map(|operation| operation["responses"].as_object().unwrap().values()) {
        for link in answer["links"].as_object().into_iter().flat_map(|links| links.values()) {
            let id = link["operationId"].as_str().unwrap();
            let target = operations.iter().find(|operation| operation["operationId"] == id);
            let target = target.unwrap_or_else(|| panic!("a link leads to {id}, which is no operation"));
            let taken = &parameters(target, "path") | &parameters(target, "query");
            for (name, value) in link["parameters"].as_object().unwrap() {
                assert!(taken.contains(name), "{id} has no parameter {name}");
                assert!(value.as_str().unwrap().starts_with("$response.body#/"), "{id}: {value}");
            }
            reached.insert(id);
        }
    }
    for operation in operations.iter().filter(|operation| !parameters(operation, "path").is_empty()) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(reached.contains(id), "no answer leads to {id}");
    }
}

#[tokio::test]
async fn the_document() {
    let mut document = TestApp::new().get("/v1/openapi.json", "").await.body;
    assert_eq!(document["info"]["version"].take(), json!(env!("CARGO_PKG_VERSION")));
    insta::assert_json_snapshot!("document", document);
}

/// Content types of what must have an example.
const SHOWN: [&str; 2] = ["application/json", "multipart/form-data"];

/// What is wrong with the examples of an operation's request and answers.
fn faults(document: &Value, operation: &Value) -> Vec<String> {
    let request = operation.get("requestBody").map(|body| ("request".to_owned(), body));
    let answers = operation["responses"].as_object().unwrap().iter().map(|(status, answer)| (status.clone(), answer));
    let mut faults = Vec::new();
    for (place, holder) in request.into_iter().chain(answers) {
        let contents = holder.get("content").and_then(Value::as_object).into_iter().flatten();
        for (kind, content) in contents.filter(|(kind, _)| SHOWN.contains(&kind.as_str())) {
            let named = content["examples"].as_object().into_iter().flat_map(|named| named.values());
            let examples: Vec<_> = named.map(|one| &one["value"]).chain(content.get("example")).collect();
            if examples.is_empty() {
                faults.push(format!("{place}: {kind} has no example"));
            }
            // With `allOf`, so that fields which no schema names are found too.
            let schema = json!({
                "components": document["components"],
                "allOf": [content["schema"]],
                "unevaluatedProperties": false,
            });
            let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
            let errors = examples.into_iter().flat_map(|example| validator.iter_errors(example));
            faults.extend(errors.map(|e| format!("{place}: {} {e}", e.instance_path())));
        }
    }
    faults
}

#[tokio::test]
async fn each_form_and_response_has_a_valid_example() {
    let mut document = TestApp::new().get("/openapi.json", "").await.body;
    let mut found = Vec::new();
    let mut seen = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(m, _)| METHODS.contains(&m.as_str())) {
            seen += 1;
            found.extend(faults(&document, operation).into_iter().map(|fault| format!("{method} {path}: {fault}")));
        }
    }
    assert!(seen > 40, "{seen}");
    assert!(found.is_empty(), "{found:#?}");
    // It can say no.
    let content = "/paths/~1leaderboard/get/responses/200/content/application~1json";
    let operation = |document: &Value| faults(document, &document["paths"]["/leaderboard"]["get"]).concat();
    let example = document.pointer(&format!("{content}/example")).unwrap().clone();
    for (pointer, value) in [
        ("/entries/0/submission_id", json!("nobody")),
        ("/entries/0/success_rate", json!(1.5)),
        ("/entries/0/score", json!(-1)),
        ("/updated_at", json!("yesterday")),
    ] {
        let mut wrong = example.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        *document.pointer_mut(&format!("{content}/example")).unwrap() = wrong;
        assert!(operation(&document).contains(pointer), "{pointer}: {}", operation(&document));
    }
    document.pointer_mut(content).unwrap().as_object_mut().unwrap().remove("example");
    assert!(operation(&document).contains("has no example"));
}

/// Fields of `value` that its schema does not name, and the other way round.
fn differences(document: &Value, name: &str, value: &Value) -> Vec<String> {
    let fields: BTreeSet<&String> = value.as_object().unwrap().keys().collect();
    let schema = &document["components"]["schemas"][name];
    let required: BTreeSet<String> =
        schema["required"].as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect();
    fields.symmetric_difference(&required.iter().collect()).map(|field| format!("{name}.{field}")).collect()
}

#[tokio::test]
async fn responses_have_the_fields_of_their_schemas() {
    let app = TestApp::new();
    let key = app.key("lab", "read,verify").await;
    let document = app.get("/openapi.json", "").await.body;
    let job = app.verify(&key, &[POLICY, SCENARIO]).await.body;
    let page = app.get("/verify", &key).await.body;
    let scenarios = app.get("/scenarios", &key).await.body;
    for (name, value) in [
        ("JobReport", &job),
        ("JobProgress", &job["progress"]),
        ("JobPage", &page),
        ("ScenarioList", &scenarios),
        ("Scenario", &scenarios["scenarios"][0]),
        ("Index", &app.get("/", "").await.body),
        ("ErrorAnswer", &app.get("/verify", "").await.body),
    ] {
        assert_eq!(differences(&document, name, value), [""; 0]);
    }
}

#[tokio::test]
async fn operations_are_listed_in_the_order_of_use() {
    let document = TestApp::new().get("/openapi.json", "").await.body;
    let tags: Vec<_> = document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].clone()).collect();
    let mut all = operations(&document);
    all.sort_by_key(|operation| operation["x-position"].as_u64().unwrap());
    let mut groups: Vec<_> = all.iter().map(|operation| operation["tags"][0].clone()).collect();
    groups.dedup();
    assert_eq!(groups, tags, "the table of routes goes group by group, as the tags do");
    let first: Vec<_> = all.iter().take(3).map(|operation| operation["operationId"].clone()).collect();
    assert_eq!(first, ["verify", "preflight", "verification"]);
}

#[tokio::test]
async fn the_docs_page_needs_no_other_host() {
    let app = TestApp::new();
    for prefix in ["", "/v1"] {
        let answer = app.get(&format!("{prefix}/docs"), "").await;
        assert_eq!((answer.status.as_u16(), &answer.headers["location"]), (303, &"docs/index.html".parse().unwrap()));
        let answer = app.get(&format!("{prefix}/docs/"), "").await;
        assert_eq!((answer.status.as_u16(), &answer.headers["location"]), (303, &"index.html".parse().unwrap()));
        let page = app.get(&format!("{prefix}/docs/index.html"), "").await;
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';") && !policy.contains("unsafe-eval"),
            "{policy}"
        );
        let html = page.body.as_str().unwrap();
        assert!(html.contains("<main") && !html.contains("//"), "{html}");
        let scripts: Vec<_> = html.split("src=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        let [renderer, "start.js"] = scripts[..] else { panic!("{scripts:?}") };
        let start = app.get(&format!("{prefix}/docs/start.js"), "").await.body;
        assert!(start.as_str().unwrap().contains("../openapi.json"), "{start}");
        let renderer = app.get(&format!("{prefix}/docs/{renderer}"), "").await;
        assert!(renderer.headers["cache-control"].to_str().unwrap().contains("immutable"));
        assert!(renderer.body.as_str().unwrap().contains("createApiReference"));
        assert_eq!(app.get(&format!("{prefix}/docs/other.js"), "").await.status, 404);
    }
}

#[tokio::test]
async fn the_script_of_the_docs_page_is_served_compressed() {
    let app = TestApp::new();
    let html = app.get("/docs/index.html", "").await.body;
    let name = html.as_str().unwrap().split("src=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let request = Request::get(format!("/docs/{name}")).header("accept-encoding", "gzip").body(Body::empty()).unwrap();
    let answer = app.router.clone().oneshot(request).await.unwrap();
    assert_eq!((&answer.headers()["content-encoding"], answer.status().as_u16()), (&"gzip".parse().unwrap(), 200));
    assert!(answer.headers()["vary"].to_str().unwrap().contains("accept-encoding"));
    let packed = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    assert!(packed.starts_with(&[0x1f, 0x8b]) && packed.len() < 2 << 20, "{} bytes", packed.len());
}

/// Anybody may ask for the script, so that no request for it may cost its four megabytes again.
#[tokio::test]
async fn the_script_of_the_docs_page_is_not_compressed_per_request() {
    let app = TestApp::new();
    let html = app.get("/docs/index.html", "").await.body;
    let name = html.as_str().unwrap().split("src=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    for coding in ["x-gzip", "zstd", "identity"] {
        let request =
            Request::get(format!("/docs/{name}")).header("accept-encoding", coding).body(Body::empty()).unwrap();
        let answer = app.router.clone().oneshot(request).await.unwrap();
        assert!(!answer.headers().contains_key("content-encoding"), "{coding}");
    }
}
