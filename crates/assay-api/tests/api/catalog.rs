//! The catalog: collections and specs of scenarios.

use serde_json::json;

use crate::app::TestApp;

#[tokio::test]
async fn collections_are_listed_and_read() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    let small = json!({
        "id": "small", "name": "Small", "description": "Two of them.", "scenario_count": 2,
        "scenarios": ["cartpole_keepin", "tabletop_reach"],
    });
    let all = app.get("/collections", &key).await;
    assert_eq!((all.status.as_u16(), &all.body["collections"][0]), (200, &small));
    assert_eq!(all.body["collections"][1]["id"], "overall");
    let one = app.get("/v1/collections/small", &key).await;
    assert_eq!((one.status.as_u16(), one.body), (200, small));
    let none = app.get("/collections/large", &key).await;
    assert_eq!((none.status.as_u16(), none.code()), (404, "NOT_FOUND"));
    assert_eq!(app.get("/collections", "").await.status, 401);
}

#[tokio::test]
async fn a_spec_has_spaces_rates_and_limits() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    let mut spec = app.get("/scenarios/cartpole_keepin/spec", &key).await;
    assert_eq!(spec.status, 200);
    // It changes with every file of the scenario.
    spec.body["digest"] = json!("the digest");
    insta::assert_json_snapshot!(spec.body);
    let none = app.get("/scenarios/none/spec", &key).await;
    assert_eq!((none.status.as_u16(), none.code()), (404, "NOT_FOUND"));
}
