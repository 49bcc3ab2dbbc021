//! Seasons opened and closed by an operator.

use serde_json::{Value, json};

use crate::app::{POLICY, Part, TestApp};

#[tokio::test]
async fn seasons_are_opened_and_closed_one_after_the_other() {
    let app = TestApp::new();
    let (admin, lab) = (app.key("ops", "read,admin").await, app.key("lab", "read,submit").await);
    let open = json!({ "scenario": "cartpole_keepin" });
    for path in ["/seasons", "/seasons/close"] {
        assert_eq!(app.post_json(path, &lab, &open).await.status, 403, "{path}");
        for wrong in [json!({}), json!({ "scenario": 7 }), json!({ "scenario": "cartpole_keepin", "more": 1 })] {
            assert_eq!(app.post_json(path, &admin, &wrong).await.status, 400, "{path}: {wrong}");
        }
    }
    let none = app.post_json("/seasons/close", &admin, &open).await;
    assert_eq!((none.status.as_u16(), none.code()), (409, "CONFLICT"), "{}", none.body);
    assert_eq!(app.post_json("/seasons", &admin, &json!({ "scenario": "no_such" })).await.status, 404);

    let opened = app.post_json("/seasons", &admin, &open).await;
    assert_eq!(opened.status, 201, "{}", opened.body);
    assert_eq!((&opened.body["number"], &opened.body["secret"]), (&json!(1), &Value::Null));
    let listed = app.get("/seasons", &lab).await.body["seasons"][0].clone();
    assert_eq!(listed, opened.body, "as it is listed");
    let again = app.post_json("/seasons", &admin, &open).await;
    assert!(again.status == 409 && again.message().contains("is open; close it first"), "{}", again.body);

    let many = json!({ "scenario": "cartpole_keepin", "top": 1001 });
    assert_eq!(app.post_json("/seasons/close", &admin, &many).await.status, 400);
    let closing = app.post_json("/seasons/close", &admin, &json!({ "scenario": "cartpole_keepin", "top": 3 })).await;
    assert_eq!((closing.status.as_u16(), &closing.body["state"]), (200, &json!("CLOSING")), "{}", closing.body);
    assert_eq!(closing.body["commitment"], opened.body["commitment"]);
    let early = app.post_json("/seasons", &admin, &open).await;
    assert!(early.status == 409 && early.message().contains("closing"), "{}", early.body);
    let late = app.submit(&lab, &[POLICY, Part::Text("scenario_id", "cartpole_keepin")]).await;
    assert_eq!(late.status, 409, "{}", late.body);
}
