//! The common shape of all responses.

use axum::body::Body;
use serde_json::json;

use crate::app::{TestApp, request};

#[tokio::test]
async fn errors_of_libraries_have_the_same_shape() {
    let app = TestApp::new();
    let key = app.key("lab", "read,verify").await;
    for (method, path, headers, status, code) in [
        ("GET", "/nothing", vec![], 404, "NOT_FOUND"),
        ("GET", "/v1/nothing", vec![], 404, "NOT_FOUND"),
        ("GET", "/verify/", vec![], 404, "NOT_FOUND"),
        ("GET", "/verify/not-a-uuid", vec![], 404, "NOT_FOUND"),
        ("GET", "/verify/%ff", vec![], 400, "VALIDATION_ERROR"),
        ("GET", "/scenarios/No%20Such", vec![], 404, "NOT_FOUND"),
        ("DELETE", "/scenarios", vec![], 405, "METHOD_NOT_ALLOWED"),
        ("PUT", "/v1/verify", vec![], 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/healthz", vec![], 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/scenarios", vec![("accept", "text/html")], 406, "NOT_ACCEPTABLE"),
        ("POST", "/verify", vec![("content-type", "application/json")], 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("POST", "/verify", vec![("content-type", "multipart/form-data")], 400, "VALIDATION_ERROR"),
        ("GET", "/verify?limit=0", vec![], 400, "VALIDATION_ERROR"),
    ] {
        let mut request = request(method, path, &key);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let answer = app.send(request.body(Body::empty()).unwrap()).await;
        let context = format!("{method} {path}: {}", answer.body);
        assert_eq!((answer.status.as_u16(), answer.code()), (status, code), "{context}");
        assert_eq!(answer.headers["content-type"], "application/json", "{context}");
        assert_eq!(answer.body["data"], json!(null));
        assert!(answer.body.as_object().unwrap().contains_key("data"), "{context}");
        let id = answer.body["error"]["request_id"].as_str().unwrap();
        assert_eq!(answer.headers["x-request-id"], id, "{context}");
        assert_eq!(code == "VALIDATION_ERROR", answer.body["error"]["details"]["field"].is_string(), "{context}");
        assert_eq!(status == 405, answer.headers.contains_key("allow"), "{context}");
    }
}

#[tokio::test]
async fn a_head_request_is_a_get_without_its_body() {
    let app = TestApp::new();
    let answer = app.send(request("HEAD", "/healthz", "").body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn successful_responses_have_request_ids_and_are_not_cached() {
    let app = TestApp::new();
    let (one, two) = (app.get("/healthz", "").await, app.get("/healthz", "").await);
    let id =
        |answer: &crate::app::Answer| answer.headers["x-request-id"].to_str().unwrap().parse::<uuid::Uuid>().unwrap();
    assert_ne!(id(&one), id(&two));
    assert_eq!(id(&one).get_version_num(), 7);
    assert_eq!(one.headers["cache-control"], "no-store");
    assert_eq!(one.headers["x-content-type-options"], "nosniff");
}

#[tokio::test]
async fn readiness_reports_the_state_that_was_set() {
    let app = TestApp::new();
    let answer = app.get("/readyz", "").await;
    assert_eq!((answer.status.as_u16(), answer.code()), (503, "UNAVAILABLE"));
    assert_eq!(answer.message(), "not ready: starting");
    app.state.readiness.set(Ok(()));
    let answer = app.get("/v1/readyz", "").await;
    let ready = json!({ "status": "ready", "isolation": "namespaces", "runs_uploads": true });
    assert_eq!((answer.status.as_u16(), answer.body), (200, ready));
}

#[tokio::test]
async fn scenarios() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    let list = app.get("/scenarios", &key).await;
    let one = app.get("/v1/scenarios/tabletop_reach", &key).await;
    insta::assert_json_snapshot!("scenarios", list.body);
    insta::assert_json_snapshot!("scenario", one.body);
    let mut index = app.get("/", "").await.body;
    assert_eq!(index["version"].take(), json!(env!("CARGO_PKG_VERSION")));
    insta::assert_json_snapshot!("index", index);
}

#[tokio::test]
async fn responses_are_wrapped_in_an_envelope_on_request() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    let bare = app.get("/scenarios", &key).await.body;
    let wrapped = app.get("/scenarios?envelope=true", &key).await.body;
    assert_eq!(wrapped, json!({ "data": bare, "error": null }));
    assert_eq!(app.get("/v1/scenarios?envelope=false", &key).await.body, bare);
    assert_eq!(app.get("/verify/none?envelope=true", &key).await.code(), "NOT_FOUND");
    let wrong = app.get("/scenarios?envelope=1", &key).await;
    assert_eq!((wrong.status.as_u16(), &wrong.body["error"]["details"]["field"]), (400, &json!("envelope")));
}

/// Errors about a JSON body name the field, its value and the allowed values, without the wording of serde.
#[tokio::test]
async fn errors_about_a_body_name_field_value_and_allowed_values() {
    let app = TestApp::new();
    let admin = app.key("host", "admin").await;
    let cases = [
        (json!({ "name": 5, "scopes": ["read"] }), "name", "name: must be a string, not 5"),
        (json!({ "name": "a", "scopes": "read" }), "scopes", "scopes: must be a list, not the string \"read\""),
        (json!({ "name": "a", "scopes": ["rule"] }), "scopes", "scopes[0]: must be one of"),
        (json!({ "name": "a" }), "scopes", "scopes is missing"),
        (
            json!({ "name": "a", "scopes": ["read"], "colour": 1 }),
            "colour",
            "colour is not known; use one of name, scopes",
        ),
    ];
    for (body, field, message) in cases {
        let answer = app.post_json("/keys", &admin, &body).await;
        assert_eq!((answer.status.as_u16(), &answer.body["error"]["details"]["field"]), (400, &json!(field)), "{body}");
        assert!(answer.message().starts_with(message), "{body}: {}", answer.message());
    }
}
