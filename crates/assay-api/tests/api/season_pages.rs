//! The page that opens and closes the season of a scenario.

use crate::app::TestApp;
use crate::sessions::{Browser, sign_in};
use crate::ui::{html, open, send};

const PAGE: &str = "/ui/arena/cartpole_keepin/season";

#[tokio::test]
async fn an_operator_opens_and_closes_a_season_by_forms() {
    let app = TestApp::new();
    let Browser { cookie, token, .. } = sign_in(&app, &app.key("ops", "read,admin").await).await;
    let (opening, closing) = (format!("{PAGE}/open"), format!("{PAGE}/close"));
    let csrf = ("csrf", &*token);
    let board = open(&app, "/ui/arena/cartpole_keepin", &cookie).await;
    assert!(html(&board).contains(&format!("href=\"{PAGE}\"")), "{}", html(&board));
    let none = open(&app, PAGE, &cookie).await;
    assert!(html(&none).contains("no season yet") && html(&none).contains(&format!("action=\"{opening}\"")));

    let opened = send(&app, &opening, &cookie, &[csrf]).await;
    let led = (opened.status.as_u16(), opened.headers["location"].to_str().unwrap());
    assert_eq!(led, (303, "/ui/arena/cartpole_keepin"), "{}", opened.body);
    let again = send(&app, &opening, &cookie, &[csrf]).await;
    assert!(again.status == 409 && html(&again).contains("is open; close it first"), "{}", again.body);
    assert!(html(&open(&app, "/ui/arena", &cookie).await).contains("Close …"));

    let sure = ("sure", "yes");
    for (fields, message) in [
        (&[csrf, sure, ("top", "")][..], "the number of entries must be"),
        (&[csrf, sure, ("top", "1001")], "top must be at most 1000"),
        (&[csrf, ("top", "3")], "confirm that the secrets"),
    ] {
        let refused = send(&app, &closing, &cookie, fields).await;
        assert!(refused.status == 400 && html(&refused).contains(message), "{message}: {}", refused.body);
    }
    let state = async || app.get("/seasons", &app.key("lab", "read").await).await.body["seasons"][0]["state"].clone();
    assert_eq!(state().await, "OPEN", "a refusal changes nothing");
    let closed = send(&app, &closing, &cookie, &[csrf, sure, ("top", "3")]).await;
    assert_eq!(closed.status, 303, "{}", closed.body);
    assert_eq!(state().await, "CLOSING");
    let waiting = open(&app, PAGE, &cookie).await;
    assert!(html(&waiting).contains("It is closing") && !html(&waiting).contains("<form class=\"fields\""));
}

#[tokio::test]
async fn only_operators_do() {
    let app = TestApp::new();
    let Browser { cookie, token, .. } = sign_in(&app, &app.key("lab", "read,submit,verify").await).await;
    assert!(!html(&open(&app, "/ui/arena/cartpole_keepin", &cookie).await).contains("close a season"));
    assert_eq!(open(&app, PAGE, &cookie).await.status, 403);
    let fields = [("csrf", &*token), ("sure", "yes"), ("top", "3")];
    for path in ["open", "close"] {
        assert_eq!(send(&app, &format!("{PAGE}/{path}"), &cookie, &fields).await.status, 403, "{path}");
    }
    let ops = sign_in(&app, &app.key("ops", "read,admin").await).await;
    assert_eq!(send(&app, &format!("{PAGE}/open"), &ops.cookie, &fields).await.status, 403, "another token");
    assert_eq!(open(&app, "/ui/arena/nothing/season", &ops.cookie).await.status, 404);
    assert_eq!(open(&app, PAGE, "").await.status, 303);
}
