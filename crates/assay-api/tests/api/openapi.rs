//! The document says what the service does.

use std::collections::BTreeSet;

use assay_api::{RateClass, endpoints};
use assay_model::Scope;
use serde_json::{Value, json};

use crate::app::{POLICY, SCENARIO, TestApp};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

#[tokio::test]
async fn each_route_stands_in_the_document_and_no_other() {
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
    assert_eq!(described, served, "routes::table and routes::openapi differ");
    for endpoint in endpoints() {
        assert!(endpoint.documented || endpoint.scope.is_none(), "{endpoint:?} is not documented");
        assert_eq!(endpoint.rate == RateClass::Free, endpoint.scope.is_none(), "{endpoint:?}");
        let reads = endpoint.method == "GET" && endpoint.scope.is_some();
        assert_eq!(reads, endpoint.rate == RateClass::Get, "{endpoint:?}");
    }
    let scope = &document["paths"]["/verify"]["post"]["x-scope"];
    assert_eq!(scope, Scope::Verify.as_str());
}

#[tokio::test]
async fn the_document() {
    let mut document = TestApp::new().get("/v1/openapi.json", "").await.body;
    assert_eq!(document["info"]["version"].take(), json!(env!("CARGO_PKG_VERSION")));
    insta::assert_json_snapshot!("document", document);
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
async fn answers_have_the_fields_of_their_schemas() {
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
async fn the_page_needs_no_other_host() {
    let app = TestApp::new();
    for prefix in ["", "/v1"] {
        let answer = app.get(&format!("{prefix}/docs"), "").await;
        assert_eq!((answer.status.as_u16(), &answer.headers["location"]), (303, &"docs/index.html".parse().unwrap()));
        let page = app.get(&format!("{prefix}/docs/index.html"), "").await;
        assert_eq!(page.headers["content-type"], "text/html");
        assert!(page.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
        let html = page.body.as_str().unwrap();
        assert!(html.contains("swagger-ui") && !html.contains("//"), "{html}");
        let settings = app.get(&format!("{prefix}/docs/swagger-initializer.js"), "").await.body;
        assert!(settings.as_str().unwrap().contains("../openapi.json"), "{settings}");
    }
}
