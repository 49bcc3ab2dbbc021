//! Cross-origin requests.

use assay_api::ApiSettings;
use axum::body::Body;
use axum::http::Request;

use crate::app::{Answer, TestApp, request};

const LAB: &str = "https://lab.example.org";

async fn ask_first(app: &TestApp, origin: &str) -> Answer {
    let request = Request::builder().method("OPTIONS").uri("/verify").header("origin", origin);
    let request = request.header("access-control-request-method", "POST");
    let request = request.header("access-control-request-headers", "authorization,x-csrf-token");
    app.send(request.body(Body::empty()).unwrap()).await
}

async fn get(app: &TestApp, origin: &str, key: &str) -> Answer {
    app.send(request("GET", "/verify", key).header("origin", origin).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn other_origins_are_refused_unless_allowed() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    let asked = ask_first(&app, LAB).await;
    assert_eq!((asked.status.as_u16(), asked.code()), (401, "UNAUTHORIZED"));
    for answer in [asked, get(&app, LAB, &key).await] {
        assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control")), "{:?}", answer.headers);
    }
}

#[tokio::test]
async fn an_allowed_origin_may_send_cookies() {
    let app = TestApp::with(ApiSettings {
        browsers: assay_api::BrowserSettings { origins: vec![LAB.to_owned()], ..Default::default() },
        ..ApiSettings::default()
    });
    let key = app.key("lab", "read").await;
    let asked = ask_first(&app, LAB).await;
    assert_eq!(asked.status, 200, "without a key: browsers send none here");
    let header = |answer: &Answer, name: &str| {
        answer.headers.get(name).map(|value| value.to_str().unwrap().to_lowercase()).unwrap_or_default()
    };
    assert_eq!(header(&asked, "access-control-allow-origin"), LAB);
    assert_eq!(header(&asked, "access-control-allow-credentials"), "true");
    assert!(header(&asked, "access-control-allow-methods").contains("delete"));
    assert!(header(&asked, "access-control-allow-headers").contains("x-csrf-token"));
    let answer = get(&app, LAB, &key).await;
    assert_eq!((answer.status.as_u16(), header(&answer, "access-control-allow-origin").as_str()), (200, LAB));
    assert!(header(&answer, "access-control-expose-headers").contains("x-request-id"));
    assert!(header(&answer, "vary").contains("origin"));
    let refused = get(&app, LAB, "nonsense").await;
    assert_eq!((refused.status.as_u16(), header(&refused, "access-control-allow-origin").as_str()), (401, LAB));
    for other in ["https://evil.example.org", "http://lab.example.org", "null"] {
        for answer in [ask_first(&app, other).await, get(&app, other, &key).await] {
            assert_eq!(header(&answer, "access-control-allow-origin"), "", "{other}");
        }
    }
}
