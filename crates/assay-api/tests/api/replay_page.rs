//! The replay of an episode, as a page.

use crate::app::TestApp;
use crate::sessions::{Browser, sign_in};
use crate::ui::{html, open, send};

#[tokio::test]
async fn a_replay_is_asked_for_on_the_verdict_and_shown() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let job = app.completed(&key, 2).await;
    let Browser { cookie, token, .. } = sign_in(&app, &key).await;
    let path = format!("/ui/verifications/{job}/replay");
    for page in ["", "/episodes/0"] {
        let page = open(&app, &format!("/ui/verifications/{job}{page}"), &cookie).await;
        assert!(html(&page).contains(&format!("action=\"{path}\"")), "{}", html(&page));
    }
    let csrf = ("csrf", &*token);
    let different = send(&app, &path, &cookie, &[csrf, ("episode", "0")]).await;
    assert_eq!(different.status, 200, "{}", different.body);
    for part in ["DIFFERENT", "from control step 3 onwards", "it is not deterministic", "9 recorded, 9 replayed"] {
        assert!(html(&different).contains(part), "{part} is missing in {}", html(&different));
    }
    let busy = send(&app, &path, &cookie, &[csrf, ("episode", "1")]).await;
    assert_eq!(busy.status, 503);
    assert!(html(&busy).contains("Not replayed: another replay is running"), "{}", html(&busy));
    for episode in ["7", "-1", "", "%3Cimg%3E"] {
        let refused = send(&app, &path, &cookie, &[csrf, ("episode", episode)]).await;
        assert_eq!(refused.status, 400, "{episode}");
        assert!(!html(&refused).contains("<img"));
    }
    assert_eq!(send(&app, &path, &cookie, &[("csrf", ""), ("episode", "0")]).await.status, 403, "without the token");
}

#[tokio::test]
async fn only_those_who_may_verify_replay_and_only_their_own() {
    let app = TestApp::new();
    let job = app.completed(&app.key("lab", "verify,read").await, 1).await;
    let (page, path) = (format!("/ui/verifications/{job}"), format!("/ui/verifications/{job}/replay"));
    let reader = sign_in(&app, &app.key("lab", "read").await).await;
    assert!(!html(&open(&app, &page, &reader.cookie).await).contains(&path), "no button");
    let fields = |browser: &Browser| [("csrf", browser.token.clone()), ("episode", "0".to_owned())];
    for (account, scopes, status) in [("lab", "read", 403), ("other", "verify,read", 404)] {
        let browser = sign_in(&app, &app.key(account, scopes).await).await;
        let fields = fields(&browser);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(send(&app, &path, &browser.cookie, &fields).await.status, status, "{account}");
    }
}
